//! A file of an estimator: refused, or a machine that predicts and is written again.
#![no_main]

mod summed;

use budgetsvm::data::Rows;
use budgetsvm::estimator::{AnyMachine, Machine, Precision};
use budgetsvm::model::persist::Archive;
use libfuzzer_sys::fuzz_target;
use ndarray::Array2;

use summed::summed;

fn use_it<F: Precision>(machine: &Machine<F>) {
    let d = machine.n_features();
    if d > 1 << 12 || machine.n_outputs() > 1 << 10 {
        return;
    }
    for value in [0.0, 1.0, -1e6] {
        let rows = Array2::from_elem((3, d), F::from_f64(value));
        if let Ok(values) = machine.decide(&Rows::from(&rows), 1) {
            assert!(values.iter().all(|v| v.is_finite()));
        }
    }
    let section = machine.to_section().expect("what was read is written");
    let any = AnyMachine::from_section(section).expect("what was written is read");
    let again = F::of_any(&any).expect("the same precision");
    let rows = Array2::from_elem((2, d), F::from_f64(0.5));
    let both = [machine.decide(&Rows::from(&rows), 1), again.decide(&Rows::from(&rows), 1)];
    if let [Ok(one), Ok(other)] = both {
        assert_eq!(one, other);
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(archive) = Archive::from_bytes(&summed(data)) else { return };
    let Some(machine) = archive.machine else { return };
    match AnyMachine::from_section(machine) {
        Ok(AnyMachine::F32(machine)) => use_it(&machine),
        Ok(AnyMachine::F64(machine)) => use_it(&machine),
        Err(_) => {}
    }
});
