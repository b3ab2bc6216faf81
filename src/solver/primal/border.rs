//! Systems `(K_QQ + diag(ridge)) x = r` for sets Q that change little from one to the next.
//!
//! # Method
//!
//! 1. Factor the system of some set O by Cholesky.
//! 2. For Q = O + A - R with A and R small, the same x solves the system of O with a border: the
//!    columns K_OA for the samples that came, and a unit column for each that went (it makes
//!    x_r = 0 a condition, and its multiplier takes up row r):
//!
//!    ```text
//!    [M_O  U] [x_O]   [r_O]
//!    [Uᵀ   W] [ t ] = [ r' ],   U = [K_OA, E_R],   W = diag(M_A, 0)
//!    ```
//!
//! 3. With `Z = M_O⁻¹U` and the small `S = W - UᵀZ`: `t = S⁻¹(r' - Uᵀy)`, `x_O = y - Zt`,
//!    `y = M_O⁻¹ r_O`; then one step of iterative refinement on the system of Q itself.
//!
//! Cost: |O|³/3 for a factor; 2|O|² a sample that came or went for a border.

use std::collections::HashMap;

use faer::linalg::solvers::{PartialPivLu, ShapeCore as _, Solve as _};
use faer::{Mat, MatMut};

use crate::error::{Result, try_square, try_vec};
use crate::linalg::{Cholesky, dot};
use crate::parallel;
use crate::watch::{Step, Watch};

/// A border is made while it has at most one column for this many rows.
const ROWS_A_COLUMN: usize = 16;

/// The samples Q, and what is added to each diagonal entry.
pub(super) struct System<'a> {
    pub(super) gram: &'a [f64],
    pub(super) n: usize,
    pub(super) rows: &'a [usize],
    pub(super) ridge: &'a [f64],
}

impl System<'_> {
    fn entry(&self, i: usize, j: usize) -> f64 {
        self.gram[i * self.n + j]
    }

    /// The whole matrix, row-major; its lower triangle alone is filled.
    pub(super) fn matrix(&self) -> Result<Vec<f64>> {
        let q = self.rows.len();
        let mut matrix = try_square("Newton system", q, 0.0)?;
        parallel::each(matrix.chunks_mut(q.max(1)), &|a, row| {
            let source = &self.gram[self.rows[a] * self.n..][..self.n];
            for (entry, &j) in row[..=a].iter_mut().zip(self.rows) {
                *entry = source[j];
            }
            row[a] += self.ridge[a];
        });
        Ok(matrix)
    }

    /// `r - (K_QQ + ridge) x`.
    fn residual(&self, x: &[f64], right: &[f64]) -> Result<Vec<f64>> {
        let mut scattered = try_vec("coefficients", self.n, 0.0)?;
        self.rows.iter().zip(x).for_each(|(&i, &v)| scattered[i] = v);
        Ok(parallel::map(right.len(), &|a| {
            let row = &self.gram[self.rows[a] * self.n..][..self.n];
            right[a] - (dot(row, &scattered) + self.ridge[a] * x[a])
        }))
    }
}

/// A factor, and the border that makes it the factor of another set.
#[derive(Default)]
pub(super) struct Bordered {
    held: Option<Held>,
    pub(super) border: Option<Border>,
}

struct Held {
    factor: Cholesky,
    /// O, and the place in it of each sample.
    rows: Vec<usize>,
    place: HashMap<usize, usize>,
    ridge: Vec<f64>,
}

pub(super) struct Border {
    /// U and Z, column-major.
    columns: Vec<f64>,
    solved: Vec<f64>,
    schur: PartialPivLu<f64>,
    /// For each row of Q: its place in O, or |O| plus its place in A.
    places: Vec<usize>,
}

impl Bordered {
    /// The next system is another one altogether.
    pub(super) fn forget(&mut self) {
        (self.held, self.border) = (None, None);
    }

    /// Makes ready to solve `system`: by a border where that is cheaper, else by a new factor.
    pub(super) fn prepare(&mut self, system: &System<'_>, watch: &mut Watch<'_>) -> Step {
        self.border = None;
        if let Some(held) = &self.held
            && let Some((added, removed)) = held.difference(system)
        {
            if held.rows == system.rows {
                return Ok(());
            }
            self.border = held.border(system, &added, &removed, watch)?;
            if self.border.is_some() {
                return Ok(());
            }
        }
        self.held = None;
        let matrix = system.matrix()?;
        let q = system.rows.len();
        let factor = Cholesky::factor("Newton system", &matrix, q, 0.0, &mut || watch.poll())?;
        let place = system.rows.iter().enumerate().map(|(a, &i)| (i, a)).collect();
        let (rows, ridge) = (system.rows.to_vec(), system.ridge.to_vec());
        self.held = Some(Held { factor, rows, place, ridge });
        Ok(())
    }

    /// Overwrites `right` by the solution.
    pub(super) fn solve(&self, system: &System<'_>, right: &mut [f64]) -> Result<()> {
        let wanted = right.to_vec();
        self.solve_once(right);
        let mut correction = system.residual(right, &wanted)?;
        self.solve_once(&mut correction);
        right.iter_mut().zip(&correction).for_each(|(x, c)| *x += c);
        Ok(())
    }

    fn solve_once(&self, right: &mut [f64]) {
        let Some(held) = &self.held else { return };
        let Some(border) = &self.border else {
            held.factor.solve(right);
            return;
        };
        let (old, k) = (held.rows.len(), border.schur.nrows());
        let mut x = vec![0.0; old + k];
        border.places.iter().zip(&*right).for_each(|(&to, &v)| x[to] = v);
        let (x_old, rest) = x.split_at_mut(old);
        held.factor.solve(x_old);
        for (c, rest) in rest.iter_mut().enumerate() {
            *rest -= dot(&border.columns[c * old..(c + 1) * old], x_old);
        }
        border.schur.solve_in_place(MatMut::from_column_major_slice_mut(rest, k, 1));
        for (c, &t) in rest.iter().enumerate() {
            let column = &border.solved[c * old..(c + 1) * old];
            x_old.iter_mut().zip(column).for_each(|(x, z)| *x -= t * z);
        }
        border.places.iter().zip(right).for_each(|(&from, v)| *v = x[from]);
    }
}

impl Held {
    /// Samples that came and places of those that went, when they are few and the others have
    /// the same ridge.
    fn difference(&self, system: &System<'_>) -> Option<(Vec<usize>, Vec<usize>)> {
        let mut stayed = vec![false; self.rows.len()];
        let mut added = Vec::new();
        for (a, i) in system.rows.iter().enumerate() {
            match self.place.get(i) {
                Some(&place) if self.ridge[place] == system.ridge[a] => stayed[place] = true,
                Some(_) => return None,
                None => added.push(a),
            }
        }
        let removed: Vec<usize> = (0..stayed.len()).filter(|&o| !stayed[o]).collect();
        let few = (added.len() + removed.len()) * ROWS_A_COLUMN <= self.rows.len();
        few.then_some((added, removed))
    }

    /// Step 2 and the parts of step 3 that do not depend on the right side. None when S is
    /// singular to rounding.
    fn border(
        &self,
        system: &System<'_>,
        added: &[usize],
        removed: &[usize],
        watch: &mut Watch<'_>,
    ) -> Step<Option<Border>> {
        let (old, k) = (self.rows.len(), added.len() + removed.len());
        let mut columns = try_vec("border of the Newton system", old * k, 0.0)?;
        for (c, &a) in added.iter().enumerate() {
            let column = &mut columns[c * old..(c + 1) * old];
            let row = system.rows[a];
            column.iter_mut().zip(&self.rows).for_each(|(v, &o)| *v = system.entry(row, o));
        }
        for (c, &o) in removed.iter().enumerate() {
            columns[(added.len() + c) * old + o] = 1.0;
        }
        let mut solved = columns.clone();
        self.factor.solve_columns(&mut solved, &mut || watch.poll())?;
        let column = |of: usize| of * old..(of + 1) * old;
        let product = |a, b| dot(&columns[column(a)], &solved[column(b)]);
        let rows = parallel::map(k, &|a| (0..k).map(|b| product(a, b)).collect::<Vec<f64>>());
        let corner = |a: usize, b: usize| {
            if a >= added.len() || b >= added.len() {
                return 0.0;
            }
            let ridge = if a == b { system.ridge[added[a]] } else { 0.0 };
            system.entry(system.rows[added[a]], system.rows[added[b]]) + ridge
        };
        let schur = Mat::from_fn(k, k, |a, b| corner(a, b) - rows[a][b]);
        let mut next = old;
        let place = |i: &usize| match self.place.get(i) {
            Some(&place) => place,
            None => {
                next += 1;
                next - 1
            }
        };
        let places: Vec<usize> = system.rows.iter().map(place).collect();
        let border = Border { schur: schur.partial_piv_lu(), columns, solved, places };
        // A singular S shows in a solution that is not finite.
        let mut probe = vec![1.0; k];
        border.schur.solve_in_place(MatMut::from_column_major_slice_mut(&mut probe, k, 1));
        Ok(probe.iter().all(|v| v.is_finite()).then_some(border))
    }
}
