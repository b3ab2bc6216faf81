//! Wide rows on fewer directions, on which they are divided and learnt from.
//!
//! *Method*
//! 1. Where it is asked for, or dense rows are many and wide and the kernel is Gaussian, find the
//!    leading directions ([`leading_directions`]): as few as keep the values of the kernel, and if
//!    a quarter of the features does not, none.
//! 2. Project all rows, and divide these.
//! 3. The model has the directions in front of its cells.
//!
//! *Cost* O(n d p) for p directions, against the O(n s d) of a machine of s support vectors, which
//! is O(n s p) after that.

use std::sync::Arc;

use super::{Divided, LocalConfig};
use crate::data::{Gathered, Problem, Rows};
use crate::error::{Result, try_vec};
use crate::estimator::machine::{Machine, State};
use crate::estimator::report::Report;
use crate::features::{Directions, FeatureMap, leading_directions};
use crate::float::Real;
use crate::model::Model;
use crate::watch::Watch;

/// Dense rows, and their features, from which on they are projected unasked; and the most
/// directions.
const ROWS: usize = 20_000;
const FEATURES: usize = 128;
const MOST: usize = 256;

/// A fit to the rows, or to what is left of them.
pub(super) fn fit<F: Real>(
    config: &LocalConfig,
    problem: &Problem<'_, F>,
    centers: Option<&[F]>,
    watch: &mut Watch<'_>,
) -> Result<(Machine<F>, Report)> {
    // 1.
    let Some(map) = directions(config, problem, watch)? else {
        let (made, report) = config.divide(problem, centers, watch)?;
        return Ok((machine(made, None)?, report));
    };
    // 2.
    let rows = project(&map, &problem.rows(), watch)?;
    let inner = Problem::new(rows.rows()?, problem.targets(), problem.cost())?;
    let (made, report) = match centers {
        Some(centers) => {
            let centers = project(&map, &Rows::of_slice(centers, map.n_features())?, watch)?;
            let centers: Vec<F> = match centers {
                Gathered::Dense(centers) => centers.into_iter().collect(),
                Gathered::Csr { values, .. } => values,
            };
            config.divide(&inner, Some(&centers), watch)?
        }
        None => config.divide(&inner, None, watch)?,
    };
    // 3.
    Ok((machine(made, Some(map))?, report))
}

fn machine<F: Real>(made: Divided<F>, map: Option<FeatureMap<F>>) -> Result<Machine<F>> {
    let model = match (made, map) {
        (Divided::Online(model), _) => return Ok(Machine::of_local(*model)),
        (Divided::Cells(cells), None) => cells,
        (Divided::Cells(cells), Some(map)) => cells.behind(map)?,
    };
    Ok(Machine::new(Model::Cells(Arc::new(model)), State::None))
}

fn directions<F: Real>(
    config: &LocalConfig,
    problem: &Problem<'_, F>,
    watch: &mut Watch<'_>,
) -> Result<Option<FeatureMap<F>>> {
    let (rows, d) = (problem.rows(), problem.rows().n_cols());
    let wanted = match (config.n_components, config.kernel.gaussian_gamma(), &rows) {
        (Some(count), _, _) if count >= d => return Ok(None),
        (Some(count), _, _) => Directions::Given(count),
        (None, Some(gamma), Rows::Dense(_))
            if config.is_exact() && problem.len() >= ROWS && d >= FEATURES =>
        {
            Directions::Enough(gamma, (d / 4).min(MOST))
        }
        (None, _, _) => return Ok(None),
    };
    let among: Vec<usize> = (0..problem.len()).filter(|&i| problem.cost()[i] > 0.0).collect();
    leading_directions(&rows, &among, wanted, (config.seed, watch))
}

fn project<F: Real>(
    map: &FeatureMap<F>,
    rows: &Rows<'_, F>,
    watch: &mut Watch<'_>,
) -> Result<Gathered<F>> {
    let p = map.n_outputs();
    let mut out = try_vec("projected rows", rows.n_rows().saturating_mul(p), F::zero())?;
    map.transform(rows, (&mut out, p), watch)?;
    Gathered::from_values(out, p)
}
