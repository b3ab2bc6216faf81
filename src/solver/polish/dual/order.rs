//! The order of a pass: another one every time.

use super::output::Ascent;
use crate::rng::Rng;

/// The seed of the orders.
const SEED: u64 = 9;

/// A coordinate in the order of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The output in its group, and the coordinate among those that move.
    pub(super) output: u32,
    pub(super) at: u32,
    /// Row of the features.
    pub(super) row: u32,
}

/// The order of a pass, and what it takes to find it.
#[derive(Debug, Default)]
pub(super) struct Order {
    places: Vec<Place>,
    by_row: Vec<Place>,
    /// The first of every row.
    begins: Vec<u32>,
}

impl Order {
    /// The coordinates of a group that move, each output's in an order that depends on no other:
    /// in steps of one length, which has no factor with the number of all. Where rows come from afar
    /// these are steps over so many of them, so that one is read once for all outputs, which have made
    /// equally many passes.
    pub(super) fn of_pass(&mut self, group: &[&mut Ascent], afar: Option<usize>) -> &[Place] {
        self.places.clear();
        match afar {
            None => self.in_turn(group),
            Some(rows) => self.row_by_row(group, rows),
        }
        &self.places
    }

    fn in_turn(&mut self, group: &[&mut Ascent]) {
        let steps =
            group.iter().map(|own| (own.moving(), of_all(own.moving().len(), own.passes())));
        let mut steps: Vec<_> = steps.collect();
        let longest = steps.iter().map(|(moving, _)| moving.len()).max();
        for turn in 0..longest.unwrap_or(0) {
            for (output, (moving, (at, step))) in (0..).zip(&mut steps) {
                if turn < moving.len() {
                    self.places.push(Place { output, at: *at as u32, row: moving[*at].row });
                    *at = next(*at, *step, moving.len());
                }
            }
        }
    }

    fn row_by_row(&mut self, group: &[&mut Ascent], n: usize) {
        self.begins.clear();
        self.begins.resize(n + 2, 0);
        let all = || group.iter().flat_map(|own| own.moving());
        all().for_each(|one| self.begins[one.row as usize + 2] += 1);
        for row in 2..self.begins.len() {
            self.begins[row] += self.begins[row - 1];
        }
        let none = Place { output: 0, at: 0, row: 0 };
        self.by_row.resize(all().count(), none);
        for (output, own) in (0..).zip(group) {
            for (at, one) in (0..).zip(own.moving()) {
                // Where the next of this row goes: at the end, where the next row begins.
                let place = &mut self.begins[one.row as usize + 1];
                self.by_row[*place as usize] = Place { output, at, row: one.row };
                *place += 1;
            }
        }
        let number = group.first().map_or(0, |own| own.passes());
        let (mut row, step) = of_all(n, number);
        for _ in 0..n {
            let [first, last] = [row, row + 1].map(|row| self.begins[row] as usize);
            self.places.extend_from_slice(&self.by_row[first..last]);
            row = next(row, step, n);
        }
    }
}

/// A step from here, among n.
fn next(at: usize, step: usize, n: usize) -> usize {
    let to = at + step;
    if to >= n { to - n } else { to }
}

/// The first of n and the step.
fn of_all(n: usize, pass: usize) -> (usize, usize) {
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
    use super::super::output::{Coordinate, Until};
    use super::*;

    /// An output whose coordinates are these rows.
    fn of_rows(rows: impl Iterator<Item = u32>, passes: usize) -> Ascent {
        let one = |row| Coordinate { row, y: 1.0, a: 0.0, cost: 1.0 };
        let until = Until { patience: 1, recent: 0 };
        let mut own = Ascent::new((0, 0.0), &[], [rows.map(one).collect(), vec![]], until);
        (0..passes).for_each(|_| own.end(0.0));
        own
    }

    #[test]
    fn every_coordinate_comes_once_in_an_order_of_its_output_s_own() {
        for n in 0..40 {
            for passes in 0..4 {
                let all = || {
                    let sparse = (0..n).rev().filter(|row| row % 3 > 0);
                    [of_rows(0..n, passes), of_rows(sparse, passes), of_rows(0..n / 2, passes)]
                };
                for afar in [None, Some(n as usize)] {
                    let mut outputs = all();
                    let together: Vec<&mut Ascent> = outputs.iter_mut().collect();
                    let together = Order::default().of_pass(&together, afar).to_vec();
                    for (output, mut alone) in all().into_iter().enumerate() {
                        let mine = together.iter().filter(|place| place.output == output as u32);
                        let mine: Vec<_> = mine.map(|place| (place.at, place.row)).collect();
                        let mut order = Order::default();
                        let own = order.of_pass(&[&mut alone], afar);
                        assert_eq!(mine, own.iter().map(|p| (p.at, p.row)).collect::<Vec<_>>());
                        let mut met: Vec<u32> = mine.iter().map(|place| place.0).collect();
                        met.sort_unstable();
                        assert_eq!(met, (0..alone.moving().len() as u32).collect::<Vec<_>>());
                        let row = |&(at, row): &(u32, u32)| alone.moving()[at as usize].row == row;
                        assert!(mine.iter().all(row));
                    }
                    // Those of a row follow each other.
                    if afar.is_some() {
                        let mut rows: Vec<u32> = together.iter().map(|place| place.row).collect();
                        rows.dedup();
                        let runs = rows.len();
                        rows.sort_unstable();
                        rows.dedup();
                        assert_eq!(runs, rows.len());
                    }
                }
            }
        }
    }
}
