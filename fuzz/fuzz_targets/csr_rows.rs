//! Any arrays as CSR rows: refused, or rows that are read within their arrays.
#![no_main]

use arbitrary::Arbitrary;
use budgetsvm::data::{Csr, Gathered, Rows};
use budgetsvm::kernel::AnyKernel;
use budgetsvm::model::{KernelModel, Model};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    values: Vec<f32>,
    columns: Vec<i32>,
    starts: Vec<i64>,
    n_cols: u16,
    wide: bool,
}

fuzz_target!(|input: Input| {
    let Input { mut values, mut columns, mut starts, n_cols, wide } = input;
    values.truncate(64);
    columns.truncate(64);
    starts.truncate(32);
    let n_cols = if wide { usize::from(n_cols) << 40 } else { usize::from(n_cols % 64) };
    let Ok(rows) = Csr::new(&values, columns.as_slice(), starts.as_slice(), n_cols) else { return };
    let rows = Rows::from(rows);
    let n = rows.n_rows();
    if rows.n_cols() < 1 << 16 {
        let mut row = vec![0.0; rows.n_cols()];
        (0..n).for_each(|i| rows.copy_row(i, &mut row));
    }
    let kept = Gathered::Csr {
        values: values.clone(),
        columns: columns.iter().map(|&column| i64::from(column)).collect(),
        starts: starts.clone(),
        n_cols,
    };
    let coef = vec![0.5; n];
    for kernel in [AnyKernel::Gaussian { gamma: 0.1 }, AnyKernel::Linear] {
        let model = KernelModel::of_rows(kernel, Vec::new(), kept.clone(), &coef, vec![0.0]);
        let Ok(model) = model else { continue };
        let model = Model::Expansion(model.into());
        if let Ok(values) = model.decision(&rows, 1) {
            assert!(values.iter().all(|v| v.is_finite()));
        }
    }
});
