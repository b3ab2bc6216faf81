//! Streams of any hyperparameters and rows, a file between their parts.
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
    true => life::stream::<f32>(&case.input),
    false => life::stream::<f64>(&case.input),
});
