use super::*;
use crate::data::{Csr, Rows};
use crate::kernel::{Columns, Gram, RowCache, load_tile};
use crate::rng::Rng;
use crate::watch::Watch;

const KERNELS: [AnyKernel; 7] = [
    AnyKernel::Gaussian { gamma: 0.3 },
    AnyKernel::Laplacian { gamma: 0.3 },
    AnyKernel::Matern32 { gamma: 0.2 },
    AnyKernel::Matern52 { gamma: 0.2 },
    AnyKernel::Polynomial { gamma: 0.1, coef0: 1.0, degree: 2 },
    AnyKernel::Sigmoid { gamma: 0.1, coef0: -0.5 },
    AnyKernel::Linear,
];

/// A CSR matrix with a few entries a row, some rows empty, some equal.
struct Sparse {
    values: Vec<f64>,
    columns: Vec<usize>,
    starts: Vec<usize>,
    d: usize,
}

impl Sparse {
    fn new(n: usize, d: usize, spread: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let (mut values, mut columns, mut starts) = (Vec::new(), Vec::new(), vec![0]);
        for row in 0..n {
            let entries = if row % 7 == 3 { 0 } else { 1 + rng.below(6) };
            let mut of_row: Vec<usize> =
                (0..entries).map(|_| rng.below(spread) * (d / spread)).collect();
            of_row.sort_unstable();
            of_row.dedup();
            values.extend(of_row.iter().map(|_| 0.3 * rng.normal()));
            columns.extend(of_row);
            starts.push(values.len());
        }
        Self { values, columns, starts, d }
    }

    fn csr(&self) -> Csr<'_, f64> {
        Csr::new(&self.values, &self.columns[..], &self.starts[..], self.d).unwrap()
    }

    fn dense(&self, rows: usize) -> Vec<Vec<f64>> {
        let (csr, d) = (self.csr(), self.d);
        let write = |row| {
            let mut out = vec![0.0; d];
            csr.for_each(row, |column, value| out[column] = value);
            out
        };
        (0..rows).map(write).collect()
    }
}

fn values_are_those<F: Real>(sparse: &Sparse, n: usize, tol: f64) {
    let dense = sparse.dense(n);
    let rows = AnyRows::Double(Rows::Csr(sparse.csr()));
    assert!(suits(&rows));
    let samples: Vec<usize> = (0..n).rev().collect();
    let mut tile = Tile::<F>::new(sparse.d);
    load_sparse(&rows, n, |i| i, &mut tile);
    for kernel in KERNELS {
        let set = Inverted::<F>::new(&rows, &samples, kernel).unwrap();
        let mut packed = Packed::<F>::new(sparse.d).unwrap();
        packed
            .extend(n, |i, row| {
                row.iter_mut().zip(&dense[samples[i]]).for_each(|(to, &v)| *to = F::from_f64(v));
            })
            .unwrap();
        let mut plain = Tile::<F>::new(sparse.d);
        load_tile(&Rows::Csr(sparse.csr()), n, |i| i, &[], &mut plain);
        let stride = packed.padded_len();
        let mut same = vec![F::zero(); n * stride];
        kernel.values(&plain, (0, n), &packed, &mut same, stride);
        let (mut room, mut out) = (Room::default(), vec![F::zero(); stride]);
        for i in 0..n {
            // The largest norm decides how distances are computed; both ways are looked at.
            for largest in [set.largest(), 1e30] {
                set.values((kernel, largest), (&tile, i), &mut room, &mut out);
                for (at, &sample) in samples.iter().enumerate() {
                    let exact = kernel.eval(&dense[i], &dense[sample]);
                    let value = out[at].to_f64();
                    assert!((value - exact).abs() <= tol, "{kernel:?} {value} {exact}");
                    if i == sample && kernel.is_translation_invariant() {
                        assert_eq!(value, 1.0, "{kernel:?}");
                    }
                }
                if largest < 1e30 && !matches!(kernel, AnyKernel::Laplacian { .. }) {
                    assert_eq!(out[..n], same[i * stride..][..n], "the block kernel's bits");
                }
            }
        }
    }
}

#[test]
fn values_are_those_of_rows_written_out() {
    // A directory of bits, and one of far more features than entries.
    for (n, d, spread) in [(75, 640, 40), (40, 100_000, 25)] {
        let sparse = Sparse::new(n, d, spread, 1);
        values_are_those::<f64>(&sparse, n, 1e-14);
        values_are_those::<f32>(&sparse, n, 2e-6);
    }
}

#[test]
fn the_largest_number_of_columns_needs_no_memory_of_their_size() {
    let d = u32::MAX as usize;
    let sparse = Sparse::new(50, d, 30, 2);
    let rows = AnyRows::Double(Rows::Csr(sparse.csr()));
    for kernel in KERNELS {
        let columns = Columns::<f32>::new(
            Gram::Kernel(kernel, rows),
            (0..50).collect(),
            &mut Watch::of_tests(),
        )
        .unwrap();
        let mut cache = RowCache::new(columns, 1 << 20, &Default::default()).unwrap();
        let mut slots = Vec::new();
        cache.request(&[3, 4, 9], &mut slots).unwrap();
        let values = cache.among(&slots, &[3, 4, 9]).unwrap();
        assert_eq!(values[1], values[3], "{kernel:?}");
    }
}

/// Sums of linear rows that are not kept, against sums of values.
#[test]
fn sums_by_weights_are_sums_of_rows() {
    let n = 1300;
    let sparse = Sparse::new(n, 3000, 60, 3);
    let dense = sparse.dense(n);
    let rows = AnyRows::Double(Rows::Csr(sparse.csr()));
    let index: Vec<usize> = (0..n).filter(|i| i % 5 != 1).collect();
    let columns = Columns::<f64>::new(
        Gram::Kernel(AnyKernel::Linear, rows),
        index.clone(),
        &mut Watch::of_tests(),
    );
    let columns = columns.unwrap();
    assert!(columns.sums_by_weights());
    let product = |a: usize, b: usize| AnyKernel::Linear.eval(&dense[index[a]], &dense[index[b]]);
    let terms: Vec<(u32, f64)> = (0..90).map(|t| (t * 11, f64::from(t) - 40.5)).collect();
    let mut sums = vec![0.5; index.len()];
    columns.add_by_weights(&terms, &mut sums).unwrap();
    for (at, sum) in sums.iter().enumerate() {
        let all = terms.iter().map(|&(s, coef)| coef * product(s as usize, at));
        assert!((sum - 0.5 - all.sum::<f64>()).abs() < 1e-11);
    }
    // A cache of a few bytes is large enough.
    let mut cache = RowCache::new(columns, 16, &Default::default()).unwrap();
    assert_eq!(cache.capacity(), index.len());
    let (wanted, at) = ([900, 2, 33], [5, 33, 600, 900]);
    let mut slots = Vec::new();
    cache.request(&wanted, &mut slots).unwrap();
    let values = cache.among(&slots, &at).unwrap();
    for (row, &a) in values.chunks(at.len()).zip(&wanted) {
        for (&value, &b) in row.iter().zip(&at) {
            assert!((value - product(a, b)).abs() < 1e-14);
        }
    }
    let mut again = vec![0.5; index.len()];
    let terms: Vec<(u32, f64)> = slots.iter().map(|&slot| (slot, 2.0)).collect();
    cache.accumulate(&terms, &mut again).unwrap();
    for (b, sum) in again.iter().enumerate() {
        let all: f64 = wanted.iter().map(|&a| 2.0 * product(a, b)).sum();
        assert!((sum - 0.5 - all).abs() < 1e-12);
    }
}
