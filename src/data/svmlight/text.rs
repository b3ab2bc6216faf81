//! Rows become text.

use std::fmt::Write as _;

use crate::data::{Point, Rows};
use crate::error::{Result, check_len};
use crate::float::Real;
use crate::parallel;
use crate::watch::Look;

/// Entries that are written between two looks: some tens of milliseconds.
const ENTRIES_BETWEEN_LOOKS: usize = 1 << 18;

/// Rows of a part of the text.
const PART: usize = 256;

/// A number in as few digits as give it back: whole ones without a point, large ones with an
/// exponent.
fn write<F: Real>(out: &mut String, value: F) {
    let from = out.len();
    // Writing to a string cannot fail.
    let _ = write!(out, "{value:?}");
    if out[from..].ends_with(".0") {
        out.truncate(out.len() - 2);
    }
}

/// The rows as lines: `width` numbers of `labels` each, then the values that are not 0, of indices
/// that begin with `first`. Read again they are the same bits.
///
/// `look` is asked between blocks of rows.
///
/// # Errors
/// `LengthMismatch`, `NonFinite`; those of `look`.
pub fn write_rows<F: Real>(
    rows: &Rows<'_, F>,
    (labels, width): (&[f64], usize),
    first: usize,
    look: Look<'_>,
) -> Result<Vec<String>> {
    check_len("y", rows.n_rows().saturating_mul(width), labels.len())?;
    crate::data::check_finite("y", labels, width.max(1))?;
    rows.check_finite("X")?;
    let n = rows.n_rows();
    let text = |part: usize| {
        let mut out = String::new();
        for row in part * PART..n.min((part + 1) * PART) {
            let from = out.len();
            for &label in &labels[row * width..][..width] {
                out.push_str(if out.len() > from { " " } else { "" });
                write(&mut out, label);
            }
            let mut pair = |column: usize, value: F| {
                if value != F::zero() {
                    out.push_str(if out.len() > from { " " } else { "" });
                    let _ = write!(out, "{}:", column + first);
                    write(&mut out, value);
                }
            };
            match rows.point(row) {
                Point::Dense(values) => values.iter().enumerate().for_each(|(j, &v)| pair(j, v)),
                Point::Sparse(csr, row) => csr.for_each(row, pair),
            }
            out.push('\n');
        }
        out
    };
    let (parts, mut texts) = (n.div_ceil(PART), Vec::new());
    let entries = match rows {
        Rows::Dense(x) => x.ncols(),
        Rows::Csr(x) => (x.density() * x.n_cols() as f64) as usize,
    };
    let together = (ENTRIES_BETWEEN_LOOKS / (PART * entries.max(1))).max(1);
    for from in (0..parts).step_by(together) {
        let count = together.min(parts - from);
        texts.extend(parallel::map(count, &|part| text(from + part)));
        look()?;
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::svmlight::{Origin, Reader, Table, dense};

    #[test]
    fn what_is_written_is_read_again() {
        let mut rng = crate::rng::Rng::new(1);
        let (n, d) = (1000, 7);
        let values: Vec<f64> = (0..n * d)
            .map(|i| if i % 3 == 0 { 0.0 } else { rng.normal() * 10f64.powi((i % 61) as i32 - 30) })
            .collect();
        let labels: Vec<f64> = (0..n).map(|i| i as f64 / 7.0).collect();
        for first in [0, 1] {
            let rows = Rows::of_slice(&values, d).unwrap();
            let text = write_rows(&rows, (&labels, 1), first, &mut || Ok(())).unwrap().concat();
            let origin = if first == 0 { Origin::Zero } else { Origin::One };
            let reader = Reader::new(text.as_bytes());
            let table = Table::<f64>::read(reader, origin, Some(d), &mut || Ok(())).unwrap();
            assert_eq!(table.labels, labels);
            assert_eq!(dense(&table).unwrap(), values);
            let single: Vec<f32> = values.iter().map(|&v| v as f32).collect();
            let rows = Rows::of_slice(&single, d).unwrap();
            let text = write_rows(&rows, (&labels, 1), first, &mut || Ok(())).unwrap().concat();
            let reader = Reader::new(text.as_bytes());
            let table = Table::<f32>::read(reader, origin, Some(d), &mut || Ok(())).unwrap();
            assert_eq!(dense(&table).unwrap(), single);
        }
    }

    fn read(text: &str) -> Result<Table<f64>> {
        Table::read(Reader::new(text.as_bytes()), Origin::Found, None, &mut || Ok(()))
    }

    #[test]
    fn faults_are_told_with_their_line() {
        let table = read("# all\n\n 1\t2:3 # x\r\n\r\n-1.5 1:2 3:1").unwrap();
        assert_eq!(table.labels, [1.0, -1.5]);
        assert_eq!((table.columns, table.values), (vec![1, 0, 2], vec![3.0, 2.0, 1.0]));
        for (line, told) in [
            ("x 1:2", "'x' is no finite label"),
            ("nan 1:2", "no finite label"),
            ("1e999 1:2", "no finite label"),
            ("1,2 1:2", "several labels"),
            ("1:2", "no label"),
            ("1 qid:3 1:2", "qid"),
            ("1 1:nan", "no finite number"),
            ("1 1:1e999", "no finite number"),
            ("1 1:", "no finite number"),
            ("1 1:2x", "no finite number"),
            ("1 -1:2", "no pair"),
            ("1 1", "no pair"),
            ("1 2:1 2:1", "rise"),
            ("1 2:1 1:1", "rise"),
            ("1 99999999999999999999999:1", "beyond"),
            ("1 2147483647:1", "beyond"),
        ] {
            let error = read(&format!("1 1:1\n# none\n{line}\n1 1:1\n")).unwrap_err().to_string();
            assert!(error.contains("line 3: ") && error.contains(told), "{line}: {error}");
        }
        assert!(read("").unwrap_err().to_string().contains("no rows"));
        let huge = read("1 2147483646:1\n").unwrap();
        assert_eq!(huge.n_cols, 2_147_483_646);
        assert!(dense(&huge).unwrap_err().to_string().contains("sparse"));
    }

    #[test]
    fn blocks_are_cut_at_lines() {
        let line = "1 1:0.5 7:2.25 9:1\n";
        let many = line.repeat(2_000_000);
        let mut reader = Reader::new(many.as_bytes());
        let (mut rows, mut blocks) = (0, 0);
        loop {
            let block = reader.next_block::<f32>().unwrap();
            if block.is_empty() {
                break;
            }
            blocks += 1;
            for piece in &block {
                assert!(piece.labels.iter().all(|&y| y == 1.0));
                assert_eq!(piece.values.len(), 3 * piece.n_rows());
            }
            rows += block.iter().map(|piece| piece.n_rows()).sum::<usize>();
        }
        assert_eq!(rows, 2_000_000);
        assert!(blocks > 1);
        // Behind a block, lines are counted on; a line may be longer than one.
        let long = format!("{many}1 {}:1\n2 0:x", "0".repeat(1 << 25));
        let error =
            Table::<f32>::read(Reader::new(long.as_bytes()), Origin::Found, None, &mut || Ok(()));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("line 2000001: ") || error.contains("line 2000002: "), "{error}");
    }
}
