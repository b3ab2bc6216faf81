//! The order of a pass: another one every time, without a list of it.

use crate::rng::Rng;

/// The seed of the orders.
const SEED: u64 = 9;

/// Rows in steps of one length, which has no factor with their number.
pub(super) struct Order {
    n: usize,
    at: usize,
    step: usize,
    left: usize,
}

impl Order {
    /// Of n rows in this pass.
    pub(super) fn of_pass(n: usize, pass: usize) -> Self {
        if n < 2 {
            return Self { n: n.max(1), at: 0, step: 1, left: n };
        }
        let mut rng = Rng::stream(SEED, pass as u64);
        let (at, mut step) = (rng.below(n), 1 + rng.below(n - 1));
        while common_factor(step, n) > 1 {
            step += 1;
        }
        Self { n, at, step, left: n }
    }

    /// The next row that has pairs, if `begins` says where those of every row begin.
    pub(super) fn next(&mut self, begins: &[u32]) -> Option<usize> {
        while self.left > 0 {
            let row = self.at;
            self.left -= 1;
            self.at += self.step;
            if self.at >= self.n {
                self.at -= self.n;
            }
            if begins[row] < begins[row + 1] {
                return Some(row);
            }
        }
        None
    }
}

fn common_factor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_factor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::Order;

    #[test]
    fn every_row_that_has_pairs_comes_once() {
        for n in 0..40 {
            let begins: Vec<u32> = (0..=n as u32).map(|row| row - row / 3).collect();
            let has = |row: usize| begins[row] < begins[row + 1];
            for pass in 0..5 {
                let mut order = Order::of_pass(n, pass);
                let mut met: Vec<usize> = std::iter::from_fn(|| order.next(&begins)).collect();
                met.sort_unstable();
                assert_eq!(met, (0..n).filter(|&row| has(row)).collect::<Vec<_>>());
            }
        }
    }
}
