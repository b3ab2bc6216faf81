//! What more threads give a fit, by calculation beside what they were measured to give:
//! `cargo bench --bench amdahl [-- ROWS BUDGET RUNS]`.
//!
//! Fits on one thread tell how long every stretch of work takes, and which can be shared; of each the
//! least of all runs counts, so that other work on the machine counts little. For p threads, the
//! parts of a shared stretch go to whoever is free; two threads take turns in a pass; the rest waits.
//! Rows are those of `benches/python/larger_than_memory.py` in kind: 20 `f32` features around 8
//! centres, two classes, one label in 20 wrong. What Python does before is not in it.

#![allow(clippy::expect_used, reason = "a bench that cannot run must stop")]

use std::time::{Duration, Instant};

use budgetsvm::config::Config as _;
use budgetsvm::data::{Problem, Rows, Targets};
use budgetsvm::estimator::{BudgetConfig, Start};
use budgetsvm::parallel::{self, trace};
use budgetsvm::rng::Rng;
use budgetsvm::watch::{Silent, Watch};

const FEATURES: usize = 20;
const CENTRES: usize = 8;
const THREADS: [usize; 5] = [1, 2, 4, 16, 64];
const MEASURED: [usize; 3] = [1, 2, 4];

/// Rows one after another, and their classes.
fn made(n: usize) -> (Vec<f32>, Vec<u32>) {
    let mut rng = Rng::new(0);
    let centres: Vec<f64> = (0..CENTRES * FEATURES).map(|_| rng.normal()).collect();
    let (mut rows, mut classes) = (Vec::with_capacity(n * FEATURES), Vec::with_capacity(n));
    for _ in 0..n {
        let own = rng.below(CENTRES);
        let row: Vec<f64> =
            centres[own * FEATURES..][..FEATURES].iter().map(|c| c + rng.normal()).collect();
        let distance = |centre: usize| -> f64 {
            let centre = &centres[centre * FEATURES..][..FEATURES];
            row.iter().zip(centre).map(|(x, c)| (x - c) * (x - c)).sum()
        };
        let nearest = (0..CENTRES).min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        let wrong = rng.uniform() < 0.05;
        classes.push((nearest.expect("a centre") as u32 % 2) ^ u32::from(wrong));
        rows.extend(row.into_iter().map(|x| x as f32));
    }
    (rows, classes)
}

/// Work between two that are shared, then one of these.
struct Stretch {
    name: &'static str,
    before: Duration,
    /// Beside its parts, where these are known.
    own: Duration,
    parts: Vec<Duration>,
}

fn name(stretch: &trace::Stretch) -> &'static str {
    let Some(at) = stretch.at else { return PASS };
    NAMES.iter().find(|(file, _)| at.file().contains(file)).map_or("", |(_, name)| name)
}

/// What a file shares.
const NAMES: [(&str, &str); 5] = [
    ("data", "looking through the rows, gathering"),
    ("kept/rows.rs", "kernel values of all rows or of those near the margin, and products"),
    ("ray.rs", "losses, line searches"),
    ("kept", "which rows count, and what is theirs"),
    ("", "factors, and others"),
];
const PASS: &str = "the pass, two threads in turns";

/// The stretches of a run by so many threads that lasted from `begin`, and the rest of it.
fn stretches(
    (mut begin, threads): (Instant, usize),
    found: &[trace::Stretch],
    end: Instant,
) -> Vec<Stretch> {
    let mut all = Vec::with_capacity(found.len() + 1);
    for one in found {
        let [from, mut to] = one.time;
        if one.at.is_none() && threads > 1 {
            // Either thread prepares the next turn: that is before it, whoever does.
            to = from + one.parts.iter().take(2).sum::<Duration>();
        }
        let told = if threads > 1 { &[][..] } else { &one.parts[..] };
        let parts: Duration = told.iter().sum();
        all.push(Stretch {
            name: name(one),
            before: from.saturating_duration_since(begin),
            own: (to - from).saturating_sub(parts),
            parts: told.to_vec(),
        });
        begin = to;
    }
    let before = end.saturating_duration_since(begin);
    all.push(Stretch { name: "", before, own: Duration::ZERO, parts: Vec::new() });
    all
}

impl Stretch {
    fn least(&mut self, other: &Self) {
        assert_eq!((self.name, self.parts.len()), (other.name, other.parts.len()), "another run");
        self.before = self.before.min(other.before);
        self.own = self.own.min(other.own);
        self.parts.iter_mut().zip(&other.parts).for_each(|(a, b)| *a = (*a).min(*b));
    }

    /// The time that it took, and what was before it.
    fn whole(&self) -> Duration {
        self.before + self.own + self.parts.iter().sum::<Duration>()
    }

    /// The time of so many threads.
    fn by(&self, threads: usize) -> Duration {
        if self.name == PASS && threads > 1 {
            // While one takes its turn the other prepares the next.
            let part = |at: usize| self.parts.get(at).copied().unwrap_or_default();
            return self.own + part(0) + part(1).max(part(2));
        }
        let mut busy = vec![Duration::ZERO; threads.min(self.parts.len()).max(1)];
        for part in &self.parts {
            let first = busy.iter_mut().min().expect("a thread");
            *first += *part;
        }
        self.own + busy.into_iter().max().unwrap_or_default()
    }
}

fn main() {
    let given: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let given = |at: usize, or: usize| given.get(at).copied().unwrap_or(or);
    let (n, budget, runs) = (given(0, 1_000_000), given(1, 100), given(2, 10).max(1));
    let (rows, classes) = made(n);
    let rows = Rows::of_slice(&rows, FEATURES).expect("rows");
    let cost = vec![1.0; n];
    let config = format!(r#"{{"budget": {budget}, "kernel": "rbf", "gamma": 0.1}}"#);
    let config = BudgetConfig::from_json(&config).expect("hyperparameters");
    let fit = |threads: usize| {
        parallel::run(threads, |pool| {
            let targets = Targets::Classes { index: &classes, n_classes: 2 };
            let problem = Problem::new(rows, targets, &cost).expect("a problem");
            config
                .fit(&problem, Start::default(), &mut Watch::new(&mut Silent, pool))
                .expect("a fit");
        })
        .expect("threads");
    };
    let record = |threads: usize| {
        let begin = Instant::now();
        let ((), found) = trace::record(|| fit(threads));
        stretches((begin, threads), &found, Instant::now())
    };
    let mut all = MEASURED.map(record);
    for _ in 1..runs {
        for (least, threads) in all.iter_mut().zip(MEASURED) {
            let own = record(threads);
            assert_eq!(least.len(), own.len(), "another run");
            least.iter_mut().zip(&own).for_each(|(all, own)| all.least(own));
        }
    }
    report((n, budget, runs), &all);
}

fn report((n, budget, runs): (usize, usize, usize), measured: &[Vec<Stretch>; MEASURED.len()]) {
    println!(
        "{n} rows, B = {budget}, milliseconds, the least of {runs} runs, stretch by stretch\n"
    );
    let mut head = "| threads | 1 |".to_owned();
    for p in &THREADS[1..] {
        head += &format!(" {p} |");
        head += if MEASURED.contains(p) { " measured |" } else { "" };
    }
    println!("{head}\n|{}", "---|".repeat(head.matches('|').count() - 1));
    let all = &measured[0];
    let line = |name: &str, by: &dyn Fn(usize) -> Duration, of: &dyn Fn(&Stretch) -> Duration| {
        let total = |at: usize| measured[at].iter().map(of).sum::<Duration>();
        let mut times = vec![by(1)];
        for &p in &THREADS[1..] {
            times.push(by(p));
            times.extend(MEASURED.iter().position(|&m| m == p).map(total));
        }
        let told: Vec<String> =
            times.iter().map(|time| format!("{:.0}", 1e3 * time.as_secs_f64())).collect();
        println!("| {name} | {} |", told.join(" | "));
        times
    };
    for name in NAMES.iter().map(|(_, name)| *name).chain([PASS]) {
        let by = |p: usize| all.iter().filter(|s| s.name == name).map(|s| s.by(p)).sum();
        line(name, &by, &|s| if s.name == name { s.whole() - s.before } else { Duration::ZERO });
    }
    let alone: Duration = all.iter().map(|s| s.before).sum();
    line("what one thread does alone, and waits", &|_| alone, &|s| s.before);
    let by = |p: usize| alone + all.iter().map(|s| s.by(p)).sum::<Duration>();
    let times = line("together", &by, &Stretch::whole);
    let share = |time: &Duration| format!("{:.2}", time.as_secs_f64() / times[0].as_secs_f64());
    let shares: Vec<String> = times.iter().map(share).collect();
    println!("| share of one thread's | {} |", shares.join(" | "));
}
