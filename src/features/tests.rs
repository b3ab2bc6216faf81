//! The maps against their definitions, plainly.

use std::ops::ControlFlow;

use ndarray::Array2;

use super::*;
use crate::data::{Csr, Indices};
use crate::error::Error;
use crate::kernel::AnyKernel;
use crate::parallel::Pool;
use crate::rng::Rng;
use crate::watch::{Cancel, Progress};

fn cloud(n: usize, d: usize, seed: u64) -> Array2<f64> {
    let mut rng = Rng::new(seed);
    Array2::from_shape_fn((n, d), |_| if rng.below(3) == 0 { 0.0 } else { rng.normal() })
}

fn single(x: &Array2<f64>) -> Array2<f32> {
    x.mapv(|v| v as f32)
}

fn plain(kernel: AnyKernel, x: &Array2<f64>, i: usize, j: usize) -> f64 {
    kernel.eval(&x.row(i).to_vec(), &x.row(j).to_vec())
}

fn mapped<F: Real>(map: &FeatureMap<F>, rows: &Rows<'_, F>, width: usize) -> Vec<F> {
    let mut out = vec![F::one(); rows.n_rows() * width];
    map.transform(rows, (&mut out, width), &mut Watch::of_tests()).unwrap();
    out
}

fn products<F: Real>(z: &[F], width: usize, i: usize, j: usize) -> f64 {
    (0..width).map(|k| z[i * width + k].to_f64() * z[j * width + k].to_f64()).sum()
}

const KERNELS: [AnyKernel; 4] = [
    AnyKernel::Gaussian { gamma: 0.3 },
    AnyKernel::Laplacian { gamma: 0.2 },
    AnyKernel::Polynomial { gamma: 0.5, coef0: 1.0, degree: 3 },
    AnyKernel::Linear,
];

/// With every row a landmark the map is exact, and what its rank leaves out is 0.
#[test]
fn nystroem_on_all_rows_reproduces_the_kernel() {
    let x = cloud(70, 6, 1);
    for kernel in KERNELS {
        let config =
            Nystroem { kernel, n_components: 90, n_landmarks: None, threshold: None, seed: 3 };
        let map = FeatureMap::Landmarks(
            config.fit(&Rows::Dense(x.view()), &mut Watch::of_tests()).unwrap().0,
        );
        assert!(map.n_outputs() <= 70);
        if kernel == AnyKernel::Linear {
            assert_eq!(map.n_outputs(), 6, "the rank of the linear kernel");
        }
        let z = mapped(&map, &Rows::Dense(x.view()), 90);
        let single = single(&x);
        let map = config.fit(&Rows::Dense(single.view()), &mut Watch::of_tests()).unwrap().0;
        let map = FeatureMap::Landmarks(map);
        let zs = mapped(&map, &Rows::Dense(single.view()), 90);
        for i in 0..70 {
            assert!(z[i * 90 + 70..(i + 1) * 90].iter().all(|v| *v == 0.0));
            for j in 0..70 {
                let k = plain(kernel, &x, i, j);
                let scale = (plain(kernel, &x, i, i) * plain(kernel, &x, j, j)).sqrt().max(1e-12);
                assert!((products(&z, 90, i, j) - k).abs() <= 1e-9 * scale, "{kernel:?}");
                assert!((products(&zs, 90, i, j) - k).abs() <= 2e-3 * scale, "{kernel:?}");
            }
        }
    }
}

/// Fewer landmarks: `Z Zᵀ = K_·S K_SS⁻¹ K_S·`, checked through its Schur complement: on the
/// landmarks themselves the kernel is exact, elsewhere never more than k(x, x).
#[test]
fn nystroem_is_exact_on_its_landmarks() {
    let x = cloud(60, 5, 2);
    let kernel = AnyKernel::Gaussian { gamma: 0.4 };
    let all: Vec<usize> = (0..60).collect();
    let chosen = draw_landmarks(&all, 20, &mut Rng::new(9)).unwrap();
    assert!(chosen.windows(2).all(|w| w[0] < w[1]) && chosen.len() == 20);
    let config =
        Nystroem { kernel, n_components: 20, n_landmarks: None, threshold: Some(0.0), seed: 9 };
    let rows = Rows::Dense(x.view());
    let (map, landmarks) = config.fit(&rows, &mut Watch::of_tests()).unwrap();
    assert_eq!(landmarks, chosen);
    let z = mapped(&FeatureMap::Landmarks(map), &rows, 20);
    for i in 0..60 {
        assert!(products(&z, 20, i, i) <= 1.0 + 1e-9);
        for &j in &chosen {
            assert!((products(&z, 20, i, j) - plain(kernel, &x, i, j)).abs() < 1e-9);
        }
    }
}

#[test]
fn more_landmarks_than_components_keep_the_largest_eigenvalues() {
    let x = cloud(80, 4, 4);
    let kernel = AnyKernel::Gaussian { gamma: 0.2 };
    let config =
        Nystroem { kernel, n_components: 8, n_landmarks: Some(80), threshold: None, seed: 1 };
    let rows = Rows::Dense(x.view());
    let map = config.fit(&rows, &mut Watch::of_tests()).unwrap().0;
    assert_eq!((map.n_landmarks(), map.n_outputs()), (80, 8));
    let z = mapped(&FeatureMap::Landmarks(map), &rows, 8);
    // The features are orthogonal, with squared norms the eigenvalues, falling.
    let gram = |a: usize, b: usize| (0..80).map(|i| z[i * 8 + a] * z[i * 8 + b]).sum::<f64>();
    for a in 0..8 {
        assert!(a == 0 || gram(a, a) <= gram(a - 1, a - 1));
        for b in 0..a {
            assert!(gram(a, b).abs() < 1e-8);
        }
    }
}

#[test]
fn sparse_rows_and_any_cut_give_the_same_features() {
    let x = single(&cloud(150, 9, 5));
    let (mut values, mut columns, mut starts) = (vec![], vec![], vec![0i32]);
    for row in x.rows() {
        for (k, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            values.push(v);
            columns.push(k as i32);
        }
        starts.push(values.len() as i32);
    }
    let csr =
        Rows::Csr(Csr::new(&values, Indices::I32(&columns), Indices::I32(&starts), 9).unwrap());
    let dense = Rows::Dense(x.view());
    let kernel = AnyKernel::Gaussian { gamma: 0.1 };
    let maps = [
        FitFeatureMap::Nystroem(Nystroem {
            kernel,
            n_components: 21,
            n_landmarks: None,
            threshold: None,
            seed: 0,
        }),
        FitFeatureMap::Fourier(Fourier {
            kernel,
            n_components: 21,
            orthogonal: true,
            waves: Waves::Shifted,
            seed: 0,
        }),
    ];
    for config in maps {
        let map = config.fit(&dense, &mut Watch::of_tests()).unwrap();
        let whole = mapped(&map, &dense, 24);
        let part = mapped(&map, &dense.range(70, 150), 24);
        assert_eq!(whole[70 * 24..], part[..], "{config:?}");
        for (a, b) in whole.iter().zip(mapped(&map, &csr, 24)) {
            assert!((a - b).abs() < 2e-4, "{config:?}");
        }
    }
}

/// The mean over many waves is the kernel; paired waves have norm 1; orthogonal ones are.
#[test]
fn fourier_features_estimate_the_kernel() {
    let x = cloud(12, 8, 7);
    let rows = Rows::Dense(x.view());
    let many = 40_000;
    for (kernel, orthogonal) in [
        (AnyKernel::Gaussian { gamma: 0.05 }, false),
        (AnyKernel::Gaussian { gamma: 0.05 }, true),
        (AnyKernel::Laplacian { gamma: 0.05 }, false),
        (AnyKernel::Matern32 { gamma: 0.05 }, false),
        (AnyKernel::Matern52 { gamma: 0.05 }, false),
        (AnyKernel::Matern52 { gamma: 0.05 }, true),
    ] {
        for waves in [Waves::Shifted, Waves::Paired] {
            // An odd number: the last of the paired waves is a shifted one.
            let many = if orthogonal { many + 1 } else { many };
            let config = Fourier { kernel, n_components: many, orthogonal, waves, seed: 5 };
            let map = FeatureMap::Fourier(config.fit::<f64>(8, &mut Watch::of_tests()).unwrap());
            let z = mapped(&map, &rows, many);
            for i in 0..12 {
                for j in 0..12 {
                    let error = products(&z, many, i, j) - plain(kernel, &x, i, j);
                    // Five deviations of a mean of 20,000 cosines.
                    assert!(error.abs() < 5.0 / (many as f64 / 2.0).sqrt(), "{kernel:?}: {error}");
                }
                if waves == Waves::Paired && !orthogonal {
                    assert!((products(&z, many, i, i) - 1.0).abs() < 1e-12);
                }
            }
        }
    }
}

#[test]
fn orthogonal_frequencies_are_and_have_the_right_lengths() {
    let config = Fourier {
        kernel: AnyKernel::Gaussian { gamma: 0.5 },
        n_components: 3000,
        orthogonal: true,
        waves: Waves::Shifted,
        seed: 2,
    };
    let nu = config.fit::<f64>(6, &mut Watch::of_tests()).unwrap().frequencies().unwrap();
    let dot = |a: usize, b: usize| -> f64 { (0..6).map(|k| nu[a * 6 + k] * nu[b * 6 + k]).sum() };
    for group in (0..3000).step_by(6) {
        for a in group..group + 6 {
            for b in group..a {
                assert!(dot(a, b).abs() < 1e-12 * dot(a, a).max(dot(b, b)));
            }
        }
    }
    // E‖ν‖² = 2γ d; a chi-squared of 6 degrees has variance 12.
    let mean = (0..3000).map(|a| dot(a, a)).sum::<f64>() / 3000.0;
    assert!((mean - 6.0).abs() < 5.0 * (12.0f64 / 3000.0).sqrt(), "{mean}");
}

/// The factor against a plain one on the full matrix: the same pivots, `K - LLᵀ` within the bound.
#[test]
fn incomplete_cholesky_walks_as_the_plain_factor() {
    let x = cloud(130, 3, 8);
    for kernel in [AnyKernel::Gaussian { gamma: 0.2 }, AnyKernel::Laplacian { gamma: 0.1 }] {
        let config = IncompleteCholesky { kernel, n_components: 25, tolerance: 1e-6 };
        let rows = Rows::Dense(x.view());
        let (map, pivots) = config.fit(&rows, &mut Watch::of_tests()).unwrap();
        let k: Vec<f64> = (0..130 * 130).map(|at| plain(kernel, &x, at / 130, at % 130)).collect();
        let full = crate::linalg::pivoted_cholesky::<Error>(&k, 130, 1e-6, || Ok(())).unwrap();
        let rank = pivots.index.len();
        assert_eq!(pivots.index[..], full.pivots[..rank]);
        let z = mapped(&FeatureMap::Landmarks(map), &rows, rank);
        let mut trace = 0.0;
        for i in 0..130 {
            for j in 0..130 {
                let error = k[i * 130 + j] - products(&z, rank, i, j);
                assert!(error.abs() <= pivots.residual + 1e-9, "{error}");
                trace += if i == j { error } else { 0.0 };
            }
            for c in 0..rank {
                let expected = full.row(i)[c];
                assert!((z[i * rank + c] - expected).abs() < 1e-7);
            }
        }
        assert!((trace - pivots.trace).abs() < 1e-8);
    }
}

#[test]
fn incomplete_cholesky_ends_at_the_rank() {
    let x = cloud(50, 4, 3);
    let config =
        IncompleteCholesky { kernel: AnyKernel::Linear, n_components: 30, tolerance: 1e-9 };
    let (map, pivots) = config.fit(&Rows::Dense(x.view()), &mut Watch::of_tests()).unwrap();
    assert_eq!((map.n_outputs(), pivots.index.len()), (4, 4));
}

#[test]
fn bad_parameters_are_named() {
    let x = cloud(5, 2, 0);
    let rows = Rows::Dense(x.view());
    let kernel = AnyKernel::Gaussian { gamma: 1.0 };
    let told =
        |config: FitFeatureMap| config.fit(&rows, &mut Watch::of_tests()).unwrap_err().to_string();
    let nystroem =
        Nystroem { kernel, n_components: 3, n_landmarks: None, threshold: None, seed: 0 };
    let fourier =
        Fourier { kernel, n_components: 4, orthogonal: false, waves: Waves::Paired, seed: 0 };
    for (config, text) in [
        (FitFeatureMap::Nystroem(Nystroem { n_components: 0, ..nystroem }), "n_components"),
        (FitFeatureMap::Nystroem(Nystroem { n_landmarks: Some(2), ..nystroem }), "n_landmarks"),
        (
            FitFeatureMap::Nystroem(Nystroem { threshold: Some(1.0), ..nystroem }),
            "eigenvalue_threshold",
        ),
        (FitFeatureMap::Fourier(Fourier { n_components: 0, ..fourier }), "n_components"),
        (FitFeatureMap::Fourier(Fourier { kernel: AnyKernel::Linear, ..fourier }), "kernel"),
    ] {
        assert!(told(config).contains(text));
    }
    let mut stop = |_: &Progress| ControlFlow::Break(Cancel::Discard);
    let ended = nystroem.fit(&rows, &mut Watch::new(&mut stop, Pool::of_tests()));
    assert!(matches!(ended, Err(Error::Interrupted)));
}

#[test]
fn sizes_whose_product_no_number_holds_are_refused() {
    // Twice as many are 4 where it wraps around.
    let many = 2 + (1 << (usize::BITS - 1));
    let made = LandmarkMap::new(AnyKernel::Linear, (&[1.0; 4], 2), &[1.0; 4], many);
    assert!(matches!(made, Err(Error::LengthMismatch { what: "weights", .. })));
}

/// As few directions as the bound allows, by the rows' own products; and none where it allows none.
#[test]
fn leading_directions_are_as_few_as_keep_the_kernel() {
    let (d, mut rng) = (30, Rng::new(4));
    // Independent columns of falling length, so that each is a direction.
    let x = Array2::from_shape_fn((600, d), |(_, j)| rng.normal() * 0.7f64.powi(j as i32));
    let (rows, among) = (Rows::Dense(x.view()), (0..600).collect::<Vec<_>>());
    let lost = |z: &[f64], p: usize| {
        let mut lost = 0.0;
        for i in 0..300 {
            let (a, b) = (i, i + 300);
            let whole: f64 = (0..d).map(|j| (x[[a, j]] - x[[b, j]]).powi(2)).sum();
            let kept: f64 = (0..p).map(|j| (z[a * p + j] - z[b * p + j]).powi(2)).sum();
            assert!(kept <= whole + 1e-9, "directions are orthogonal and of length 1");
            lost += (whole - kept) / 300.0;
        }
        lost
    };
    for gamma in [0.5, 2.0, 5.0] {
        let mut watch = Watch::of_tests();
        let wanted = Directions::Enough(gamma, d);
        let map = leading_directions(&rows, &among, wanted, (1, &mut watch)).unwrap().unwrap();
        let p = map.n_outputs();
        let kept = gamma * lost(&mapped(&map, &rows, p), p);
        let fewer = Directions::Given(p - 1);
        let map = leading_directions(&rows, &among, fewer, (1, &mut watch)).unwrap().unwrap();
        let without = gamma * lost(&mapped(&map, &rows, p - 1), p - 1);
        assert!(kept < 0.18 && without > 0.12, "{gamma}: {p} directions, {kept} {without}");
    }
    let wanted = Directions::Enough(5.0, 4);
    let none = leading_directions(&rows, &among, wanted, (1, &mut Watch::of_tests())).unwrap();
    assert!(none.is_none(), "four directions are not enough for a narrow kernel");
    let zeros = Array2::<f32>::zeros((20, 4));
    let (rows, among) = (Rows::Dense(zeros.view()), [0, 3, 9]);
    let wanted = Directions::Given(2);
    assert!(
        leading_directions(&rows, &among, wanted, (1, &mut Watch::of_tests())).unwrap().is_none()
    );
}
