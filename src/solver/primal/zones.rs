//! The zones that samples fall into, and what the loss is in them.

use crate::loss::{Piece, Zone};
use crate::solver::smoothed::ray::Samples;

/// A width at which every sample is in the quadratic zone.
pub(super) fn all_quadratic(samples: &Samples<'_>, f: &[f64]) -> f64 {
    let distance = |i: usize| samples.loss.reach(samples.y(i), f[i]);
    1.5 * (0..samples.cost.len()).map(distance).fold(0.0, f64::max)
}

/// The zone of every sample; that of samples of cost 0 means nothing.
pub(super) fn zones(samples: &Samples<'_>, f: &[f64]) -> Vec<Zone> {
    let zone = |i: usize| match samples.cost[i] > 0.0 {
        true => samples.loss.zone(samples.y(i), f[i]),
        false => Zone::default(),
    };
    (0..samples.cost.len()).map(zone).collect()
}

/// What sample i costs in its zone, or near `f` where the loss has no zones, for a cost of 1;
/// nothing when it has none.
pub(super) fn piece(samples: &Samples<'_>, i: usize, zone: Zone, f: f64) -> Piece {
    let y = samples.y(i);
    if samples.cost[i] <= 0.0 {
        Piece::Nothing
    } else if samples.loss.has_zones() {
        samples.loss.piece(y, zone)
    } else {
        samples.loss.model(y, f)
    }
}

/// The samples of an expansion by their zones.
#[derive(Default)]
pub(super) struct Split {
    /// Q, and 1/D and z of its samples.
    pub(super) rows: Vec<usize>,
    pub(super) ridge: Vec<f64>,
    pub(super) target: Vec<f64>,
    /// T, and the slopes r of its samples.
    pub(super) steep: Vec<(usize, f64)>,
}

impl Split {
    pub(super) fn new(samples: &Samples<'_>, zones: &[Zone], f: &[f64]) -> Self {
        let mut split = Self::default();
        for (i, &zone) in zones.iter().enumerate() {
            let cost = samples.cost[i];
            match piece(samples, i, zone, f[i]) {
                Piece::Nothing => {}
                Piece::Linear(slope) => split.steep.push((i, cost * slope)),
                Piece::Quadratic { curvature, target } => {
                    split.rows.push(i);
                    split.ridge.push(1.0 / (cost * curvature));
                    split.target.push(target);
                }
            }
        }
        split
    }
}
