//! What a basis does not hold of the rows: how alike it is among them, and terms that hold it.
//!
//! A row x is known to the summary by its part in the span of the basis alone. The rest of it,
//! `r(x) = k(x, ·) - k(x, S) K⁻¹ k(S, ·)`, is what a direction that the basis lacks would see. Nothing
//! of it is kept but its spread ([`spread`]), for which the summary asks a price of new directions
//! ([`Summary::unseen`](crate::solver::recursive::Summary::unseen)).

use crate::data::Rows;
use crate::error::try_vec;
use crate::estimator::basis::{ModelRows, model_on};
use crate::estimator::budget::config::BudgetConfig;
use crate::float::Real;
use crate::linalg::dot;
use crate::loss::AnyLoss;
use crate::model::KernelModel;
use crate::solver::smoothed::basis_gram;
use crate::watch::{Step, Watch};

use super::rest::{Rest, times_inverse, with_rows};
use super::seen::{Seen, features};

/// Rows that are compared with each other.
const SAMPLE: usize = 128;
/// Less than this share of the rows' own kernel values is rounding.
const NOTHING: f64 = 1e-6;
/// What a new direction is asked of that curvature. The mean is that of a direction of which nothing
/// else is known; terms are made where the rows of a block lack them, which those before them may not
/// have seen. Chosen on held-out parts of training sets (docs/records/defaults.md): 1 keeps streams sorted by
/// label best, less lets the basis follow the others.
const PRICE: f64 = 0.3;
/// The same where targets are values, chosen alike: there it is mostly the basis that is lacking.
const PRICE_OF_VALUES: f64 = 0.03;
/// Terms are added while a row has more than this share of its kernel value outside their span.
const COVERED: f64 = 0.01;
/// At most one row in so many of a block becomes such a term.
const ROWS_A_TERM: usize = 4;

/// [`Seen`] with the spread of what the terms of this model do not hold of the rows: to be absorbed.
pub(super) fn spread<F: Real>(
    seen: Seen<F>,
    (rows, loss): (&Rows<'_, F>, AnyLoss),
    model: &KernelModel<F>,
    watch: &mut Watch<'_>,
) -> Step<Seen<F>> {
    let price = if loss.is_classification() { PRICE } else { PRICE_OF_VALUES };
    let unseen = alike(rows, (&seen, model), watch)?;
    Ok(seen.lacking(unseen, price))
}

/// The curvature that a row adds along a direction of unit length that the basis lacks, for each unit
/// of its weight: the mean of `r(x)(x')²` over pairs of rows, divided by that of `r(x)(x)`. It is what
/// another row's direction r(x) / ‖r(x)‖ sees of a row on average.
fn alike<F: Real>(
    rows: &Rows<'_, F>,
    (seen, model): (&Seen<F>, &KernelModel<F>),
    watch: &mut Watch<'_>,
) -> Step<f64> {
    let (n, terms) = (rows.n_rows(), model.n_terms());
    let chosen: Vec<usize> = (0..n).step_by(n.div_ceil(SAMPLE).max(1)).collect();
    let count = chosen.len();
    if count < 2 {
        return Ok(0.0);
    }
    let points = model_on(model.kernel(), rows, &chosen, 1)?;
    let gram = basis_gram(&ModelRows::new(rows.view(), &points)?, watch)?;
    let mut known = try_vec("kernel values", count * terms, 0.0)?;
    for (to, &i) in known.chunks_exact_mut(terms.max(1)).zip(&chosen) {
        to.iter_mut().zip(seen.row(i, terms)).for_each(|(to, &v)| *to = Real::to_f64(v));
    }
    let mut solved = known.clone();
    times_inverse(&seen.gram(terms)?, &mut solved, terms, watch)?;
    let (mut own, mut pairs, mut whole) = (0.0, 0.0, 0.0);
    for i in 0..count {
        let held = &solved[i * terms..(i + 1) * terms];
        for j in 0..=i {
            let rest = gram[i * count + j] - dot(held, &known[j * terms..(j + 1) * terms]);
            if i == j {
                (own, whole) = (own + rest.max(0.0), whole + gram[i * count + i]);
            } else {
                pairs += 2.0 * rest * rest;
            }
        }
    }
    if own <= NOTHING * whole {
        return Ok(0.0);
    }
    Ok(pairs / (count - 1) as f64 / own)
}

/// The model with rows of the block as terms of coefficient 0, while there is room for them and they
/// hold what the others do not. A pass takes rows for terms that violate the margin; where few do,
/// as in a stream whose labels come one after another, the rest of the rows would not be known.
pub(super) fn covered<F: Real>(
    config: &BudgetConfig,
    rows: &Rows<'_, F>,
    model: KernelModel<F>,
    watch: &mut Watch<'_>,
) -> Step<KernelModel<F>> {
    let (n, terms) = (rows.n_rows(), model.n_terms());
    let room = config.budget.map_or(0, |budget| budget.saturating_sub(terms)).min(n / ROWS_A_TERM);
    if room == 0 {
        return Ok(model);
    }
    let values = ModelRows::new(rows.view(), &model)?;
    let held = features(&values, n, watch)?.into_iter().map(Real::to_f64).collect();
    let all: Vec<usize> = (0..n).collect();
    let gram = basis_gram(&values, watch)?;
    let rest = Rest::new((rows, all), &model, (held, &gram), watch)?;
    let largest = rest.largest();
    if largest <= COVERED {
        return Ok(model);
    }
    let pivots = rest.spanning(&vec![1.0; n], (room, COVERED / largest), watch)?;
    Ok(with_rows(&model, (model.shifted_centers()?, model.coef()), (rows, &pivots))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Gaussian;
    use crate::rng::Rng;
    use crate::watch::Silent;

    /// Points of the plane.
    fn plane(n: usize) -> ndarray::Array2<f64> {
        let mut rng = Rng::new(5);
        ndarray::Array2::from_shape_fn((n, 2), |_| 2.0 * rng.uniform())
    }

    fn model(points: &ndarray::Array2<f64>, terms: usize) -> KernelModel<f64> {
        let chosen: Vec<usize> = (0..terms).collect();
        model_on(Gaussian::new(1.0).unwrap().into(), &Rows::from(points), &chosen, 1).unwrap()
    }

    fn kernel(a: ndarray::ArrayView1<'_, f64>, b: ndarray::ArrayView1<'_, f64>) -> f64 {
        (-(&a - &b).mapv(|v| v * v).sum()).exp()
    }

    /// k(x, x') less what points hold of it, by elimination one point after another.
    fn rest(points: &ndarray::Array2<f64>, terms: usize) -> ndarray::Array2<f64> {
        let n = points.nrows();
        let mut left =
            ndarray::Array2::from_shape_fn((n, n), |(i, j)| kernel(points.row(i), points.row(j)));
        for t in 0..terms {
            let before = left.clone();
            for i in 0..n {
                for j in 0..n {
                    left[[i, j]] -= before[[i, t]] * before[[t, j]] / before[[t, t]];
                }
            }
        }
        left
    }

    #[test]
    fn the_spread_is_what_pairs_of_rows_see_of_each_other() {
        let points = plane(40);
        for terms in [1, 6] {
            let left = rest(&points, terms);
            let (mut own, mut pairs) = (0.0, 0.0);
            for i in 0..40 {
                own += left[[i, i]];
                pairs += (0..40).filter(|&j| j != i).map(|j| left[[i, j]].powi(2)).sum::<f64>();
            }
            let model = model(&points, terms);
            let found = Watch::run_here(&mut Silent, |watch| {
                watch.unbroken(|watch| {
                    let rows = Rows::from(&points);
                    let seen = Seen::new(&rows, &model, false, watch)?;
                    alike(&rows, (&seen, &model), watch)
                })
            });
            let expected = pairs / 39.0 / own;
            assert!((found.unwrap() - expected).abs() < 1e-4 * expected, "{terms}");
        }
    }

    #[test]
    fn rows_span_the_rest_by_their_weights() {
        let points = plane(40);
        let rows = Rows::from(&points);
        let model = model(&points, 4);
        let samples: Vec<usize> = (0..40).filter(|i| i % 3 > 0).collect();
        let weights: Vec<f64> = samples.iter().map(|i| 1.0 + (i % 7) as f64).collect();
        let span = |watch: &mut Watch<'_>| {
            let values = ModelRows::new(rows.view(), &model)?;
            let held = features(&values, 40, watch)?;
            let held = samples.iter().flat_map(|i| held[i * 4..(i + 1) * 4].to_vec()).collect();
            let gram = basis_gram(&values, watch)?;
            let rest = Rest::new((&rows, samples.clone()), &model, (held, &gram), watch)?;
            rest.spanning(&weights, (5, 1e-9), watch)
        };
        let found = Watch::run_here(&mut Silent, |watch| watch.unbroken(span)).unwrap();
        // By elimination of the weighed rest, the largest diagonal first.
        let left = rest(&points, 4);
        let n = samples.len();
        let of = |i: usize, j: usize| weights[i] * left[[samples[i], samples[j]]] * weights[j];
        let mut weighed = ndarray::Array2::from_shape_fn((n, n), |(i, j)| of(i, j));
        let mut expected = Vec::new();
        for _ in 0..5 {
            let largest = (0..n).max_by(|&a, &b| weighed[[a, a]].total_cmp(&weighed[[b, b]]));
            let pivot = largest.unwrap();
            expected.push(samples[pivot]);
            let before = weighed.clone();
            for i in 0..n {
                for j in 0..n {
                    let part = before[[i, pivot]] * before[[pivot, j]] / before[[pivot, pivot]];
                    weighed[[i, j]] -= part;
                }
            }
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn terms_are_added_until_every_row_is_held() {
        let points = plane(200);
        let rows = Rows::from(&points);
        let config = |budget| BudgetConfig {
            budget: Some(budget),
            kernel: Gaussian::new(1.0).unwrap().into(),
            ..BudgetConfig::default()
        };
        let cover = |budget, model| {
            let cover = |watch: &mut Watch<'_>| {
                watch.unbroken(|watch| covered(&config(budget), &rows, model, watch))
            };
            Watch::run_here(&mut Silent, cover).unwrap()
        };
        let start = model(&points, 3);
        let all = cover(100, start.clone());
        assert!(all.n_terms() > 3 && all.n_terms() < 50, "{}", all.n_terms());
        assert_eq!(cover(8, start.clone()).n_terms(), 8);
        assert_eq!(cover(3, start.clone()).n_terms(), 3);
        assert_eq!(all.shifted_centers().unwrap()[..6], start.shifted_centers().unwrap()[..6]);
        // The rows that the terms are, first; then what is left of the others.
        let mut order: Vec<usize> = Vec::new();
        let centers = all.centers().unwrap();
        for term in 0..all.n_terms() {
            let mut center = [0.0; 2];
            centers.rows().unwrap().copy_row(term, &mut center);
            let same =
                |i: &usize| points.row(*i).iter().zip(center).all(|(a, b)| (a - b).abs() < 1e-12);
            order.extend((0..200).find(same));
        }
        assert_eq!(order.len(), all.n_terms());
        let others: Vec<usize> = (0..200).filter(|i| !order.contains(i)).collect();
        order.extend(others);
        let ordered = points.select(ndarray::Axis(0), &order);
        let left = rest(&ordered, all.n_terms());
        assert!((0..200).all(|i| left[[i, i]] < 1.01 * COVERED));
    }
}
