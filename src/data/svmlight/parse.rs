//! Whole lines of text become rows.

use super::number::{number, whole};
use crate::error::{Error, Result, try_push};
use crate::float::Real;

/// Rows one after another: those of a piece of the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece<F: Real> {
    /// What stands before the pairs, so many numbers a row.
    pub labels: Vec<f64>,
    /// The values of all rows.
    pub values: Vec<F>,
    /// Their indices as they stand in the text, rising within a row.
    pub indices: Vec<u32>,
    /// Where each row ends among the values.
    pub ends: Vec<usize>,
}

impl<F: Real> Piece<F> {
    /// Number of rows.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.ends.len()
    }
}

/// The largest index: columns are numbered with 32 bits, signed.
pub(super) const MOST: u32 = i32::MAX as u32 - 1;
/// Bytes of a token that a message quotes.
const QUOTED: usize = 24;

/// What is wrong with a line, and which one it is, counted from 0.
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) error: Error,
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

/// The token that begins here, for messages.
fn token(text: &[u8]) -> String {
    let len = text.iter().position(|&b| b == b'\n' || is_blank(b)).unwrap_or(text.len());
    let shown = String::from_utf8_lossy(&text[..len.min(QUOTED)]).into_owned();
    if len > QUOTED { format!("'{shown}...'") } else { format!("'{shown}'") }
}

fn ends(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|&b| b == b'\n' || b == b'#' || is_blank(b))
}

/// Reads whole lines, of which each has `leading` numbers before its pairs. Gives how many lines
/// there were.
pub(super) fn parse<F: Real>(
    text: &[u8],
    leading: usize,
    piece: &mut Piece<F>,
) -> std::result::Result<usize, Fault> {
    let (mut at, mut line) = (0, 0);
    while at < text.len() {
        let found = parse_line(text, at, leading, piece);
        at = found.map_err(|error| Fault { line, error })?;
        line += 1;
    }
    Ok(line)
}

fn bad<T>(reason: String) -> Result<T> {
    Err(Error::InvalidData { what: "svmlight", reason })
}

/// Reads the line that begins at `at`; gives where the next one does.
#[inline]
fn parse_line<F: Real>(
    text: &[u8],
    mut at: usize,
    leading: usize,
    piece: &mut Piece<F>,
) -> Result<usize> {
    let (mut numbers, mut last) = (0, None);
    loop {
        while text.get(at).is_some_and(|&b| is_blank(b)) {
            at += 1;
        }
        match text.get(at) {
            None | Some(b'\n' | b'#') => break,
            Some(_) if numbers < leading => {
                let Some((value, len)) = number(&text[at..]) else {
                    return bad(format!("{} is no finite label", token(&text[at..])));
                };
                match text.get(at + len) {
                    Some(b',') => {
                        let what = "several labels a row are not read, give one";
                        return bad(format!("{}: {what}", token(&text[at..])));
                    }
                    Some(b':') => return bad("no label before the first pair".into()),
                    _ if !ends(text, at + len) || !value.is_finite() => {
                        return bad(format!("{} is no finite label", token(&text[at..])));
                    }
                    _ => {}
                }
                try_push("labels", &mut piece.labels, value)?;
                numbers += 1;
                at += len;
            }
            Some(_) => {
                let (index, value, len) = pair(&text[at..])?;
                if last.is_some_and(|last| index <= last) {
                    let what = "indices must rise within a line";
                    return bad(format!("{}: {what}", token(&text[at..])));
                }
                last = Some(index);
                try_push("indices", &mut piece.indices, index)?;
                try_push("values", &mut piece.values, F::from_f64(value))?;
                at += len;
            }
        }
    }
    while text.get(at).is_some_and(|&b| b != b'\n') {
        at += 1;
    }
    match numbers {
        0 => {}
        n if n < leading => return bad(format!("{n} numbers before the pairs, {leading} needed")),
        _ => try_push("rows", &mut piece.ends, piece.values.len())?,
    }
    Ok(at + 1)
}

#[inline]
fn pair(text: &[u8]) -> Result<(u32, f64, usize)> {
    let Some((index, len)) = whole(text) else {
        if text.starts_with(b"qid:") {
            return bad("qid: rows of ranking are not read, leave the qid fields out".into());
        }
        return bad(format!("{} is no pair index:value", token(text)));
    };
    if text.get(len) != Some(&b':') {
        return bad(format!("{} is no pair index:value", token(text)));
    }
    if index > MOST {
        return bad(format!("{}: the index is beyond {MOST}", token(text)));
    }
    match number(&text[len + 1..]) {
        Some((value, more)) if ends(text, len + 1 + more) && value.is_finite() => {
            Ok((index, value, len + 1 + more))
        }
        _ => bad(format!("{}: the value is no finite number", token(text))),
    }
}
