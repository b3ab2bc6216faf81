//! Rows of a stream of text, some megabytes at a time.

use std::io::Read;

use super::parse::{Fault, Piece, parse};
use crate::error::{Error, Result, try_copy, try_reserve};
use crate::float::Real;
use crate::parallel;
use crate::watch::Look;

/// Bytes that are read at a time: few at first, so that a short text asks for little, then twice as
/// many each time. And those of a piece.
const FIRST: usize = 1 << 16;
const BLOCK: usize = 1 << 24;
const PIECE: usize = 1 << 19;
/// Bytes of the longest line, which has some million pairs. A text without an end of a line would
/// otherwise be read as a whole before anything in it is looked at.
const LINE: usize = 1 << 26;

/// Reads rows block by block: memory is that of a block, or of the longest line, which may have 64
/// MiB.
///
/// ```
/// use budgetsvm::data::svmlight::Reader;
///
/// let mut reader = Reader::new("1 1:0.5 3:2 # a comment\n-1 2:1\n".as_bytes());
/// let pieces = reader.next_block::<f32>()?;
/// assert_eq!(pieces[0].labels, [1.0, -1.0]);
/// assert_eq!(pieces[0].indices, [1, 3, 2]);
/// assert!(reader.next_block::<f32>()?.is_empty());
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    /// A line that has begun.
    rest: Vec<u8>,
    block: usize,
    lines: usize,
    leading: usize,
    done: bool,
}

impl<R: Read> Reader<R> {
    /// A reader of lines with a label each.
    pub fn new(from: R) -> Self {
        Self::with_labels(from, 1)
    }

    /// A reader of lines with so many numbers before the pairs.
    pub fn with_labels(from: R, leading: usize) -> Self {
        Self { from, rest: Vec::new(), block: FIRST, lines: 0, leading, done: false }
    }

    /// The same where the text begins in line `lines + 1` of its file.
    #[must_use]
    pub fn behind(mut self, lines: usize) -> Self {
        self.lines = lines;
        self
    }

    /// The rows of the next block, in order, in pieces read by the threads of the current pool; no
    /// piece at the end.
    ///
    /// # Errors
    /// `InvalidData` with the number of the line that is not exactly valid, `Io`, `OutOfMemory`.
    pub fn next_block<F: Real>(&mut self) -> Result<Vec<Piece<F>>> {
        self.watched_block(&mut || Ok(()))
    }

    /// [`Reader::next_block`], where `look` is asked before anything more of the text is read.
    pub(crate) fn watched_block<F: Real>(&mut self, look: Look<'_>) -> Result<Vec<Piece<F>>> {
        loop {
            let text = self.next_text(look)?;
            if text.is_empty() {
                return Ok(Vec::new());
            }
            let pieces = self.parse(&text)?;
            // A block may be comments alone.
            if pieces.iter().any(|piece: &Piece<F>| piece.n_rows() > 0) {
                return Ok(pieces);
            }
        }
    }

    /// Whole lines, nothing at the end.
    fn next_text(&mut self, look: Look<'_>) -> Result<Vec<u8>> {
        let mut text = std::mem::take(&mut self.rest);
        while !self.done {
            look()?;
            let before = text.len();
            try_reserve("lines", &mut text, self.block)?;
            let read = self.from.by_ref().take(self.block as u64).read_to_end(&mut text);
            let read = read.map_err(|source| Error::Io { path: "(stream)".into(), source })?;
            self.done = read == 0;
            self.block = BLOCK.min(2 * self.block);
            // Only what has come can hold an end of a line that was not seen before.
            let new = &text[before..];
            let line = before + new.iter().position(|&b| b == b'\n').unwrap_or(new.len());
            if line > LINE {
                let reason = format!("line {}: longer than {LINE} bytes", self.lines + 1);
                return Err(Error::InvalidData { what: "svmlight", reason });
            }
            if let Some(end) = new.iter().rposition(|&b| b == b'\n') {
                let end = before + end + 1;
                self.rest = try_copy("lines", &text[end..])?;
                text.truncate(end);
                return Ok(text);
            }
        }
        Ok(text)
    }

    fn parse<F: Real>(&mut self, text: &[u8]) -> Result<Vec<Piece<F>>> {
        let (mut ends, mut from) = (Vec::new(), 0);
        while from < text.len() {
            let least = (from + PIECE).min(text.len());
            let more = text[least..].iter().position(|&b| b == b'\n');
            let end = more.map_or(text.len(), |more| least + more + 1);
            ends.push((from, end));
            from = end;
        }
        let read = parallel::map(ends.len(), &|i| {
            let mut piece = Piece::<F>::default();
            let lines = parse(&text[ends[i].0..ends[i].1], self.leading, &mut piece)?;
            Ok((piece, lines))
        });
        let mut pieces = Vec::with_capacity(read.len());
        for read in read {
            let (piece, lines) = read.map_err(|fault| self.told(fault))?;
            self.lines += lines;
            pieces.push(piece);
        }
        Ok(pieces)
    }

    /// The error with the number of its line.
    fn told(&self, Fault { line, error }: Fault) -> Error {
        match error {
            Error::InvalidData { what, reason } => {
                let reason = format!("line {}: {reason}", self.lines + line + 1);
                Error::InvalidData { what, reason }
            }
            error => error,
        }
    }
}
