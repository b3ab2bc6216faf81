//! A model file: refused, or a model that predicts. What a crate without solvers reads.
#![no_main]

mod summed;

use budgetsvm::data::Rows;
use budgetsvm::float::Real;
use budgetsvm::model::persist::Archive;
use budgetsvm::model::{AnyModel, Model};
use libfuzzer_sys::fuzz_target;
use ndarray::Array2;

use summed::summed;

fn use_it<F: Real>(model: &Model<F>) {
    let d = model.n_features();
    if d > 1 << 12 || model.n_outputs() > 1 << 10 {
        return;
    }
    for value in [0.0, 1.0, -1e6] {
        let rows = Array2::from_elem((3, d), F::from_f64(value));
        if let Ok(values) = model.decision(&Rows::Dense(rows.view()), 1) {
            assert!(values.iter().all(|v| v.is_finite()));
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(archive) = Archive::from_bytes(&summed(data)) else { return };
    match AnyModel::of_archive(archive) {
        Ok(AnyModel::F32(model)) => use_it(&model),
        Ok(AnyModel::F64(model)) => use_it(&model),
        Err(_) => {}
    }
});
