//! A look at the coordinates at rest: those that might move come back.

use super::features::Features;
use super::output::{Ascent, AtRest};
use crate::loss::Smoothed;
use crate::parallel;
use crate::solver::polish::apart::Apart;
use crate::solver::polish::row::SEVERAL;

/// Rows of one task.
const TASK: usize = 256;
/// Rows that are on their way while one is met.
const AHEAD: usize = 2;

/// Looks at those of one output.
pub(super) fn look(own: &mut Ascent, features: &Features, loss: Smoothed) {
    let mut rest = own.at_rest();
    while let Some(row) = rest.row() {
        let f = features.row(row as usize).dot(rest.w);
        rest.meet(f, loss);
    }
    own.take_back();
}

/// Looks at those of several, a row for all of them at once.
pub(super) fn look_at_all(mut asking: Vec<&mut Ascent>, features: &Features, loss: Smoothed) {
    if asking.is_empty() {
        return;
    }
    parallel::each(asking.iter_mut(), &|_, own| own.sort_rest());
    let n_rows = features.samples().len();
    let mut left: Vec<AtRest<'_>> = asking.iter_mut().map(|own| own.at_rest()).collect();
    let tasks = (0..n_rows).step_by(TASK).map(|first| {
        let last = (first + TASK).min(n_rows);
        (first, left.iter_mut().map(|own| own.before(last as u32)).collect())
    });
    parallel::each(tasks, &|_, (first, part)| meet(part, first, features, loss));
    asking.iter_mut().for_each(|own| own.take_back());
}

/// Those of some rows, from this one on.
fn meet(mut part: Vec<AtRest<'_>>, first: usize, features: &Features, loss: Smoothed) {
    let (mut here, mut buffer) = (Vec::new(), Apart::default());
    for row in first..features.samples().len().min(first + TASK) {
        here.clear();
        here.extend((0..part.len()).filter(|&own| part[own].row() == Some(row as u32)));
        if row + AHEAD < features.samples().len() {
            features.row(row + AHEAD).prefetch();
        }
        let held = features.row(row);
        let held = if here.len() < SEVERAL { held } else { held.lengthened(&mut buffer) };
        for &own in &here {
            let f = held.dot(part[own].w);
            part[own].meet(f, loss);
        }
    }
}
