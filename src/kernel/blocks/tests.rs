//! Blocks of every kernel against [`AnyKernel::eval`].

use ndarray::Array2;

use super::*;
use crate::data::Rows;
use crate::data::{Csr, Indices};
use crate::kernel::{load_tile, origin_for};
use crate::rng::Rng;

const KERNELS: [AnyKernel; 7] = [
    AnyKernel::Gaussian { gamma: 0.4 },
    AnyKernel::Laplacian { gamma: 0.2 },
    AnyKernel::Matern32 { gamma: 0.4 },
    AnyKernel::Matern52 { gamma: 0.4 },
    AnyKernel::Polynomial { gamma: 0.3, coef0: 1.0, degree: 3 },
    AnyKernel::Sigmoid { gamma: 0.1, coef0: -0.5 },
    AnyKernel::Linear,
];

fn check<F: Real>(tolerance: f64) {
    let mut rng = Rng::new(5);
    let (n, d, b) = (29, 40, 21usize);
    let x = Array2::from_shape_fn((n, d), |_| {
        if rng.below(5) == 0 { F::from_f64(rng.uniform() - 0.5) } else { F::zero() }
    });
    let (mut values, mut columns, mut starts) = (vec![], vec![], vec![0i32]);
    for row in x.rows() {
        for (k, &v) in row.iter().enumerate().filter(|(_, v)| !v.is_zero()) {
            values.push(v);
            columns.push(k as i32);
        }
        starts.push(values.len() as i32);
    }
    let csr = Csr::new(&values, Indices::I32(&columns), Indices::I32(&starts), d).unwrap();
    let reversed = x.slice(ndarray::s![..;-1, ..]).to_owned();
    let strided = reversed.slice(ndarray::s![..;-1, ..]);
    let stride = b.next_multiple_of(Packed::<F>::line());
    let coef: Vec<f64> =
        (0..2 * stride).map(|j| if j % stride < b { j as f64 - 30.0 } else { 0.0 }).collect();
    for (rows, kernel) in [Rows::Dense(x.view()), Rows::Dense(strided), Rows::Csr(csr)]
        .into_iter()
        .flat_map(|r| KERNELS.into_iter().map(move |k| (r, k)))
    {
        let origin = origin_for(kernel, &rows).unwrap();
        let mut tile = Tile::new(d);
        load_tile(&rows, n, |i| i, &origin, &mut tile);
        let mut packed = Packed::new(d).unwrap();
        let mut row = vec![F::zero(); d];
        for j in 0..b {
            tile.copy_row(j, &mut row);
            packed.push(&row).unwrap();
        }
        let doubled = |i: usize| -> Vec<f64> { x.row(i).iter().map(|&v| v.to_f64()).collect() };
        let mut out = vec![F::zero(); n * 32];
        kernel.values(&tile, (0, n), &packed, &mut out, 32);
        let mut sums = vec![0.0; 2 * n];
        kernel.sums(&tile, (0, n), &packed, (&coef, 2), (&mut sums, &mut Vec::new()));
        let mut stored = vec![F::zero(); n * 32];
        let mut single = vec![0.0; n];
        kernel.stored_and_sums(
            &tile,
            (0, n),
            &packed,
            (&mut stored, 32),
            (&coef[..stride], &mut single),
        );
        kernel.stored_to_values(&mut stored);
        for i in 0..n {
            let mut first = 0.0;
            for j in 0..b {
                let want = kernel.eval(&doubled(i), &doubled(j));
                for got in [out[i * 32 + j], stored[i * 32 + j]] {
                    assert!((got.to_f64() - want).abs() <= tolerance, "{kernel:?} {got} {want}");
                }
                first += coef[j] * want;
            }
            assert!((single[i] - first).abs() <= 400.0 * tolerance, "{kernel:?} sum");
        }
        for i in 0..n {
            for c in 0..2 {
                let want: f64 = (0..b)
                    .map(|j| coef[c * stride + j] * kernel.eval(&doubled(i), &doubled(j)))
                    .sum();
                assert!((sums[2 * i + c] - want).abs() <= 800.0 * tolerance, "{kernel:?} sums");
            }
        }
        let mut diagonal = Vec::new();
        kernel.diagonal(&tile, &mut diagonal);
        for (i, got) in diagonal.iter().enumerate() {
            let want = kernel.eval(&doubled(i), &doubled(i));
            assert!((got - want).abs() <= tolerance, "{kernel:?} diagonal");
        }
    }
}

#[test]
fn blocks_of_every_kernel_agree_with_their_twin() {
    check::<f32>(2e-6);
    check::<f64>(1e-14);
}

/// Offsets of 1e8 and raw values: values in [0, 1], exactly 1 at a point itself, at most 1e-6 off.
#[test]
fn large_offsets_lose_nothing() {
    let mut rng = Rng::new(9);
    for (offset, spread, gamma) in [(1e8, 1e3, 1e-5), (0.0, 3e3, 1e-7), (1e4, 10.0, 0.1)] {
        for d in [8, 60] {
            let x = Array2::from_shape_fn((40, d), |_| (offset + spread * rng.uniform()) as f32);
            let kernel = AnyKernel::Gaussian { gamma: gamma / d as f64 };
            let rows = Rows::Dense(x.view());
            let origin = origin_for(kernel, &rows).unwrap();
            let mut tile = Tile::<f32>::new(d);
            load_tile(&rows, 40, |i| i, &origin, &mut tile);
            let mut packed = Packed::new(d).unwrap();
            let mut row = vec![0.0; d];
            for j in 0..40 {
                tile.copy_row(j, &mut row);
                packed.push(&row).unwrap();
            }
            let mut out = vec![0.0; 40 * 48];
            kernel.values(&tile, (0, 40), &packed, &mut out, 48);
            for i in 0..40 {
                let doubled =
                    |i: usize| -> Vec<f64> { x.row(i).iter().map(|&v| v.into()).collect() };
                for j in 0..40 {
                    let got = f64::from(out[i * 48 + j]);
                    let want = kernel.eval(&doubled(i), &doubled(j));
                    assert!((0.0..=1.0).contains(&got));
                    assert!((got - want).abs() <= 1e-6, "offset {offset} d {d}: {got} {want}");
                }
                assert_eq!(out[i * 48 + i], 1.0);
            }
        }
    }
}

/// Rows of many features whose norms are about the largest with which norms and products give distances,
/// nearly equal ones among them: little is lost, and nothing at a point itself.
#[test]
fn norms_near_their_limits_lose_little() {
    let mut rng = Rng::new(19);
    for d in [65, 128, 300, 784, 3000] {
        let n = 48;
        let mut x = Array2::from_shape_fn((n, d), |_| rng.normal() as f32);
        for i in 1..n / 2 {
            let step = 0.1 / i as f32;
            let near = x.row(i - 1).mapv(|v| v + step * (rng.uniform() as f32 - 0.5));
            x.row_mut(i).assign(&near);
        }
        let norm = |row: ndarray::ArrayView1<'_, f32>| {
            row.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>()
        };
        let largest = x.rows().into_iter().map(norm).fold(0.0, f64::max);
        for limit in [norm_limit::<f32>(), part_norm_limit::<f32>()] {
            let kernel = AnyKernel::Gaussian { gamma: 0.999 * limit / largest };
            let mut tile = Tile::<f32>::new(d);
            load_tile(&Rows::Dense(x.view()), n, |i| i, &[], &mut tile);
            let mut packed = Packed::new(d).unwrap();
            x.rows().into_iter().for_each(|row| packed.push(row.as_slice().unwrap()).unwrap());
            let mut out = vec![0.0; n * n];
            kernel.values(&tile, (0, n), &packed, &mut out, n);
            let doubled = |i: usize| -> Vec<f64> { x.row(i).iter().map(|&v| v.into()).collect() };
            let mut most = 0.0f64;
            for (at, &got) in out.iter().enumerate() {
                let (i, j) = (at / n, at % n);
                most = most.max((f64::from(got) - kernel.eval(&doubled(i), &doubled(j))).abs());
                assert!((0.0..=1.0).contains(&got) && (i != j || got == 1.0), "{d} {limit}");
            }
            // One sum of many features is off by more.
            let in_parts = limit > norm_limit::<f32>();
            if in_parts || d <= 128 {
                let within = if in_parts { 5e-6 } else { 2e-6 };
                assert!(most <= within, "d {d} limit {limit}: {most:.1e}");
            }
        }
    }
}

/// A row made in parts has the bits of a row made at once, dense and sparse.
fn parts_are_the_whole<F: Real>() {
    let mut rng = Rng::new(9);
    for (d, b) in [(3, 70), (40, 33), (90, 200)] {
        let mut packed = Packed::<F>::new(d).unwrap();
        for _ in 0..b {
            let entry = |rng: &mut Rng| if rng.below(3) == 0 { rng.uniform() } else { 0.0 };
            let center: Vec<F> = (0..d).map(|_| F::from_f64(entry(&mut rng))).collect();
            packed.push(&center).unwrap();
        }
        let padded = packed.padded_len();
        for (kernel, slot) in KERNELS.into_iter().flat_map(|k| [(k, 0), (k, b - 1)]) {
            let mut tile = Tile::new(d);
            kernel.load_center(&packed, slot, &mut tile);
            let mut whole = vec![F::zero(); padded];
            kernel.stored(&tile, (0, 1), &packed, &mut whole, padded);
            let mut parts = vec![F::infinity(); padded];
            let strip = 3 * Packed::<F>::line();
            for (at, out) in parts.chunks_mut(strip).enumerate() {
                let slots = (strip * at, strip * at + out.len());
                kernel.stored_part(&tile, (0, 1), (&packed, slots), (out, strip));
            }
            assert!(whole[..b].iter().zip(&parts).all(|(a, b)| a == b), "{kernel:?} d={d}");
        }
    }
}

#[test]
fn a_row_in_parts_is_the_row() {
    parts_are_the_whole::<f32>();
    parts_are_the_whole::<f64>();
}

/// So many centres and features that several points meet them at once.
#[test]
fn a_row_among_others_is_the_row_alone() {
    let mut rng = Rng::new(3);
    let (n, d, b, outputs) = (37, 700, 200, 3);
    let x = Array2::from_shape_fn((n + b, d), |_| {
        if rng.below(5) == 0 { (10.0 * rng.uniform()) as f32 } else { 0.0 }
    });
    let mut packed = Packed::new(d).unwrap();
    x.rows().into_iter().skip(n).for_each(|row| packed.push(row.as_slice().unwrap()).unwrap());
    assert!(points_at_once(&packed) > POINTS);
    let coef: Vec<f64> = (0..outputs * packed.padded_len()).map(|j| (j as f64).sin()).collect();
    let mut sparse = Tile::new(d);
    sparse.fill_sparse(n, |i, columns, entries| {
        for (k, &v) in x.row(i).iter().enumerate().filter(|(_, v)| **v != 0.0) {
            columns.push(k as u32);
            entries.push(v);
        }
    });
    let mut dense = Tile::new(d);
    dense.fill_dense(n, |i, row| row.copy_from_slice(x.row(i).as_slice().unwrap()));
    // By norms, in parts, by differences.
    let limits = [norm_limit::<f32>(), part_norm_limit::<f32>(), 1e3];
    for gamma in limits.map(|limit| 0.9 * limit / packed.max_sq_norm()) {
        let kernel = AnyKernel::Gaussian { gamma };
        for tile in [&dense, &sparse] {
            let sums = |from: usize, last: usize| {
                let mut out = vec![0.0; (last - from) * outputs];
                let to = (&mut out[..], &mut Vec::new());
                kernel.sums(tile, (from, last), &packed, (&coef, outputs), to);
                out
            };
            let one_by_one: Vec<f64> = (0..n).flat_map(|i| sums(i, i + 1)).collect();
            assert_eq!(sums(0, n), one_by_one, "{gamma}");
        }
    }
}
