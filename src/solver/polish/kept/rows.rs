//! The rows that matter: kernel values, as many as memory holds, the others made again. Those in 16
//! bits serve curvatures alone; for sums that are to be exact they are made again too.

use crate::data::pick;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::linalg::{axpy, dots};
use crate::parallel::{self, ROW_CHUNK};
use crate::simd::{add_rows, zeroed};
use crate::solver::polish::apart::Apart;
use crate::solver::polish::held::{Held, Width};
use crate::solver::polish::row::{GROUP, Row, meet};
use crate::solver::smoothed::KernelRows;
use crate::watch::{Step, Watch};

/// Rows of a task, and tasks between two looks at the watch. Sums of tasks are added in order.
const TASK: usize = 4 * ROW_CHUNK;
const WAVE: usize = 64;
/// Samples that a task looks at, where it makes no row of theirs.
pub(super) const CHUNK: usize = 8192;

pub(super) struct Rows<'k, F: Real> {
    kernel: &'k dyn KernelRows<F>,
    b: usize,
    /// The sample of every place.
    pub(super) samples: Vec<u32>,
    /// Rows of the first places, and how many these are.
    held: Held,
    n_held: usize,
}

impl<'k, F: Real> Rows<'k, F> {
    /// Of these samples; the first of them, so many at most, are kept.
    pub(super) fn new(
        kernel: &'k dyn KernelRows<F>,
        (samples, most): (Vec<u32>, usize),
        bytes: usize,
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let width = (Held::default(), Width::Full);
        Self::within(width, kernel, (samples, most), bytes, watch)
    }

    /// The same in memory that was [`Rows::held`] by others.
    pub(super) fn within(
        (held, width): (Held, Width),
        kernel: &'k dyn KernelRows<F>,
        (samples, most): (Vec<u32>, usize),
        bytes: usize,
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let b = kernel.n_terms();
        let count = most.min(bytes / width.bytes(b));
        // Where memory says how many rows there are, all of it is taken: rows of another length have room
        // there later.
        let at_least = if count < most { bytes } else { 0 };
        let mut held = held.room((count, b), (width, at_least), watch)?;
        for (wave, samples) in samples[..count].chunks(WAVE * TASK).enumerate() {
            let first = wave * WAVE * TASK;
            let parts = held.parts((first, first + samples.len()), (b, TASK));
            parallel::each(parts.into_iter().zip(samples.chunks(TASK)), &|_, (part, samples)| {
                let mut values = vec![F::zero(); ROW_CHUNK.min(samples.len()) * b];
                part.put((b, ROW_CHUNK), &mut |first, out| {
                    fill(kernel, &samples[first..][..out.len() / b], &mut values, out);
                });
            });
            watch.poll()?;
        }
        Ok(Self { kernel, b, samples, held, n_held: count })
    }

    /// The memory of the rows.
    pub(super) fn held(self) -> Held {
        self.held
    }

    /// Whether curvatures by these rows are exact.
    pub(super) fn are_full(&self) -> bool {
        self.held.full().is_some()
    }

    /// Those of these samples, of rows that are all in memory, a place a sample.
    pub(super) fn some(&self, samples: Vec<u32>) -> Step<Self> {
        let b = self.b;
        let mut held = zeroed("kernel values", samples.len() * b)?;
        let all = self.held.full().unwrap_or_default();
        for (to, &i) in held.chunks_exact_mut(b).zip(&samples) {
            to.copy_from_slice(&all[i as usize * b..][..b]);
        }
        let n_held = samples.len();
        Ok(Self { kernel: self.kernel, b, samples, held: Held::of(held), n_held })
    }

    /// The places with a curvature into `zone`. Thinned, those in memory alone, if any are there: their
    /// curvature stands for that of all.
    pub(super) fn zone_into(&self, zone: &mut Vec<u32>, curvature: &mut [f64], thinned: bool) {
        let (n_held, all) = (self.n_held, positive(curvature).count());
        let held = positive(&curvature[..n_held]).count();
        let (most, count) =
            if thinned && held > 0 { (n_held, held) } else { (curvature.len(), all) };
        zone.clear();
        zone.reserve_exact(count);
        zone.extend(positive(&curvature[..most]));
        if count < all {
            let share = all as f64 / count as f64;
            zone.iter().for_each(|&place| curvature[place as usize] *= share);
        }
    }

    /// Gives every place, with its row as near as it is held, to `work`: up to `GROUP` at a time, which
    /// are held alike.
    fn each_near(&self, places: &[u32], mut work: impl FnMut(&[u32], &[Row<'_>])) {
        let mut group = [Row::Full(&[], 1.0); GROUP];
        let is_held = |&place: &u32| (place as usize) < self.n_held;
        let (held, others): (Vec<u32>, Vec<u32>) = match self.are_full() {
            true => (Vec::new(), places.to_vec()),
            false => places.iter().partition(|place| is_held(place)),
        };
        for places in held.chunks(GROUP) {
            for (row, &place) in group.iter_mut().zip(places) {
                *row = self.held.row(place as usize, self.b);
            }
            work(places, &group[..places.len()]);
        }
        self.each(&others, |places, rows| {
            for (places, rows) in places.chunks(GROUP).zip(rows.chunks(GROUP)) {
                let mut group = [Row::Full(&[], 1.0); GROUP];
                group.iter_mut().zip(rows).for_each(|(to, row)| *to = Row::Full(row, 1.0));
                work(places, &group[..rows.len()]);
            }
        });
    }

    /// Gives every place, with its row, to `work`, up to `ROW_CHUNK` at a time.
    fn each(&self, places: &[u32], mut work: impl FnMut(&[u32], &[&[f32]])) {
        let b = self.b;
        let (held, n_held) = match self.held.full() {
            Some(held) => (&held[..self.n_held * b], self.n_held),
            None => (&[][..], 0),
        };
        let mut values = Vec::new();
        let mut made = Vec::new();
        for places in places.chunks(ROW_CHUNK) {
            let absent: Vec<u32> = places
                .iter()
                .filter(|&&place| place as usize >= n_held)
                .map(|&place| self.samples[place as usize])
                .collect();
            values.resize(ROW_CHUNK * b * usize::from(!absent.is_empty()), F::zero());
            made.resize(absent.len() * b, 0.0);
            fill(self.kernel, &absent, &mut values, &mut made);
            let mut others = made.chunks_exact(b);
            let rows: Vec<&[f32]> = places
                .iter()
                .map(|&place| match held.get(place as usize * b..(place as usize + 1) * b) {
                    Some(row) => row,
                    None => others.next().unwrap_or_default(),
                })
                .collect();
            work(places, &rows);
        }
    }

    /// `k·p + p_b` of every place, for `p` with the offset last.
    pub(super) fn times(&self, p: &[f64], out: &mut [f64], watch: &mut Watch<'_>) -> Step {
        for (wave, out) in out.chunks_mut(WAVE * TASK).enumerate() {
            parallel::each(out.chunks_mut(TASK), &|task, out| {
                let first = (wave * WAVE + task) * TASK;
                let places: Vec<u32> = (first as u32..(first + out.len()) as u32).collect();
                self.times_of(&places, &[p], out);
            });
            watch.poll()?;
        }
        Ok(())
    }

    /// [`Rows::times`] of these places for each of `points`, a row of values a place.
    pub(super) fn times_each(
        &self,
        places: &[u32],
        points: &[&[f64]],
        out: &mut [f64],
        watch: &mut Watch<'_>,
    ) -> Step {
        let m = points.len();
        let waves = out.chunks_mut(WAVE * TASK * m).zip(places.chunks(WAVE * TASK));
        for (out, places) in waves {
            let tasks = out.chunks_mut(TASK * m).zip(places.chunks(TASK));
            parallel::each(tasks, &|_, (out, places)| self.times_of(places, points, out));
            watch.poll()?;
        }
        Ok(())
    }

    /// The same of the places of a task.
    fn times_of(&self, places: &[u32], points: &[&[f64]], out: &mut [f64]) {
        let b = self.b;
        let mut out = out.chunks_exact_mut(points.len());
        self.each(places, |_, rows| {
            for (row, out) in rows.iter().zip(&mut out) {
                for (out, p) in out.iter_mut().zip(points) {
                    dots(row, &p[..b], std::slice::from_mut(out));
                    *out += p.get(b).unwrap_or(&0.0);
                }
            }
        });
    }

    /// `Σ a_place (k, 1)` over the places where a is not 0, in `f64`. The last entry is `Σ a`.
    pub(super) fn weigh(&self, a: &[f64], watch: &mut Watch<'_>) -> Step<Vec<f64>> {
        let b = self.b;
        let mut places = (0_u32..).zip(a).filter(|(_, a)| **a != 0.0).map(|(place, _)| place);
        let mut sum = vec![0.0; b + 1];
        let mut wave = Vec::with_capacity(WAVE * TASK);
        let work = |task: &[u32]| {
            let mut part = vec![0.0; b + 1];
            self.each(task, |places, rows| {
                let weights = places.iter().map(|&place| a[place as usize]);
                let scaled: Vec<(&[f32], f64)> = rows.iter().copied().zip(weights).collect();
                part[b] += scaled.iter().map(|row| row.1).sum::<f64>();
                add_rows(&scaled, &mut part[..b]);
            });
            part
        };
        loop {
            wave.clear();
            wave.extend(places.by_ref().take(WAVE * TASK));
            if wave.is_empty() {
                return Ok(sum);
            }
            add_tasks(&wave, &mut sum, &work);
            watch.poll()?;
        }
    }

    /// `Σ D_place (k·p + p_b) (k, 1)` over these places, each task in `f32`: the product of a
    /// Hessian and a direction.
    pub(super) fn bend(
        &self,
        places: &[u32],
        p: &[f64],
        curvature: &[f64],
        watch: &mut Watch<'_>,
    ) -> Step<Vec<f64>> {
        let b = self.b;
        let coef: Vec<f32> = p[..b].iter().map(|&v| v as f32).collect();
        let offset = p.get(b).copied().unwrap_or(0.0);
        let mut sum = vec![0.0; b + 1];
        let work = |task: &[u32]| {
            let (mut part, mut last) = (vec![0.0_f32; b], 0.0);
            self.each_near(task, |places, rows| {
                meet(rows, &coef, &mut part, |at, product| {
                    let a = curvature[places[at] as usize] * (f64::from(product) + offset);
                    last += a;
                    a as f32
                });
            });
            part.into_iter().map(f64::from).chain([last]).collect()
        };
        for wave in places.chunks(WAVE * TASK) {
            add_tasks(wave, &mut sum, &work);
            watch.poll()?;
        }
        Ok(sum)
    }

    /// `Σ (k·p + p_b)²` over these directions, for each of these places, which rise.
    pub(super) fn squares(
        &self,
        places: &[u32],
        directions: &[Vec<f64>],
        watch: &mut Watch<'_>,
    ) -> Step<Vec<f64>> {
        let b = self.b;
        let narrow = |p: &Vec<f64>| {
            let coef: Vec<f32> = p[..b].iter().map(|&v| v as f32).collect();
            (coef, p.get(b).copied().unwrap_or(0.0))
        };
        let directions: Vec<_> = directions.iter().map(narrow).collect();
        let mut found = try_vec("rows", places.len(), 0.0)?;
        let waves = found.chunks_mut(WAVE * TASK).zip(places.chunks(WAVE * TASK));
        for (found, places) in waves {
            let tasks = found.chunks_mut(TASK).zip(places.chunks(TASK));
            parallel::each(tasks, &|_, (found, places)| {
                let (mut sums, mut buffer) = (Vec::with_capacity(places.len()), Apart::default());
                self.each_near(places, |places, rows| {
                    for (&place, row) in places.iter().zip(rows) {
                        let row = row.lengthened(&mut buffer);
                        let value = |(p, offset): &(Vec<f32>, f64)| f64::from(row.dot(p)) + offset;
                        let sum = directions.iter().map(|p| value(p) * value(p)).sum::<f64>();
                        sums.push((place, sum));
                    }
                });
                sums.sort_unstable_by_key(|(place, _)| *place);
                found.iter_mut().zip(sums).for_each(|(to, (_, sum))| *to = sum);
            });
            watch.poll()?;
        }
        Ok(found)
    }

    /// Rows of places in order, as near as they are held.
    pub(super) fn copy(&self, places: &[u32], out: &mut [f32]) {
        let mut to = out.chunks_exact_mut(self.b);
        self.each_near(places, |_, rows| {
            rows.iter().zip(&mut to).for_each(|(row, to)| row.write(to));
        });
    }
}

/// Adds what `work` gives for each task of a wave of places.
fn add_tasks(wave: &[u32], sum: &mut [f64], work: &(dyn Fn(&[u32]) -> Vec<f64> + Sync)) {
    let tasks: Vec<&[u32]> = wave.chunks(TASK).collect();
    let parts = parallel::map(tasks.len(), &|task| work(tasks[task]));
    parts.iter().for_each(|part| axpy(1.0, part, sum));
}

/// Where values are more than 0.
fn positive(values: &[f64]) -> impl Iterator<Item = u32> + '_ {
    (0_u32..).zip(values).filter(|(_, v)| **v > 0.0).map(|(place, _)| place)
}

/// `K_nB β + b` of all samples.
pub(super) fn margins<F: Real>(
    kernel: &dyn KernelRows<F>,
    (coef, offset): (&[f64], f64),
    out: &mut [f64],
    watch: &mut Watch<'_>,
) -> Step {
    for (wave, out) in out.chunks_mut(WAVE * TASK).enumerate() {
        parallel::each(out.chunks_mut(ROW_CHUNK), &|chunk, out| {
            let first = wave * WAVE * TASK + chunk * ROW_CHUNK;
            kernel.weigh(&(first..first + out.len()).collect::<Vec<_>>(), coef, out);
            out.iter_mut().for_each(|f| *f += offset);
        });
        watch.poll()?;
    }
    Ok(())
}

/// Kernel values of these samples in single precision.
fn fill<F: Real>(kernel: &dyn KernelRows<F>, samples: &[u32], values: &mut [F], out: &mut [f32]) {
    if samples.is_empty() {
        return;
    }
    let chosen: Vec<usize> = samples.iter().map(|&i| i as usize).collect();
    let values = &mut values[..out.len()];
    kernel.fill(&chosen, values);
    out.iter_mut().zip(values).for_each(|(to, v)| *to = Real::to_f64(*v) as f32);
}

/// A number of these samples.
pub(super) fn picked(chosen: &[u32], from: &[f64]) -> Result<Vec<f64>> {
    let mut own = zeroed("samples", chosen.len())?;
    pick(chosen, from, &mut own);
    Ok(own)
}
