use super::*;
use std::time::Instant;

fn read(path: &str) -> Option<(usize, Vec<f32>)> {
    let bytes = std::fs::read(path).ok()?;
    let at = |k: usize| f32::from_le_bytes([bytes[k], bytes[k + 1], bytes[k + 2], bytes[k + 3]]);
    let d = at(0) as usize;
    Some((d, (4..bytes.len()).step_by(4).map(at).collect()))
}

/// K_nB made beforehand.
struct Ready {
    n: usize,
    b: usize,
    k: Vec<f32>,
    gram: Vec<f64>,
}

impl KernelRows<f32> for Ready {
    fn n_rows(&self) -> usize {
        self.n
    }
    fn n_terms(&self) -> usize {
        self.b
    }
    fn fill(&self, first: usize, last: usize, out: &mut [f32]) {
        out.copy_from_slice(&self.k[first * self.b..last * self.b]);
    }
    fn basis_gram(&self) -> Vec<f64> {
        self.gram.clone()
    }
}

#[test]
#[ignore = "prints times; reads tables that a script makes from the data sets"]
fn timing() {
    // Rows of (features, label) as f32, made by a script from the data sets.
    for (name, b, gamma, cost) in
        [("adult", 100, 0.0078125, 32.0), ("ijcnn1", 500, 2.0, 32.0), ("cod-rna", 500, 8.0, 32.0)]
    {
        let Some((d, table)) = read(&format!("/tmp/polish-{name}.f32")) else { continue };
        let n = table.len() / (d + 1);
        let x: Vec<f32> = table.chunks(d + 1).flat_map(|r| r[..d].to_vec()).collect();
        let index: Vec<u32> = table.chunks(d + 1).map(|r| u32::from(r[d] > 0.0)).collect();
        let mut rng = Rng::new(1);
        let mut order: Vec<usize> = (0..n).collect();
        rng.shuffle(&mut order);
        let basis: Vec<f32> =
            order[..b].iter().flat_map(|&i| x[i * d..(i + 1) * d].to_vec()).collect();
        let dense = Dense { x, d, basis, gamma };
        let gram = dense.basis_gram();
        let mut k = vec![0.0f32; n * b];
        crate::parallel::run(2, || {
            use rayon::prelude::*;
            k.par_chunks_mut(b * 64).enumerate().for_each(|(c, out)| {
                dense.fill(c * 64, c * 64 + out.len() / b, out);
            });
        })
        .unwrap();
        let ready = Ready { n, b, k, gram };
        // A noisy start, as merging leaves it.
        let coef: Vec<f64> = order[..b]
            .iter()
            .map(|&i| if index[i] > 0 { cost } else { -cost } * rng.uniform())
            .collect();
        let costs = vec![cost; n];
        let start = Start {
            targets: Targets::Classes { index: &index, n_classes: 2 },
            cost: &costs,
            coef: &coef,
            intercept: &[0.0],
        };
        for (h, tol) in [(0.1, 1e-4), (0.05, 1e-4), (0.05, 1e-6)] {
            let polish = Polish { h, tol, max_steps: 200, ..Polish::default() };
            for threads in [1, 2] {
                let clock = Instant::now();
                let mut seen = Vec::new();
                let got = crate::parallel::run(threads, || {
                    polish
                        .solve(&ready, start, &mut |step, value| {
                            if seen.last().is_none_or(|&(s, _): &(usize, f64)| s != step) {
                                seen.push((step, value));
                            }
                            ControlFlow::Continue(())
                        })
                        .unwrap()
                })
                .unwrap();
                println!(
                    "{name} h {h} tol {tol:e} threads {threads}: {:.3} s, |b| {:.1e} {} steps, smoothed {:.1} primal {:.1} {}",
                    clock.elapsed().as_secs_f64(),
                    got.coef.iter().fold(0.0f64, |a, b| a.max(b.abs())),
                    got.steps,
                    got.smoothed,
                    got.primal,
                    got.converged
                );
                if std::env::var("SHOW").is_ok() {
                    println!("   {seen:.1?}");
                }
            }
        }
    }
}

#[test]
#[ignore = "prints times"]
fn timing_of_ten_outputs() {
    let (n, b, d) = (60_000, 1000, 12);
    let mut rng = Rng::new(5);
    let means: Vec<f32> = (0..10 * d).map(|_| rng.uniform() as f32).collect();
    let index: Vec<u32> = (0..n).map(|_| rng.below(10) as u32).collect();
    let x: Vec<f32> = (0..n * d)
        .map(|k| means[index[k / d] as usize * d + k % d] + 0.8 * (rng.uniform() as f32 - 0.5))
        .collect();
    let dense = Dense { basis: x[..b * d].to_vec(), x, d, gamma: 1.0 };
    let gram = dense.basis_gram();
    let mut k = vec![0.0f32; n * b];
    crate::parallel::run(2, || {
        use rayon::prelude::*;
        k.par_chunks_mut(b * 64).enumerate().for_each(|(c, out)| {
            dense.fill(c * 64, c * 64 + out.len() / b, out);
        });
    })
    .unwrap();
    let ready = Ready { n, b, k, gram };
    let costs = vec![10.0; n];
    let coef = vec![0.0; b * 10];
    let start = Start {
        targets: Targets::Classes { index: &index, n_classes: 10 },
        cost: &costs,
        coef: &coef,
        intercept: &[0.0; 10],
    };
    for cache_bytes in [256 << 20, 0] {
        let polish = Polish { cache_bytes, ..Polish::default() };
        let clock = Instant::now();
        let mut looks = 0;
        let (mut longest, mut last) = (0.0f64, Instant::now());
        let got = crate::parallel::run(2, || {
            polish
                .solve(&ready, start, &mut |_, _| {
                    looks += 1;
                    longest = longest.max(last.elapsed().as_secs_f64());
                    last = Instant::now();
                    ControlFlow::Continue(())
                })
                .unwrap()
        })
        .unwrap();
        println!(
            "ten outputs, n {n} B {b}, cache {cache_bytes}: {:.2} s, {} steps, primal {:.1} {}, \
             {looks} looks, {:.0} ms apart at most",
            clock.elapsed().as_secs_f64(),
            got.steps,
            got.primal,
            got.converged,
            longest * 1e3
        );
    }
}
