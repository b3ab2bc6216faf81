//! The order of a pass: another one every time.

use crate::rng::Rng;

/// The seed of the orders.
const SEED: u64 = 9;

/// Writes the rows that have pairs in the order of this pass, if `begins` says where those of every
/// row begin: in steps of one length, which has no factor with the number of all rows.
pub(super) fn of_pass(begins: &[u32], pass: usize, out: &mut Vec<u32>) {
    let n = begins.len() - 1;
    out.clear();
    out.resize(n, 0);
    let (mut row, step) = of_rows(n, pass);
    let mut found = 0;
    for _ in 0..n {
        // Without a branch: nobody foresees which rows have pairs.
        out[found] = row as u32;
        found += usize::from(begins[row] < begins[row + 1]);
        row += step;
        if row >= n {
            row -= n;
        }
    }
    out.truncate(found);
}

/// The first of n rows and the step.
fn of_rows(n: usize, pass: usize) -> (usize, usize) {
    if n < 2 {
        return (0, 1);
    }
    let mut rng = Rng::stream(SEED, pass as u64);
    let (first, mut step) = (rng.below(n), 1 + rng.below(n - 1));
    while common_factor(step, n) > 1 {
        step += 1;
    }
    (first, step)
}

fn common_factor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_factor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::of_pass;

    #[test]
    fn every_row_that_has_pairs_comes_once() {
        for n in 0..40 {
            let begins: Vec<u32> = (0..=n as u32).map(|row| row - row / 3).collect();
            let has = |row: u32| begins[row as usize] < begins[row as usize + 1];
            let mut met = vec![7];
            for pass in 0..5 {
                of_pass(&begins, pass, &mut met);
                met.sort_unstable();
                assert_eq!(met, (0..n as u32).filter(|&row| has(row)).collect::<Vec<_>>());
            }
        }
    }
}
