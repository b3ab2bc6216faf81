//! The weights of two machines, not negative and of sum 1, with which they miss least together.

use super::choose::HeldOut;
use super::grid::Grid;

/// `(w, 1 - w)` of the values of two machines on the rows held out.
pub(crate) fn blend(first: &Grid, second: &Grid, held_out: &HeldOut<'_>) -> (f64, f64) {
    // Σ c (y - b - w (a - b))² is a parabola in w.
    let (mut inner, mut square) = (0.0, 0.0);
    let q = first.columns;
    for (i, c) in held_out.weights.iter().enumerate() {
        for j in i * q..(i + 1) * q {
            let (a, b) = (f64::from(first.values[j]), f64::from(second.values[j]));
            inner += c * (f64::from(held_out.values.values[j]) - b) * (a - b);
            square += c * (a - b) * (a - b);
        }
    }
    let w = if square > 0.0 { (inner / square).clamp(0.0, 1.0) } else { 1.0 };
    (w, 1.0 - w)
}

/// `w a + (1 - w) b`.
pub(crate) fn blended(first: &Grid, second: &Grid, (w, rest): (f64, f64)) -> Grid {
    let pairs = first.values.iter().zip(&second.values);
    let values = pairs.map(|(a, b)| (w * f64::from(*a) + rest * f64::from(*b)) as f32).collect();
    Grid { values, columns: first.columns }
}
