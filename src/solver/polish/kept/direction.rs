//! A Newton direction by conjugate gradients, preconditioned by a Hessian of some of the rows, and by
//! what the directions before it have seen of theirs, which were much the same.
//!
//! References: Morales and Nocedal 2000, "Automatic preconditioning by limited memory quasi-Newton
//! updating".

use super::basis::Basis;
use super::rows::Rows;
use crate::error::check_room;
use crate::float::Real;
use crate::linalg::{Cholesky, Pairs, Single, axpy, dot};
use crate::watch::{Step, Watch};

/// The residual is to fall to the first share, in the metric of the preconditioner, or where so many
/// steps do not do to the second.
const ENOUGH: [f64; 2] = [0.1, 0.2];
const FEW_STEPS: usize = 8;
/// Where so many steps do not do, the preconditioner is made anew.
const MAX_STEPS: usize = 60;
/// Steps whose directions, and products with them, are kept for the next.
pub(super) const SEEN: usize = 60;

/// `H = K_BB + Σ D_i k_i k_iᵀ` at some margins, the offset last where there is one.
pub(super) struct Hessian<'h, 'k, F: Real> {
    pub(super) basis: &'h Basis<'k, F>,
    pub(super) rows: &'h Rows<'k, F>,
    /// The places with D > 0, and D of all places.
    pub(super) zone: &'h [u32],
    pub(super) curvature: &'h [f64],
    /// Of the offset where D is 0 everywhere.
    pub(super) flat: f64,
}

/// A factor that preconditions.
pub(super) enum Like {
    /// Of some rows, rounded.
    Rounded(Single),
    /// Of all rows, at margins nearby: what it says of a step is true but for the rows that have come
    /// to bend since.
    Whole(Cholesky),
}

impl Like {
    pub(super) fn solve(&self, x: &mut [f64]) {
        match self {
            Self::Rounded(factor) => factor.solve(x),
            Self::Whole(factor) => factor.solve(x),
        }
    }
}

impl<F: Real> Hessian<'_, '_, F> {
    fn times(&self, p: &[f64], watch: &mut Watch<'_>) -> Step<Vec<f64>> {
        let b = self.basis.b;
        let mut out = self.rows.bend(self.zone, p, self.curvature, watch)?;
        axpy(1.0, &self.basis.single_times(&p[..b]), &mut out[..b]);
        out.truncate(p.len());
        if let (Some(out), Some(p)) = (out.get_mut(b), p.get(b)) {
            *out += self.flat * p;
        }
        Ok(out)
    }

    /// `-H⁻¹ g`, about; and whether the preconditioner still serves. What was seen on the way is added
    /// to `seen` where it does.
    pub(super) fn direction(
        &self,
        gradient: &[f64],
        (like, seen): (&Like, &mut Pairs),
        watch: &mut Watch<'_>,
    ) -> Step<(Vec<f64>, bool)> {
        // Directions and products with them, those of this one and of those before.
        let bytes = gradient.len().saturating_mul(2 * (4 * SEEN + 8 * MAX_STEPS));
        check_room("directions", bytes)?;
        let mut d = vec![0.0; gradient.len()];
        let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut z = residual.clone();
        seen.times_inverse(&mut z, |z| like.solve(z));
        let mut p = z.clone();
        let mut own: Vec<[Vec<f64>; 2]> = Vec::new();
        let mut norm = dot(&residual, &z);
        let enough = ENOUGH.map(|share| share * share * norm);
        for steps in 0..MAX_STEPS {
            if norm.is_nan() || norm <= enough[usize::from(steps >= FEW_STEPS)] {
                own.iter().for_each(|[p, hp]| seen.push(p, hp));
                return Ok((d, true));
            }
            let hp = self.times(&p, watch)?;
            let bend = dot(&p, &hp);
            if !(bend > 0.0 && bend.is_finite()) {
                break;
            }
            axpy(norm / bend, &p, &mut d);
            axpy(-norm / bend, &hp, &mut residual);
            z.copy_from_slice(&residual);
            seen.times_inverse(&mut z, |z| like.solve(z));
            let next = dot(&residual, &z);
            let ahead: Vec<f64> = p.iter().zip(&z).map(|(p, z)| z + next / norm * p).collect();
            own.push([std::mem::replace(&mut p, ahead), hp]);
            norm = next;
        }
        Ok((d, false))
    }
}
