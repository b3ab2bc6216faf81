//! Rows as text, a line each: `label index:value index:value ... # comment`, the form of SVM-light
//! and LIBSVM.
//!
//! *Method*
//!
//! 1. The text comes in blocks of some megabytes, each cut behind its last whole line.
//! 2. A block is cut into pieces at ends of lines, which are read side by side.
//! 3. The pieces become one matrix ([`Table`]), or go to whoever asked for them ([`Reader`]), so that
//!    a file need not fit into memory.
//!
//! Indices rise within a line, values and labels are finite, and a line with `qid:` (pairs for
//! ranking) or with several labels is refused: what is wrong is told with the number of its line.
//!
//! *Cost* O(bytes); memory that of the rows, twice while they become one matrix.

mod number;
mod parse;
mod reader;
mod table;
mod text;

pub use parse::Piece;
pub use reader::Reader;
pub use table::{Origin, Table, dense};
pub use text::write_rows;
