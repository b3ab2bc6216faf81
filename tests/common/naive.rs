//! The slow twin of the budgeted solvers: one sample at a time, every kernel value afresh, every
//! partner and a fine grid of merged points tried.

use budgetsvm::loss::AnyLoss;
use budgetsvm::solver::Method;

/// A term: its point, its coefficients, and the sample it is while unmerged.
struct Term {
    point: Vec<f64>,
    coef: Vec<f64>,
    sample: Option<usize>,
}

/// What happens over budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Over {
    Merge,
    RemoveSmallest,
    RemoveOldest,
    Project,
    Stop,
}

pub(crate) struct Naive<'a> {
    pub(crate) x: &'a [Vec<f64>],
    /// Targets, n x outputs.
    pub(crate) y: &'a [Vec<f64>],
    pub(crate) cost: &'a [f64],
    pub(crate) kernel: budgetsvm::kernel::AnyKernel,
    pub(crate) gamma: f64,
    pub(crate) loss: AnyLoss,
    pub(crate) method: Method,
    pub(crate) budget: Option<usize>,
    pub(crate) over: Over,
}

pub(crate) struct Result {
    pub(crate) alpha: Vec<Vec<f64>>,
    pub(crate) decisions: Vec<Vec<f64>>,
    pub(crate) n_terms: usize,
    pub(crate) moved: usize,
}

impl Naive<'_> {
    pub(crate) fn run(&self, order: &[usize]) -> Result {
        let outputs = self.y[0].len();
        let mut terms: Vec<Term> = Vec::new();
        let mut alpha = vec![vec![0.0; outputs]; self.x.len()];
        let mut moved = 0;
        for (t, &i) in order.iter().enumerate() {
            let t = t as f64 + 1.0;
            let f = self.decide(&terms, &self.x[i]);
            let mut delta = vec![0.0; outputs];
            let mut new = alpha[i].clone();
            for c in 0..outputs {
                match self.method {
                    Method::Bsca => {
                        let k_ii = self.kernel.eval(&self.x[i], &self.x[i]);
                        new[c] = self.loss.dual_step(
                            alpha[i][c],
                            self.y[i][c],
                            f[c],
                            k_ii,
                            self.cost[i],
                        );
                        delta[c] = self.loss.model_change(self.y[i][c], alpha[i][c], new[c]);
                    }
                    Method::Bsgd => {
                        let eta = self.x.len() as f64 * self.cost[i] / t;
                        delta[c] = self.loss.violation(self.y[i][c], f[c]) * eta;
                    }
                }
            }
            if self.method == Method::Bsgd {
                terms.iter_mut().flat_map(|s| &mut s.coef).for_each(|c| *c *= 1.0 - 1.0 / t);
            }
            if delta.iter().all(|&d| d == 0.0) {
                continue;
            }
            let place = terms.iter().position(|s| s.sample == Some(i));
            let full = self.budget.is_some_and(|b| terms.len() >= b);
            if place.is_none() && full && self.over == Over::Stop {
                continue;
            }
            moved += 1;
            alpha[i] = new;
            match place {
                Some(s) => {
                    terms[s].coef.iter_mut().zip(&delta).for_each(|(c, d)| *c += d);
                    if terms[s].coef.iter().all(|&c| c == 0.0) {
                        terms.remove(s);
                    }
                }
                None => {
                    terms.push(Term { point: self.x[i].clone(), coef: delta, sample: Some(i) });
                    while self.budget.is_some_and(|b| terms.len() > b) {
                        self.shorten(&mut terms);
                    }
                }
            }
        }
        let decisions = self.x.iter().map(|x| self.decide(&terms, x)).collect();
        Result { alpha, decisions, n_terms: terms.len(), moved }
    }

    fn decide(&self, terms: &[Term], x: &[f64]) -> Vec<f64> {
        let mut f = vec![0.0; self.y[0].len()];
        for term in terms {
            let k = self.kernel.eval(&term.point, x);
            f.iter_mut().zip(&term.coef).for_each(|(f, c)| *f += c * k);
        }
        f
    }

    fn shorten(&self, terms: &mut Vec<Term>) {
        let norm = |t: &Term| t.coef.iter().map(|c| c * c).sum::<f64>();
        let smallest = (0..terms.len())
            .min_by(|&i, &j| norm(&terms[i]).total_cmp(&norm(&terms[j])))
            .expect("terms");
        match self.over {
            Over::RemoveSmallest => drop(terms.remove(smallest)),
            Over::RemoveOldest | Over::Stop => drop(terms.remove(0)),
            Over::Project => self.project(terms),
            Over::Merge => self.merge(terms, smallest),
        }
    }

    /// Tries every partner and, by a grid and golden section, every point between.
    fn merge(&self, terms: &mut Vec<Term>, a: usize) {
        let dot = |s: &Term, t: &Term| s.coef.iter().zip(&t.coef).map(|(a, b)| a * b).sum::<f64>();
        let distance = |s: &Term, t: &Term| {
            self.gamma * s.point.iter().zip(&t.point).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
        };
        let binary = self.y[0].len() == 1;
        let candidates: Vec<usize> = (0..terms.len())
            .filter(|&b| b != a && (!binary || dot(&terms[a], &terms[b]) > 0.0))
            .collect();
        if candidates.is_empty() {
            // Project on the nearest.
            let b = (0..terms.len())
                .filter(|&b| b != a)
                .min_by(|&i, &j| {
                    distance(&terms[a], &terms[i]).total_cmp(&distance(&terms[a], &terms[j]))
                })
                .expect("another term");
            let kappa = (-distance(&terms[a], &terms[b])).exp();
            let own = terms[a].coef.clone();
            terms[b].coef.iter_mut().zip(own).for_each(|(c, o)| *c += kappa * o);
            terms.remove(a);
            return;
        }
        let mut best = (f64::INFINITY, 0, 0.0);
        for b in candidates {
            let (big_a, d, p) =
                (dot(&terms[a], &terms[a]), dot(&terms[b], &terms[b]), dot(&terms[a], &terms[b]));
            let l = distance(&terms[a], &terms[b]);
            let square = |h: f64| {
                let (u, v) = ((-l * h * h).exp(), (-l * (1.0 - h) * (1.0 - h)).exp());
                big_a * u * u + d * v * v + 2.0 * p * u * v
            };
            let grid = 400;
            let top = (0..=grid)
                .max_by(|&i, &j| {
                    square(f64::from(i) / f64::from(grid))
                        .total_cmp(&square(f64::from(j) / f64::from(grid)))
                })
                .expect("a grid");
            let mut low = (f64::from(top - 1) / f64::from(grid)).max(0.0);
            let mut high = (f64::from(top + 1) / f64::from(grid)).min(1.0);
            for _ in 0..60 {
                let (left, right) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
                if square(left) > square(right) { high = right } else { low = left }
            }
            let h = 0.5 * (low + high);
            let lost = big_a + d + 2.0 * p * (-l).exp() - square(h);
            if lost < best.0 {
                best = (lost, b, h);
            }
        }
        let (_, b, h) = best;
        let l = distance(&terms[a], &terms[b]);
        let (u, v) = ((-l * h * h).exp(), (-l * (1.0 - h) * (1.0 - h)).exp());
        let pair = |s: f64, t: f64, x: f64, y: f64| x * s + y * t;
        let merged = Term {
            point: terms[a]
                .point
                .iter()
                .zip(&terms[b].point)
                .map(|(&s, &t)| pair(s, t, 1.0 - h, h))
                .collect(),
            coef: terms[a]
                .coef
                .iter()
                .zip(&terms[b].coef)
                .map(|(&s, &t)| pair(s, t, u, v))
                .collect(),
            sample: None,
        };
        terms[b] = merged;
        terms.remove(a);
    }

    /// Drops the term that the others replace best, by solving for their coefficients.
    fn project(&self, terms: &mut Vec<Term>) {
        let n = terms.len();
        let mut best = (f64::INFINITY, 0, Vec::new());
        for r in 0..n {
            let others: Vec<usize> = (0..n).filter(|&i| i != r).collect();
            let k = |i: usize, j: usize| self.kernel.eval(&terms[i].point, &terms[j].point);
            let gram: Vec<Vec<f64>> =
                others.iter().map(|&i| others.iter().map(|&j| k(i, j)).collect()).collect();
            let rhs: Vec<f64> = others.iter().map(|&i| k(i, r)).collect();
            let shares = solve(gram, rhs.clone());
            let residual = k(r, r) - shares.iter().zip(&rhs).map(|(s, k)| s * k).sum::<f64>();
            let cost = residual * terms[r].coef.iter().map(|c| c * c).sum::<f64>();
            if cost < best.0 {
                best = (cost, r, shares);
            }
        }
        let (_, r, shares) = best;
        let gone = terms.remove(r);
        for (term, share) in terms.iter_mut().zip(shares) {
            term.coef.iter_mut().zip(&gone.coef).for_each(|(c, g)| *c += share * g);
        }
    }
}

/// Gaussian elimination with pivoting.
pub(crate) fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for column in 0..n {
        let pivot = (column..n)
            .max_by(|&i, &j| a[i][column].abs().total_cmp(&a[j][column].abs()))
            .expect("a row");
        a.swap(column, pivot);
        b.swap(column, pivot);
        for row in column + 1..n {
            let factor = a[row][column] / a[column][column];
            for k in column..n {
                a[row][k] -= factor * a[column][k];
            }
            b[row] -= factor * b[column];
        }
    }
    for row in (0..n).rev() {
        let sum: f64 = (row + 1..n).map(|k| a[row][k] * b[k]).sum();
        b[row] = (b[row] - sum) / a[row][row];
    }
    b
}
