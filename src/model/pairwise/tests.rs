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
