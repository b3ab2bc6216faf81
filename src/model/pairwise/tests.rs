//! Decision values against plain sums.

use ndarray::Array2;

use super::*;
use crate::rng::Rng;

#[test]
fn pairs_are_those_of_the_plain_sum() {
    let mut rng = Rng::new(8);
    let mut random = |n, d| Array2::from_shape_fn((n, d), |_| rng.uniform() - 0.5);
    let (support, coef, x) = (random(1500, 3), random(3, 1500), random(150, 3));
    let n_support = vec![1200, 0, 250, 50];
    let class = |s: usize| {
        if s < 1200 {
            0
        } else if s < 1450 {
            2
        } else {
            3
        }
    };
    let intercept = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
    for kernel in [
        AnyKernel::Gaussian { gamma: 0.7 },
        AnyKernel::Polynomial { gamma: 1.0, coef0: 1.0, degree: 3 },
    ] {
        let made = |rows| Support::Vectors(kernel, rows);
        let parts = || (n_support.clone(), coef.clone(), intercept.to_vec());
        let (each, dual, offsets) = parts();
        let model = PairwiseModel::new(made(Gathered::Dense(support.clone())), each, dual, offsets);
        let mut out = vec![0.0; 150 * 6];
        model.unwrap().decision(&Rows::Dense(x.view()), &mut out, &mut || Ok(())).unwrap();
        let (narrow, mut single) = (x.mapv(|v| v as f32), vec![0.0; 150 * 6]);
        let rows = Gathered::Dense(support.mapv(|v| v as f32));
        let (each, dual, offsets) = parts();
        let model = PairwiseModel::new(Support::Vectors(kernel, rows), each, dual, offsets);
        model.unwrap().decision(&Rows::Dense(narrow.view()), &mut single, &mut || Ok(())).unwrap();
        let outs = out.chunks(6).zip(single.chunks(6));
        for (row, (out, single)) in x.rows().into_iter().zip(outs) {
            let mut output = 0;
            for i in 0..4 {
                for j in i + 1..4 {
                    let mut sum = intercept[output];
                    let mut center = [0.0; 3];
                    for s in 0..1500 {
                        center.iter_mut().zip(support.row(s)).for_each(|(c, v)| *c = *v);
                        let value = kernel.eval(&row.to_vec(), &center);
                        if class(s) == i {
                            sum += coef[(j - 1, s)] * value;
                        } else if class(s) == j {
                            sum += coef[(i, s)] * value;
                        }
                    }
                    assert!((out[output] - sum).abs() < 1e-10 * (1.0 + sum.abs()));
                    // 1500 terms of at most 0.5, or 3 for the polynomial kernel.
                    let off = (single[output] - sum).abs();
                    assert!(off < 1e-4 * (1.0 + sum.abs()), "{off} {sum}");
                    output += 1;
                }
            }
        }
    }
}

#[test]
fn no_support_vector_leaves_the_offset() {
    let support = Support::Vectors(AnyKernel::Linear, Gathered::Dense(Array2::zeros((0, 2))));
    let model = PairwiseModel::new(support, vec![0], Array2::zeros((1, 0)), vec![1.5]).unwrap();
    let (x, mut out) = (Array2::<f64>::zeros((3, 2)), [0.0; 3]);
    model.decision(&Rows::Dense(x.view()), &mut out, &mut || Ok(())).unwrap();
    assert_eq!(out, [1.5; 3]);
    assert!(model.decision(&Rows::Dense(x.view()), &mut out[..2], &mut || Ok(())).is_err());
}

#[test]
fn columns_of_kernel_values_are_the_linear_machine_on_them() {
    let mut rng = Rng::new(5);
    let mut random = |n, d| Array2::from_shape_fn((n, d), |_| rng.uniform() - 0.5);
    let (x, coef) = (random(70, 40), random(2, 25));
    let columns: Vec<usize> = (0..25).map(|s| (s * 7) % 40).collect();
    let n_support = vec![10, 3, 12];
    let support = Support::Columns(columns.clone(), 40);
    let model =
        PairwiseModel::new(support, n_support.clone(), coef.clone(), vec![0.1, 0.2, 0.3]).unwrap();
    let unit = Array2::from_shape_fn((25, 40), |(s, j)| f64::from(u8::from(columns[s] == j)));
    let support = Support::Vectors(AnyKernel::Linear, Gathered::Dense(unit));
    let linear = PairwiseModel::new(support, n_support, coef, vec![0.1, 0.2, 0.3]).unwrap();
    let (mut a, mut b) = (vec![0.0; 210], vec![0.0; 210]);
    model.decision(&Rows::Dense(x.view()), &mut a, &mut || Ok(())).unwrap();
    linear.decision(&Rows::Dense(x.view()), &mut b, &mut || Ok(())).unwrap();
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-13));
    let support = Support::<f64>::Columns(vec![40], 40);
    assert!(PairwiseModel::new(support, vec![1], Array2::zeros((1, 1)), vec![0.0]).is_err());
}

/// Values of the pairs by their definition, row by row.
fn plain(
    kernel: AnyKernel,
    (support, n_support): (&Array2<f64>, &[usize]),
    (coef, intercept): (&Array2<f64>, &[f64]),
    x: &Array2<f64>,
) -> Vec<f64> {
    let k = n_support.len();
    let class_of: Vec<usize> =
        n_support.iter().enumerate().flat_map(|(c, &n)| vec![c; n]).collect();
    let mut out = Vec::new();
    for row in x.rows() {
        let values: Vec<f64> =
            support.rows().into_iter().map(|s| kernel.eval(&row.to_vec(), &s.to_vec())).collect();
        let mut sums = vec![0.0; intercept.len()];
        for (s, value) in values.iter().enumerate() {
            if k <= 2 {
                sums[0] += coef[(0, s)] * value;
                continue;
            }
            for other in (0..k).filter(|&other| other != class_of[s]) {
                let (i, j) = (class_of[s].min(other), class_of[s].max(other));
                let own = if other > class_of[s] { other - 1 } else { other };
                sums[i * (2 * k - i - 1) / 2 + j - i - 1] += coef[(own, s)] * value;
            }
        }
        out.extend(sums.iter().zip(intercept).map(|(sum, b)| sum + b));
    }
    out
}

#[test]
fn classes_of_few_support_vectors_are_the_plain_sum() {
    let mut rng = Rng::new(21);
    let mut random = |n, d| Array2::from_shape_fn((n, d), |_| rng.uniform() - 0.5);
    // Some classes have none, the first and the last among them, and one has many.
    let n_support: Vec<usize> = (0..40).map(|c| if c == 7 { 70 } else { c % 4 }).collect();
    let (k, terms) = (n_support.len(), n_support.iter().sum());
    let (support, coef, x) = (random(terms, 5), random(k - 1, terms), random(150, 5));
    let intercept: Vec<f64> = random(1, k * (k - 1) / 2).into_raw_vec_and_offset().0;
    let kernel = AnyKernel::Gaussian { gamma: 0.7 };
    let wanted = plain(kernel, (&support, &n_support), (&coef, &intercept), &x);
    let made = |support| {
        PairwiseModel::new(support, n_support.clone(), coef.clone(), intercept.clone()).unwrap()
    };
    let model = made(Support::Vectors(kernel, Gathered::Dense(support.clone())));
    let decide = |model: &PairwiseModel<f64>, x: &Array2<f64>| {
        let mut out = vec![0.0; x.nrows() * intercept.len()];
        model.decision(&Rows::from(x), &mut out, &mut || Ok(())).unwrap();
        out
    };
    let found = decide(&model, &x);
    assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-12));
    // The same bits for any cut of the rows.
    let some = x.slice(ndarray::s![40..43, ..]).to_owned();
    assert_eq!(decide(&model, &some), found[40 * intercept.len()..43 * intercept.len()]);
    // Kernel values in the place of rows.
    let columns: Vec<usize> = (0..terms).map(|s| (s * 3) % terms).collect();
    let values = Array2::from_shape_fn((150, terms), |(i, c)| {
        let s = columns.iter().position(|&column| column == c).unwrap();
        kernel.eval(&x.row(i).to_vec(), &support.row(s).to_vec())
    });
    let given = made(Support::Columns(columns, terms));
    let found = decide(&given, &values);
    assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-12));
}

/// Support vectors with few entries in many columns; rows have columns that none of them has.
#[test]
fn wide_sparse_support_vectors_are_the_plain_sum() {
    const WIDE: usize = 3_000_000;
    let narrow = |column: usize| column * 29;
    let mut rng = Rng::new(4);
    let kernels = [
        AnyKernel::Gaussian { gamma: 0.2 },
        AnyKernel::Laplacian { gamma: 0.2 },
        AnyKernel::Matern32 { gamma: 0.2 },
        AnyKernel::Polynomial { gamma: 0.3, coef0: 1.0, degree: 3 },
        AnyKernel::Linear,
    ];
    for (kernel, k) in kernels.into_iter().flat_map(|kernel| [(kernel, 2), (kernel, 4)]) {
        let mut random = |n, d| Array2::from_shape_fn((n, d), |_| rng.uniform() - 0.5);
        let n_support = vec![6; k];
        let (support, x) = (random(6 * k, 8), random(30, 12));
        let (coef, outputs) = (random(k - 1, 6 * k), if k == 2 { 1 } else { 6 });
        let intercept: Vec<f64> = random(1, outputs).into_raw_vec_and_offset().0;
        let mut whole = Array2::zeros((6 * k, 12));
        whole.slice_mut(ndarray::s![.., ..8]).assign(&support);
        let wanted = plain(kernel, (&whole, &n_support), (&coef, &intercept), &x);
        let spread = |rows: &Array2<f64>| Gathered::Csr {
            values: rows.iter().copied().collect(),
            columns: rows.indexed_iter().map(|((_, j), _)| narrow(j) as i64).collect(),
            starts: (0..=rows.nrows()).map(|i| (i * rows.ncols()) as i64).collect(),
            n_cols: WIDE,
        };
        let support = Support::Vectors(kernel, spread(&support));
        let model = PairwiseModel::new(support, n_support, coef, intercept).unwrap();
        assert!(model.by_feature().unwrap().is_some());
        let (rows, mut out) = (spread(&x), vec![0.0; 30 * outputs]);
        model.decision(&rows.rows().unwrap(), &mut out, &mut || Ok(())).unwrap();
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12 * (1.0 + b.abs());
        assert!(out.iter().zip(&wanted).all(near), "{kernel:?} {k}");
        // One row of them, whatever the others are.
        let mut one = vec![0.0; outputs];
        let rows = rows.rows().unwrap();
        model.decision(&rows.range(7, 8), &mut one, &mut || Ok(())).unwrap();
        assert_eq!(one, out[7 * outputs..8 * outputs]);
    }
}
