//! Gradients of every kind of model against central differences of its decision values.

use std::sync::Arc;

use ndarray::Array2;

use crate::data::{Csr, Gathered, Indices, Rows, Scales};
use crate::error::Error;
use crate::features::{FeatureMap, FourierMap, LandmarkMap};
use crate::kernel::AnyKernel;
use crate::model::{
    CellMachine, CellModel, CellPairs, CodedModel, Coding, FeatureModel, KernelModel, LinearModel,
    Model, PairwiseModel, Scaling, Support,
};
use crate::rng::Rng;

const D: usize = 3;
const RBF: AnyKernel = AnyKernel::Gaussian { gamma: 0.7 };

fn table(rng: &mut Rng, n: usize, d: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, d), |_| rng.uniform() - 0.5)
}

fn values(rng: &mut Rng, n: usize) -> Vec<f64> {
    (0..n).map(|_| rng.uniform() - 0.5).collect()
}

fn expansion(rng: &mut Rng, kernel: AnyKernel, d: usize, outputs: usize) -> KernelModel<f64> {
    let (points, coef) = (values(rng, 20 * d), values(rng, 20 * outputs));
    let origin = if kernel.is_translation_invariant() { vec![0.1; d] } else { Vec::new() };
    let offsets = vec![0.3; outputs];
    KernelModel::from_parts(kernel, origin, (points, d), &coef, offsets).unwrap()
}

fn pairwise(
    rng: &mut Rng,
    n_support: Vec<usize>,
    rows: Option<Gathered<f64>>,
) -> PairwiseModel<f64> {
    let terms = n_support.iter().sum();
    let rows = rows.unwrap_or_else(|| Gathered::Dense(table(rng, terms, D)));
    let k = n_support.len();
    let coef = table(rng, k - 1, terms);
    let outputs = if k == 2 { 1 } else { k * (k - 1) / 2 };
    PairwiseModel::new(Support::Vectors(RBF, rows), n_support, coef, vec![0.2; outputs]).unwrap()
}

/// Differences of decision values; where two of them are far apart a boundary lies between the rows.
fn check(name: &str, model: &Model<f64>, x: &Array2<f64>) {
    let rows = Rows::Dense(x.view());
    let got = model.gradient(&rows, 1).unwrap();
    let (n, outputs, d) = got.dim();
    assert_eq!((n, outputs, d), (x.nrows(), model.n_outputs(), x.ncols()), "{name}");
    assert!(got.iter().any(|v| *v != 0.0), "{name}");
    for k in 0..d {
        let moved = |by: f64| {
            let mut x = x.clone();
            x.column_mut(k).iter_mut().for_each(|v| *v += by);
            model.decision(&Rows::Dense(x.view()), 1).unwrap()
        };
        let h = 1e-6;
        let (up, down) = (moved(h), moved(-h));
        for i in 0..n {
            for c in 0..outputs {
                let (wanted, got) = ((up[(i, c)] - down[(i, c)]) / (2.0 * h), got[(i, c, k)]);
                assert!(
                    (got - wanted).abs() < 1e-6 * (1.0 + wanted.abs()),
                    "{name} {i} {c} {k}: {got} {wanted}"
                );
            }
        }
    }
    assert_eq!(got, model.gradient(&rows, 3).unwrap(), "{name}");
    let columns: Vec<i32> = (0..n).flat_map(|_| 0..d as i32).collect();
    let starts: Vec<i32> = (0..=n as i32).map(|i| i * d as i32).collect();
    let all: Vec<f64> = x.iter().copied().collect();
    let csr = Csr::new(&all, Indices::I32(&columns), Indices::I32(&starts), d).unwrap();
    let of_sparse = model.gradient(&Rows::Csr(csr), 1).unwrap();
    let off = (&got - &of_sparse).mapv(f64::abs).fold(0.0, |a: f64, b| a.max(*b));
    assert!(off < 1e-9, "{name} {off}");
}

#[test]
fn gradients_of_every_model_are_those_of_differences() {
    let rng = &mut Rng::new(11);
    let x = table(rng, 70, D);
    let kernels = [
        RBF,
        AnyKernel::Matern32 { gamma: 0.7 },
        AnyKernel::Matern52 { gamma: 0.7 },
        AnyKernel::Laplacian { gamma: 0.7 },
        AnyKernel::Polynomial { gamma: 0.5, coef0: 1.0, degree: 3 },
        AnyKernel::Sigmoid { gamma: 0.5, coef0: 0.1 },
        AnyKernel::Linear,
    ];
    for kernel in kernels {
        let model = Model::Expansion(Arc::new(expansion(rng, kernel, D, 2)));
        check(&format!("{kernel:?}"), &model, &x);
    }
    let each = (0..3).map(|_| expansion(rng, RBF, D, 1)).collect();
    check("each", &Model::of_expansions(each), &x);
    let scales = Scales::new(vec![2.0, 0.0, 0.5]).unwrap();
    let scaling = Arc::new(Scaling::new(scales, None).unwrap());
    let model = Model::Expansion(Arc::new(expansion(rng, RBF, D, 2)));
    check("scaled", &model.scaled(scaling).unwrap(), &x);
    for n_support in [vec![9, 30], vec![15, 0, 20, 7]] {
        let model = Model::Pairwise(Arc::new(pairwise(rng, n_support, None)));
        check("pairwise", &model, &x);
    }
    let coef = values(rng, 2 * D);
    check("linear", &Model::Linear(Arc::new(LinearModel::new(coef, vec![0.1, 0.2]).unwrap())), &x);
}

#[test]
fn gradients_of_features_are_those_of_differences() {
    let rng = &mut Rng::new(12);
    let x = table(rng, 70, D);
    let (points, weights, coef) = (values(rng, 8 * D), values(rng, 8 * 5), values(rng, 2 * 5));
    let map = LandmarkMap::new(RBF, (&points, D), &weights, 5).unwrap();
    let made = FeatureModel::new((FeatureMap::Landmarks(map), RBF), coef, vec![0.1, 0.2], true);
    check("landmarks", &Model::Features(Arc::new(made.unwrap())), &x);
    for phases in [0, 1, 6] {
        let (frequencies, phases) = (values(rng, 6 * D), values(rng, phases));
        let map = FourierMap::new((&frequencies, D), &phases).unwrap();
        let coef = values(rng, 2 * map.n_outputs());
        let made = FeatureModel::new((FeatureMap::Fourier(map), RBF), coef, vec![0.1, 0.2], true);
        check("waves", &Model::Features(Arc::new(made.unwrap())), &x);
    }
}

#[test]
fn gradients_of_cells_and_codings_are_those_of_differences() {
    let rng = &mut Rng::new(13);
    let (x, wide) = (table(rng, 70, D), table(rng, 70, 2 * D));
    let centers = values(rng, 4 * D);
    let mut cells: Vec<CellMachine<f64>> =
        (0..2).map(|_| expansion(rng, RBF, D, 3).into()).collect();
    for (n_support, classes) in [(vec![5, 6, 9], vec![0, 1, 2]), (vec![4, 6], vec![0, 2])] {
        let pairs = CellPairs::new(pairwise(rng, n_support, None), classes).unwrap();
        cells.push(CellMachine::Pairs(Box::new(pairs)));
    }
    let model = CellModel::new((&centers, D), cells, 3).unwrap();
    check("cells", &Model::Cells(Arc::new(model.clone())), &x);
    let axes = values(rng, D * 2 * D);
    let identity: Vec<f64> = (0..D * D).map(|at| f64::from(at % (D + 1) == 0)).collect();
    let map = LandmarkMap::new(AnyKernel::Linear, (&axes, 2 * D), &identity, D).unwrap();
    let model = model.behind(FeatureMap::Landmarks(map)).unwrap();
    check("cells behind directions", &Model::Cells(Arc::new(model)), &wide);

    let (seen, index) = (table(rng, 300, D), (0..300).collect::<Vec<_>>());
    let rows = Rows::Dense(seen.view());
    let parts = [Coding::standard::<f64, Error>, Coding::ranks::<f64, Error>].map(|make| {
        let coding = make(&rows, &index, &[1.0; 300], &mut || Ok(())).unwrap();
        let scaled = coding.with_scales(vec![0.5, 0.0, 2.0]).unwrap();
        (scaled, expansion(rng, RBF, D, 2))
    });
    check("coded", &Model::Coded(Arc::new(CodedModel::new(parts.into()).unwrap())), &x);
}

#[test]
fn rows_of_kernel_values_have_no_gradient() {
    let support = Support::Columns(vec![0, 2], 4);
    let coef = Array2::from_elem((1, 2), 0.5);
    let model = PairwiseModel::new(support, vec![1, 1], coef, vec![0.0]).unwrap();
    let x = Array2::<f64>::zeros((2, 4));
    let error = Model::Pairwise(Arc::new(model)).gradient(&Rows::Dense(x.view()), 1).unwrap_err();
    assert!(error.to_string().contains("kernel values"), "{error}");
}

/// Sparse terms so wide that they are packed some at a time.
#[test]
fn gradients_of_wide_sparse_terms_are_those_of_dense_ones() {
    let (terms, d) = (180, 100_000);
    let values: Vec<f64> = (0..terms).map(|i| f64::from(i % 7) - 3.0).collect();
    let columns: Vec<i32> = (0..terms).map(|i| (i * 37) % 50).collect();
    let starts: Vec<i32> = (0..=terms).collect();
    let rows =
        |d| Rows::Csr(Csr::new(&values, Indices::I32(&columns), Indices::I32(&starts), d).unwrap());
    let index: Vec<usize> = (0..terms as usize).collect();
    let model = |d| {
        let support = Gathered::new(&rows(d), &index).unwrap();
        Model::Pairwise(Arc::new(pairwise(&mut Rng::new(5), vec![80, 100], Some(support))))
    };
    let some = |d| rows(d).range(0, 5);
    let (narrow, wide) = (model(50), model(d));
    let few = narrow.gradient(&some(50), 1).unwrap();
    let many = wide.gradient(&some(d), 1).unwrap();
    for (at, value) in few.indexed_iter() {
        assert!((many[at] - value).abs() < 1e-12, "{at:?}");
    }
}
