//! A stream cut into any parts, saved and loaded on the way: the same model as in one part.
#![no_main]

use arbitrary::Arbitrary;
use budgetsvm::data::Rows;
use budgetsvm::estimator::{OnlineSvc, OnlineSvcModel, Saved};
use budgetsvm::online::{
    AnyLearner, BudgetOgd, Forgetron, FourierOgd, KernelPerceptron, NystroemOgd, Projectron,
    RandomizedBudgetPerceptron, Stoptron,
};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    learner: u8,
    budget: u8,
    rows: Vec<(i16, i16, u8)>,
    cuts: Vec<u8>,
    save: bool,
}

fn learner(kind: u8, budget: usize) -> AnyLearner {
    match kind % 8 {
        0 => AnyLearner::KernelPerceptron(KernelPerceptron {}),
        1 => AnyLearner::RandomizedBudgetPerceptron(RandomizedBudgetPerceptron { budget }),
        2 => AnyLearner::Stoptron(Stoptron { budget }),
        3 => AnyLearner::Forgetron(Forgetron::new(budget)),
        4 => AnyLearner::Projectron(Projectron { budget, threshold: 0.1, plus_plus: true }),
        5 => AnyLearner::BudgetOgd(BudgetOgd { budget, ..BudgetOgd::default() }),
        6 => AnyLearner::FourierOgd(FourierOgd { n_frequencies: budget, learning_rate: 0.2 }),
        _ => AnyLearner::NystroemOgd(NystroemOgd { budget, ..NystroemOgd::default() }),
    }
}

fuzz_target!(|input: Input| {
    let Input { learner: kind, budget, mut rows, cuts, save } = input;
    rows.truncate(64);
    if rows.is_empty() {
        return;
    }
    let flat: Vec<f64> =
        rows.iter().flat_map(|&(a, b, _)| [f64::from(a) / 64.0, f64::from(b) / 64.0]).collect();
    let labels: Vec<u8> = rows.iter().map(|row| row.2 % 3).collect();
    let budget = usize::from(budget % 12) + 1;
    let builder = OnlineSvc::builder().learner(learner(kind, budget)).threads(1);
    let Ok(svc) = builder.build() else { return };
    let all = [0, 1, 2];
    let begin = |last: usize| {
        svc.partial_fit(&Rows::of_slice(&flat[..2 * last], 2).expect("rows"), &labels[..last], &all)
    };
    let whole = begin(labels.len());
    let mut first = cuts.first().map_or(1, |&c| usize::from(c) % labels.len() + 1);
    let mut parts = begin(first);
    for cut in cuts.iter().skip(1).chain([&u8::MAX; 64]) {
        let Ok(model) = &mut parts else { break };
        if first == labels.len() {
            break;
        }
        let last = (first + usize::from(cut % 16) + 1).min(labels.len());
        let part = Rows::of_slice(&flat[2 * first..2 * last], 2).expect("rows");
        if let Err(error) = model.learn(&part, &labels[first..last]) {
            parts = Err(error);
            break;
        }
        if save {
            let bytes = model.to_bytes().expect("what is fitted is written");
            *model = OnlineSvcModel::from_bytes(&bytes).expect("what was written is read");
        }
        first = last;
    }
    let rows = Rows::of_slice(&flat, 2).expect("rows");
    if let (Ok(whole), Ok(parts)) = (whole, parts) {
        if let (Ok(one), Ok(other)) =
            (whole.decision_function(&rows), parts.decision_function(&rows))
        {
            assert_eq!(one, other, "{kind} with budget {budget}");
        }
    }
});
