//! Any hyperparameters of any estimator, on any rows: refused, or a machine that predicts.
#![no_main]

mod life;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Case {
    single: bool,
    input: life::Input,
}

fuzz_target!(|case: Case| match case.single {
    true => life::fit::<f32>(&case.input),
    false => life::fit::<f64>(&case.input),
});
