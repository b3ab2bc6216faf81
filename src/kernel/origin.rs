//! Where rows are moved to before they are compared: near the data, so that norms lose no digits, and
//! where their zeros stay zeros.

use ndarray::ArrayView2;

use super::AnyKernel;
use crate::data::Rows;
use crate::error::{Result, try_collect, try_vec};
use crate::float::Real;
use crate::simd;

/// Rows that are looked at for an origin.
const LOOKED_AT: usize = 64;

/// Where the origin of a model that begins with these rows should be, nowhere (empty) unless they are
/// dense and the kernel is one of the distance alone: at the first row, but at zero in features that are
/// zero more often than what that row has there, and not far from zero. (Of rows of many features, of
/// which values of zero are skipped: those in a picture's border would be values else.)
///
/// # Errors
/// `OutOfMemory`.
pub fn origin_for<F: Real>(kernel: AnyKernel, rows: &Rows<'_, F>) -> Result<Vec<F>> {
    match rows {
        Rows::Dense(x) if kernel.is_translation_invariant() && x.nrows() > 0 => {
            let mut origin = try_collect("the origin", x.row(0).iter().copied())?;
            if origin.len() > simd::PART {
                zero_where_most_are(x, &mut origin)?;
            }
            Ok(origin)
        }
        Rows::Dense(_) | Rows::Csr(_) => Ok(Vec::new()),
    }
}

/// What the rows looked at have in a feature.
#[derive(Clone, Copy, Default)]
struct Seen {
    zeros: usize,
    /// As many as have what the first row has.
    same: usize,
    /// `Σ x²`, and the same about the first row.
    squares: [f64; 2],
}

/// Two bits of a norm are worth the zeros, no more.
const SQUARES: f64 = 4.0;

fn zero_where_most_are<F: Real>(x: &ArrayView2<'_, F>, origin: &mut [F]) -> Result<()> {
    let mut seen = try_vec("the origin", origin.len(), Seen::default())?;
    for row in x.rows().into_iter().step_by(x.nrows().div_ceil(LOOKED_AT)) {
        for ((seen, &value), &first) in seen.iter_mut().zip(row).zip(origin.iter()) {
            let (v, about) = (value.to_f64(), value.to_f64() - first.to_f64());
            seen.zeros += usize::from(v == 0.0);
            seen.same += usize::from(about == 0.0);
            seen.squares[0] += v * v;
            seen.squares[1] += about * about;
        }
    }
    for (origin, Seen { zeros, same, squares }) in origin.iter_mut().zip(seen) {
        if zeros > same && squares[0] < SQUARES * squares[1] {
            *origin = F::zero();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::rng::Rng;

    const GAUSSIAN: AnyKernel = AnyKernel::Gaussian { gamma: 0.1 };

    fn of(x: &Array2<f64>) -> Vec<f64> {
        origin_for(GAUSSIAN, &Rows::Dense(x.view())).unwrap()
    }

    /// Features in turn: mostly zero, zero in half of the rows, never zero, and far from zero but in
    /// a few rows.
    fn rows(n: usize, d: usize) -> Array2<f64> {
        let mut rng = Rng::new(7);
        let mut x = Array2::from_shape_fn((n, d), |(i, k)| {
            let (value, chance) = (0.5 + 0.5 * rng.uniform(), rng.uniform());
            let first = i == 0;
            match k % 4 {
                0 if first || chance < 0.2 => value,
                1 if first || chance < 0.5 => value,
                2 => value,
                3 if first || chance < 0.95 => 1e6 + value,
                _ => 0.0,
            }
        });
        x.row_mut(0)[4] = 0.0;
        x
    }

    #[test]
    fn zeros_stay_zeros_where_there_are_many_of_them_near_the_rest() {
        let x = rows(500, 80);
        let origin = of(&x);
        for (k, &origin) in origin.iter().enumerate() {
            let stays = k % 4 >= 2 || k == 4;
            assert_eq!(origin, if stays { x[(0, k)] } else { 0.0 }, "feature {k}");
        }
        let there = |origin: &[f64]| {
            x.rows()
                .into_iter()
                .flat_map(|row| row.to_vec().into_iter().zip(origin.to_vec()))
                .filter(|(v, o)| v - o != 0.0)
                .count()
        };
        assert!(there(&origin) < 3 * there(&x.row(0).to_vec()) / 4);
        // By the rows, not by how they lie.
        let columns = x.t().as_standard_layout().into_owned();
        assert_eq!(origin_for(GAUSSIAN, &Rows::Dense(columns.t())).unwrap(), origin);
    }

    #[test]
    fn one_row_few_features_and_other_kernels_are_as_they_were() {
        let x = rows(1, 80);
        assert_eq!(of(&x), x.row(0).to_vec());
        let x = rows(500, simd::PART);
        assert_eq!(of(&x), x.row(0).to_vec());
        let rows = Rows::Dense(x.view());
        assert!(origin_for(AnyKernel::Linear, &rows).unwrap().is_empty());
        // Squares that are no numbers.
        let huge = rows_of_huge();
        assert_eq!(of(&huge), huge.row(0).to_vec());
    }

    fn rows_of_huge() -> Array2<f64> {
        Array2::from_shape_fn((9, 80), |(i, _)| if i == 0 { 1e300 } else { 0.0 })
    }
}
