//! Text as rows, and as a model of LIBSVM's: refused, or what is written again the same.
#![no_main]

use budgetsvm::data::Rows;
use budgetsvm::data::svmlight::{Origin, Reader, Table, dense, write_rows};
use budgetsvm::model::libsvm::LibsvmModel;
use libfuzzer_sys::fuzz_target;

fn rows(text: &[u8]) {
    let read = |text: &[u8], origin| {
        Table::<f64>::read(Reader::new(text), origin, None, &mut || Ok(()))
    };
    for origin in [Origin::Found, Origin::Zero, Origin::One] {
        let Ok(table) = read(text, origin) else { continue };
        assert!(table.labels.iter().chain(&table.values).all(|v| v.is_finite()));
        if table.n_cols == 0 || table.n_cols > 1 << 12 {
            continue;
        }
        let Ok(values) = dense(&table) else { continue };
        let Ok(whole) = Rows::of_slice(&values, table.n_cols) else { continue };
        let Ok(again) = write_rows(&whole, (&table.labels, 1), 0, &mut || Ok(())) else { continue };
        let again = read(again.concat().as_bytes(), Origin::Zero).expect("what was written");
        assert_eq!(again.labels, table.labels);
    }
}

fn model(text: &[u8]) {
    let Ok(model) = LibsvmModel::read(text, None, &mut || Ok(())) else { return };
    if let Ok(text) = model.write() {
        let again = LibsvmModel::read(text.concat().as_bytes(), None, &mut || Ok(()));
        let again = again.expect("what was written");
        assert_eq!((again.rho, again.coef), (model.rho.clone(), model.coef.clone()));
    }
    let width = model.rows.rows().map_or(usize::MAX, |rows| rows.n_cols());
    if width > 1 << 12 {
        return;
    }
    let Ok((machine, ..)) = model.into_model() else { return };
    let row = vec![0.5; width];
    let mut out = vec![0.0; machine.n_outputs()];
    if let Ok(rows) = Rows::of_one(&row) {
        let _ = machine.decision(&rows, &mut out, &mut || Ok(()));
    }
}

fuzz_target!(|data: &[u8]| {
    rows(data);
    model(data);
});
