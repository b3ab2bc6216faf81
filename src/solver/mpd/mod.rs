//! The minimal primal-dual method: a dual problem with any number k of equality constraints,
//! by steps of one variable.
//!
//! ```text
//! min ½ βᵀKβ - zᵀβ     l ≤ β ≤ u,   f_iᵀβ = e_i,   i = 1..k
//! ```
//!
//! in the signed variables of [`crate::solver::exact`] (a class-signed α, or one of the two of a
//! regression sample). The offset of a machine is the multiplier η of its constraint `Σβ = 0`; a
//! function φ of a semi-parametric machine is one more constraint, `Σ β φ(x) = 0`, and its
//! parameter that constraint's multiplier (\[MPD\] section 6). Without an offset (k = 0) the method is
//! the Kernel Adatron; with one whose square is penalised, `λb²/2` (\[MPD\] section 4.2), there is no
//! constraint either, as if the kernel were `k + 1/λ`, and a relaxation factor ω in (0, 2) before
//! every step makes it successive over-relaxation \[SOR\].
//!
//! # Method
//! The gradient is `Kβ - z + Fη`; `g = Fᵀβ - e`. [`Update::Augmented`], the default:
//! 1. `F = QR` with orthogonal columns of mean square 1: the steps see Q, thresholds and answers
//!    are those of F. β = η = 0, τ = 0.1, `ρ_i = mean(K_jj) / n`.
//! 2. Minimise over the box `½ βᵀKβ - zᵀβ + ηᵀg + ½ Σ ρ_i g_i²` until its largest violation is
//!    τ: a working set of the variables of most gain, whose rows come as one block; inside it one
//!    variable at a time, always the one of most gain, `Δ = clip(β + ωs / (K_jj + Σ ρ_i f_ij²)) - β`
//!    with the effective score `s = z - Kβ - F(η + ρ∘g)`. Where 16 steps a variable are not enough,
//!    a Newton step of all free ones now and then, as far as the box allows: what single steps
//!    crawl along (constraints that outweigh the kernel, near duplicates) is one step then.
//! 3. If `τ ≤ ε_p` and all `|g_i| ≤ ε_d,i`: end. Else `η += ρ∘g`, `τ ← max(ε_p, 0.3 τ)`, and
//!    `ρ ← 4ρ` when `max |g_i| / ε_d,i` did not fall fourfold. The η of an offset that is penalised
//!    stays 0, and its `ρ = 1/λ`.
//! 4. A problem of up to 1024 samples is then solved on to 1e-11, by the same, for at most 20 times
//!    the steps ([`MpdSettings::refine`]): its answer does not depend on the samples' order.
//!
//! [`Update::Newton`] is the paper's own: step 2 without ρ, one variable a time, that of the worst
//! violation; with it k Gauss-Southwell steps on `Hγ_i = -f_i`, which estimate the second
//! derivatives `h_i = f_iᵀγ_i` of the dual function; in step 3 `η_i -= g_i / h_i`. It ends when
//! 250,000 iterations have brought the constraints no nearer.
//!
//! Departs from \[MPD\] Algorithm 1: the default. How the paper's own fares: a step moves a
//! variable by `ε_p / K_jj` or more, and a constraint by f_ij times that, so ε_d far below ε_p is
//! met by chance, after hundreds of thousands of updates, or never: it goes round a cycle. With
//! `ε_d = ε_p`, as in the paper, all five machines converge; both ν-machines slowly (tens of
//! thousands of steps), for H is singular with f_2 outside its range, so that h_2 grows without
//! bound and the steps of η_2 shrink. Several nearly collinear functions, whose second derivatives
//! are not diagonal, make its steps too long. The augmented form, to which the paper likens its
//! method (section 5.4), converges in all these cases.
//!
//! Targets of any size are fitted, in a unit of their own (`unit.rs`), in which ε_p is measured too; no
//! violation below 1e-12 of the largest is asked for, which sums of such numbers do not resolve.
//!
//! *Cost* of a round: O(q n d) for q new rows, O((q + k) n), O(q + k) a step of one variable.
//! *Memory*: the cache's bound, O(k n) numbers, O(q²) for the working set.
//!
//! *Certificate*: [`super::exact::Solution::gap`] is the distance of the objective from the dual
//! function's value, `Σ max over β' in [l, u] of s (β' - β) + |ηᵀg|`: with the constraints met it
//! bounds how far the objective is above the optimum.
//!
//! *References*: \[MPD\]; \[BERTSEKAS\] for the augmented Lagrangian; \[SOR\].

mod augmented;
mod basis;
mod descent;
mod machines;
mod newton;
mod problem;
mod run;
mod solve;
mod unit;

pub use machines::{Form, fit};
pub use problem::{Equality, MpdSettings, Problem, Update};
pub use solve::solve;

#[cfg(test)]
mod scale_tests;
#[cfg(test)]
mod tests;
