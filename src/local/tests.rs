//! A local model against a naive twin, whatever the chunks and the threads.

use ndarray::Array2;

use super::*;
use crate::parallel;
use crate::rng::Rng;
use crate::watch::Silent;

/// The algorithms of the module page, a sample at a time.
struct Naive {
    local: Local,
    outputs: usize,
    centers: Vec<Vec<f64>>,
    cells: Vec<Vec<Stored>>,
}

#[derive(Clone)]
struct Stored {
    row: Vec<f64>,
    class: u32,
    cost: f64,
    id: usize,
    weights: Vec<f64>,
}

impl Naive {
    fn sign(&self, class: u32, c: usize) -> f64 {
        let positive = if self.outputs == 1 { class == 1 } else { class as usize == c };
        if positive { 1.0 } else { -1.0 }
    }

    fn decide(&self, cell: usize, x: &[f64], c: usize) -> f64 {
        let terms = self.cells[cell].iter();
        terms.map(|s| s.weights[c] * self.local.kernel.eval(&s.row, x)).sum()
    }

    fn step(&self, y: f64, alpha: f64, z: f64, x: &[f64], cost: f64) -> f64 {
        y * (y * alpha + (1.0 - y * z) / self.local.kernel.eval(x, x)).clamp(0.0, cost)
    }

    /// All cells, the nearest first.
    fn by_distance(&self, x: &[f64]) -> Vec<usize> {
        let distance = |c: &[f64]| c.iter().zip(x).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        let far = |k: usize| distance(&self.centers[k]);
        let mut cells: Vec<usize> = (0..self.centers.len()).collect();
        cells.sort_by(|&a, &b| far(a).total_cmp(&far(b)));
        cells
    }

    fn nearest(&self, x: &[f64]) -> usize {
        self.by_distance(x)[0]
    }

    fn learn(&mut self, x: &[f64], class: u32, cost: f64, id: usize) {
        if self.centers.len() < self.local.n_clusters {
            self.centers.push(x.to_vec());
            self.cells.push(Vec::new());
        } else {
            let cell = self.nearest(x);
            let step = self.local.center_step;
            // The neighbours are those of the centres before this one moves.
            for cell in self.by_distance(x).into_iter().take(self.local.overlap) {
                self.update(cell, x, class, cost, id);
            }
            for (m, v) in self.centers[cell].iter_mut().zip(x) {
                *m = (1.0 - step) * *m + step * v;
            }
            return;
        }
        for cell in self.by_distance(x).into_iter().take(self.local.overlap) {
            self.update(cell, x, class, cost, id);
        }
    }

    fn update(&mut self, cell: usize, x: &[f64], class: u32, cost: f64, id: usize) {
        let old = self.cells[cell].iter().position(|s| s.id == id);
        let before = old.map_or(vec![0.0; self.outputs], |j| self.cells[cell][j].weights.clone());
        let weights: Vec<f64> = (0..self.outputs)
            .map(|c| {
                let (y, z) = (self.sign(class, c), self.decide(cell, x, c));
                if y * z < 1.0 { self.step(y, before[c], z, x, cost) } else { before[c] }
            })
            .collect();
        match old {
            Some(j) => self.cells[cell][j].weights = weights,
            None if weights.iter().any(|w| *w != 0.0) => {
                self.cells[cell].push(Stored { row: x.to_vec(), class, cost, id, weights });
            }
            None => {}
        }
        if self.cells[cell].len() > self.local.budget {
            self.prune(cell);
        }
    }

    fn prune(&mut self, cell: usize) {
        let pruning = self.local.pruning;
        if matches!(pruning, Pruning::All | Pruning::Step) {
            for j in 0..self.cells[cell].len() {
                let s = self.cells[cell][j].clone();
                let new: Vec<f64> = (0..self.outputs)
                    .map(|c| {
                        let z = self.decide(cell, &s.row, c);
                        self.step(self.sign(s.class, c), s.weights[c], z, &s.row, s.cost)
                    })
                    .collect();
                self.cells[cell][j].weights = new;
            }
            self.drop_if(cell, |s, _| s.weights.iter().all(|w| *w == 0.0));
        }
        let budget = self.local.budget;
        if self.cells[cell].len() > budget && matches!(pruning, Pruning::All | Pruning::Margin) {
            let margins: Vec<f64> = self.cells[cell]
                .iter()
                .map(|s| {
                    let signed = (0..self.outputs)
                        .map(|c| self.sign(s.class, c) * self.decide(cell, &s.row, c));
                    signed.fold(f64::INFINITY, f64::min)
                })
                .collect();
            let mut best = margins.clone();
            best.sort_by(|a, b| b.total_cmp(a));
            let threshold = best[budget - 1].min(0.0);
            self.drop_if(cell, |_, j| margins[j] < threshold);
        }
        let weight = |s: &Stored| s.weights.iter().map(|w| w * w).sum::<f64>();
        while self.cells[cell].len() > budget {
            let all = self.cells[cell].iter().map(weight);
            let least = all.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
            self.cells[cell].remove(least);
        }
    }

    /// Those that stay stay in the order of their arrival, in which the steps of pruning run.
    fn drop_if(&mut self, cell: usize, goes: impl Fn(&Stored, usize) -> bool) {
        let all = self.cells[cell].iter().enumerate();
        let gone: Vec<usize> = all.filter(|(j, s)| goes(s, *j)).map(|(j, _)| j).collect();
        for j in gone.into_iter().rev() {
            self.cells[cell].remove(j);
        }
    }
}

struct Data {
    x: Array2<f64>,
    classes: Vec<u32>,
    cost: Vec<f64>,
}

fn data(n: usize, classes: u32) -> Data {
    let mut rng = Rng::new(11);
    let x = Array2::from_shape_fn((n, 3), |_| 2.0 * rng.uniform() - 1.0);
    let of = |i: usize| ((x[(i, 0)] * 2.0 + (3.0 * x[(i, 1)]).sin()) * 2.0 + 4.0) as u32 % classes;
    let classes = (0..n).map(of).collect();
    // Costs that differ: no two weights are equal at the bound.
    let cost = (0..n).map(|_| 0.5 + rng.uniform()).collect();
    Data { x, classes, cost }
}

fn train(
    local: Local,
    data: &Data,
    outputs: usize,
    (threads, parts, passes): (usize, usize, usize),
) -> LocalModel<f64> {
    parallel::run(threads, |pool| {
        let mut model = LocalModel::new(local, 3, outputs).unwrap();
        let rows = Rows::Dense(data.x.view());
        let order: Vec<usize> = (0..data.classes.len()).collect();
        for _ in 0..passes {
            for part in order.chunks(order.len().div_ceil(parts)) {
                let (classes, cost) = (&data.classes, &data.cost);
                let task = Task::Learn;
                let batch = Batch { rows: &rows, classes, cost, order: part, first_id: 0, task };
                model.learn(&batch, &mut Watch::new(&mut Silent, pool)).unwrap();
            }
        }
        model
    })
    .unwrap()
}

fn decisions(model: &LocalModel<f64>, data: &Data) -> Vec<f64> {
    let mut out = vec![0.0; data.classes.len() * model.n_outputs()];
    model.model().unwrap().decision_into(&Rows::Dense(data.x.view()), &mut out).unwrap();
    out
}

const KERNEL: AnyKernel = AnyKernel::Gaussian { gamma: 1.3 };

#[test]
fn the_same_as_the_naive_twin() {
    for (classes, outputs) in [(2, 1), (4, 4)] {
        let data = data(400, classes);
        for pruning in [Pruning::All, Pruning::Step, Pruning::Margin, Pruning::Weight] {
            let kernels = [KERNEL, AnyKernel::Polynomial { gamma: 0.5, coef0: 1.0, degree: 2 }];
            let cases = [
                (kernels[0], 6, 2, 1),
                (kernels[1], 9, 1, 1),
                (kernels[0], 9, 2, 3),
                (kernels[0], 6, 1, 8),
            ];
            for (kernel, budget, passes, overlap) in cases {
                let local =
                    Local { kernel, n_clusters: 7, budget, center_step: 0.05, overlap, pruning };
                let model = train(local, &data, outputs, (2, 1, passes));
                let mut twin = Naive { local, outputs, centers: Vec::new(), cells: Vec::new() };
                for i in (0..passes * 400).map(|i| i % 400) {
                    twin.learn(&data.x.row(i).to_vec(), data.classes[i], data.cost[i], i);
                }
                assert_eq!(model.sizes(), twin.cells.iter().map(Vec::len).collect::<Vec<_>>());
                assert!(model.sizes().iter().all(|&n| n <= budget));
                let found = decisions(&model, &data);
                for i in 0..400 {
                    let x = data.x.row(i).to_vec();
                    for c in 0..outputs {
                        let expected = twin.decide(twin.nearest(&x), &x, c);
                        let got = found[i * outputs + c];
                        assert!((got - expected).abs() < 1e-9, "{pruning:?} {got} {expected}");
                    }
                }
            }
        }
    }
}

#[test]
fn chunks_and_threads_change_no_bit() {
    let data = data(1500, 4);
    let local = Local {
        kernel: KERNEL,
        n_clusters: 12,
        budget: 20,
        center_step: 0.02,
        overlap: 3,
        pruning: Pruning::All,
    };
    let one = decisions(&train(local, &data, 4, (1, 1, 1)), &data);
    assert_eq!(one, decisions(&train(local, &data, 4, (3, 1, 1)), &data));
    assert_eq!(one, decisions(&train(local, &data, 4, (2, 13, 1)), &data));
}

#[test]
fn an_archive_brings_everything_back() {
    let data = data(500, 2);
    let local = Local {
        kernel: KERNEL,
        n_clusters: 5,
        budget: 8,
        center_step: 0.02,
        overlap: 2,
        pruning: Pruning::Margin,
    };
    let model = train(local, &data, 1, (1, 1, 1));
    let again = LocalModel::<f64>::from_section(model.to_section()).unwrap();
    assert_eq!(decisions(&model, &data), decisions(&again, &data));
    assert_eq!((again.seen(), again.local()), (500, local));
    let mut broken = model.to_section();
    broken.take_array("ids").unwrap();
    assert!(LocalModel::<f64>::from_section(broken).is_err());
    assert!(LocalModel::<f32>::from_section(model.to_section()).is_err());
}

#[test]
fn kernel_values_out_of_range_are_refused() {
    let kernel = AnyKernel::Polynomial { gamma: 1e200, coef0: 0.0, degree: 3 };
    let pruning = Pruning::All;
    let local = Local { kernel, n_clusters: 2, budget: 5, center_step: 0.1, overlap: 1, pruning };
    let data = data(20, 2);
    let told = parallel::run(1, |pool| {
        let mut model = LocalModel::new(local, 3, 1).unwrap();
        let (rows, order): (_, Vec<usize>) = (Rows::Dense(data.x.view()), (0..20).collect());
        let (classes, cost, task) = (&data.classes, &data.cost, Task::Learn);
        let batch = Batch { rows: &rows, classes, cost, order: &order, first_id: 0, task };
        format!("{:?}", model.learn(&batch, &mut Watch::new(&mut Silent, pool)))
    });
    assert!(told.unwrap().contains("OutOfRange"));
}

#[test]
fn parameters_out_of_range_are_named() {
    let good = Local {
        kernel: KERNEL,
        n_clusters: 2,
        budget: 2,
        center_step: 0.1,
        overlap: 1,
        pruning: Pruning::All,
    };
    for (local, name) in [
        (Local { n_clusters: 0, ..good }, "n_clusters"),
        (Local { budget: 0, ..good }, "budget"),
        (Local { overlap: 0, ..good }, "overlap"),
        (Local { center_step: 1.5, ..good }, "center_step"),
        (Local { center_step: f64::NAN, ..good }, "center_step"),
    ] {
        assert!(local.check().is_err_and(|e| e.to_string().contains(name)), "{name}");
    }
}
