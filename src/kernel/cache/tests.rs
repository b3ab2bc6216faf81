use ndarray::Array2;

use super::*;
use crate::data::{Csr, Indices, Rows};
use crate::kernel::layout::COLUMN_CHUNK;
use crate::kernel::{AnyKernel, Classes, Gram};
use crate::rng::Rng;
use crate::watch::Watch;

fn data(n: usize, d: usize, seed: u64) -> Array2<f64> {
    let mut rng = Rng::new(seed);
    Array2::from_shape_fn((n, d), |_| (rng.uniform() * 5.0).floor() - 2.0)
}

const KERNELS: [AnyKernel; 4] = [
    AnyKernel::Gaussian { gamma: 0.3 },
    AnyKernel::Polynomial { gamma: 0.1, coef0: 1.0, degree: 2 },
    AnyKernel::Sigmoid { gamma: 0.1, coef0: -0.5 },
    AnyKernel::Linear,
];

/// One value of a present row.
fn value<F: Real>(cache: &RowCache<'_, F>, slot: u32, column: usize) -> F {
    cache.among(&[slot], &[column]).unwrap()[0]
}

fn cache<F: Real>(columns: Columns<'_, F>, bytes: usize) -> Result<RowCache<'_, F>> {
    RowCache::new(columns, bytes, &Arc::default())
}

/// Walks through requests of many sizes and compares every row with its naive twin.
fn walk<F: Real>(gram: Gram<'_>, index: Vec<usize>, naive: impl Fn(usize, usize) -> f64, tol: f64) {
    let n = index.len();
    let row_bytes = n.next_multiple_of(COLUMN_CHUNK) * size_of::<F>();
    let bound = 20 * row_bytes + 7;
    let mut cache =
        cache::<F>(Columns::new(gram, index.clone(), &mut Watch::of_tests()).unwrap(), bound)
            .unwrap();
    assert_eq!(cache.capacity(), 20);
    let mut rng = Rng::new(1);
    let mut slots = Vec::new();
    let diagonal = cache.columns().diagonal().unwrap();
    for round in 0..30 {
        let mut wanted: Vec<usize> = (0..1 + round % 20).map(|_| rng.below(n)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        cache.request(&wanted, &mut slots).unwrap();
        let values: usize = cache.chunks.iter().map(Vec::capacity).sum();
        assert!(values * size_of::<F>() <= bound);
        let mut sums = vec![0.5; n];
        let terms: Vec<(u32, f64)> = slots.iter().map(|&s| (s, 1.0 + f64::from(s))).collect();
        cache.accumulate(&terms, &mut sums).unwrap();
        for column in 0..n {
            let mut sum = 0.5;
            for (&row, &slot) in wanted.iter().zip(&slots) {
                let exact = naive(index[row], index[column]);
                let value = value(&cache, slot, column).to_f64();
                assert!((value - exact).abs() <= tol * (1.0 + exact.abs()), "{value} {exact}");
                sum += (1.0 + f64::from(slot)) * value;
                if row == column {
                    assert!((diagonal[row] - value).abs() <= tol * (1.0 + exact.abs()));
                }
            }
            assert!((sums[column] - sum).abs() < 1e-9 * (1.0 + sum.abs()));
        }
        // Computed or kept, a value has the same bits.
        let some: Vec<usize> = (0..n).step_by(7).collect();
        let among = cache.among(&slots, &some).unwrap();
        for (&slot, among) in slots.iter().zip(among.chunks_exact(some.len())) {
            let mut row = vec![0.0; n];
            cache.accumulate(&[(slot, 1.0)], &mut row).unwrap();
            assert!(some.iter().zip(among).all(|(&c, v)| row[c] == Real::to_f64(*v)));
        }
    }
}

#[test]
fn rows_are_those_of_the_naive_kernel_dense_sparse_and_given() {
    let x = data(1100, 6, 3);
    let index: Vec<usize> = (0..1100).filter(|i| i % 17 != 3).collect();
    let (mut values, mut columns, mut starts) = (vec![], vec![], vec![0i32]);
    for row in x.rows() {
        for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            values.push(v);
            columns.push(j as i32);
        }
        starts.push(values.len() as i32);
    }
    let csr = Csr::new(&values, Indices::I32(&columns), Indices::I32(&starts), 6).unwrap();
    for kernel in KERNELS {
        let rows: Vec<Vec<f64>> = x.rows().into_iter().map(|r| r.to_vec()).collect();
        let naive = |i: usize, j: usize| kernel.eval(&rows[i], &rows[j]);
        for rows in [Rows::Dense(x.view()), Rows::Csr(csr)] {
            walk::<f64>(Gram::Kernel(kernel, rows.into()), index.clone(), naive, 1e-13);
            walk::<f32>(Gram::Kernel(kernel, rows.into()), index.clone(), naive, 1e-5);
        }
        let matrix = Array2::from_shape_fn((1100, 1100), |(i, j)| naive(i, j));
        walk::<f64>(Gram::Given(matrix.view()), index.clone(), naive, 0.0);
    }
}

#[test]
fn wide_sparse_rows_are_read_as_they_come() {
    // Too many to be packed, and with too many entries to be held by feature.
    let (n, d) = (900, 90_000);
    let mut rng = Rng::new(5);
    let (mut values, mut columns, mut starts) = (vec![], vec![], vec![0i64]);
    for _ in 0..n {
        let row: Vec<i64> = (0..1100).filter(|_| rng.below(10) > 0).map(|j| j * 80).collect();
        values.extend(row.iter().map(|_| 0.03));
        columns.extend(row);
        starts.push(values.len() as i64);
    }
    let csr = Csr::new(&values, Indices::I64(&columns), Indices::I64(&starts), d).unwrap();
    let rows = Rows::Csr(csr);
    let mut dense = vec![vec![0.0; 1100]; n];
    for (i, row) in dense.iter_mut().enumerate() {
        csr.for_each(i, |column, value| row[column / 80] = value);
    }
    let naive = |i: usize, j: usize| KERNELS[0].eval(&dense[i], &dense[j]);
    walk::<f32>(Gram::Kernel(KERNELS[0], rows.into()), (0..n).collect(), naive, 1e-5);
}

/// Parts of the columns and products without stored rows have the values of the rows.
fn same_bits<F: Real>(gram: Gram<'_>, n: usize) {
    let columns = Columns::<F>::new(gram, (0..n).rev().collect(), &mut Watch::of_tests()).unwrap();
    let some: Vec<usize> = (0..n).filter(|c| c % 3 == 1).collect();
    let part = columns.part(&some).unwrap();
    let (mut all, mut few) =
        (cache(columns.clone(), usize::MAX).unwrap(), cache(part, usize::MAX).unwrap());
    let wanted: Vec<usize> = (0..some.len()).step_by(7).collect();
    let (mut slots, mut others) = (Vec::new(), Vec::new());
    few.request(&wanted, &mut slots).unwrap();
    all.request(&wanted.iter().map(|&w| some[w]).collect::<Vec<_>>(), &mut others).unwrap();
    let mut picked = vec![F::zero(); some.len()];
    for (&a, &b) in slots.iter().zip(&others) {
        picked.copy_from_slice(&all.among(&[b], &some).unwrap());
        for (local, &column) in some.iter().enumerate() {
            assert_eq!(value(&few, a, local), value(&all, b, column));
            assert_eq!(picked[local], value(&all, b, column));
        }
    }
    let coef = |i: usize| 1.5 - 0.1 * (i % 30) as f64;
    let terms: Vec<(usize, f64)> =
        wanted.iter().enumerate().map(|(i, &w)| (some[w], coef(i))).collect();
    let by_slot: Vec<(u32, f64)> =
        others.iter().enumerate().map(|(i, &slot)| (slot, coef(i))).collect();
    let mut rows = vec![0.25; n];
    all.accumulate(&by_slot, &mut rows).unwrap();
    let targets: Vec<usize> = (0..n).filter(|t| t % 4 != 2).collect();
    let mut sums = vec![0.25; targets.len()];
    columns.add_products(&targets, &terms, &mut sums).unwrap();
    for (&target, sum) in targets.iter().zip(sums) {
        assert!((sum - rows[target]).abs() <= 1e-12 * (1.0 + sum.abs()), "{sum} {}", rows[target]);
    }
}

#[test]
fn parts_and_products_have_the_values_of_the_rows() {
    let mut x = data(1200, 70, 4);
    // Norms so different that chunks alone would be computed in different ways.
    x.rows_mut().into_iter().step_by(400).for_each(|mut row| row *= 40.0);
    let (mut values, mut columns, mut starts) = (vec![], vec![], vec![0i32]);
    for row in x.rows() {
        for (j, &v) in row.iter().enumerate().filter(|(j, _)| j % 5 == 0) {
            values.push(v);
            columns.push(j as i32);
        }
        starts.push(values.len() as i32);
    }
    let csr = Csr::new(&values, Indices::I32(&columns), Indices::I32(&starts), 70).unwrap();
    let matrix = Array2::from_shape_fn((1200, 1200), |(i, j)| ((i * j) % 11) as f64);
    for rows in [Rows::Dense(x.view()), Rows::Csr(csr)] {
        for kernel in [AnyKernel::Gaussian { gamma: 0.01 }, KERNELS[1], KERNELS[3]] {
            same_bits::<f32>(Gram::Kernel(kernel, rows.into()), 1200);
            same_bits::<f64>(Gram::Kernel(kernel, rows.into()), 1200);
        }
    }
    same_bits::<f64>(Gram::Given(matrix.view()), 1200);
}

#[test]
fn a_bound_below_two_rows_is_refused() {
    let x = data(600, 2, 1);
    let gram = Gram::Kernel(AnyKernel::Linear, Rows::Dense(x.view()).into());
    let cache = |bytes| {
        cache::<f64>(Columns::new(gram, (0..600).collect(), &mut Watch::of_tests()).unwrap(), bytes)
    };
    assert!(matches!(cache(1024 * 8), Err(Error::OutOfMemory { .. })));
    assert_eq!(cache(2 * 1024 * 8).unwrap().capacity(), 2);
}

/// Classes of 700, 40 and 300 samples; rows of every pair, in caches that hold few or all of them.
fn pairs_share_rows<F: Real>(gram: Gram<'_>, tol: f64, naive: impl Fn(usize, usize) -> f64) {
    let of_class: Vec<Vec<usize>> =
        vec![(0..700).collect(), (700..740).rev().collect(), (740..1040).collect()];
    let none = Classes::<F>::new(gram, &of_class, (0, 1), &mut Watch::of_tests()).unwrap().unwrap();
    let all = RowCache::all_bytes(&none.pair(0, 2));
    let mut first: Option<Vec<F>> = None;
    // No room for shared rows, for one of them, and for all.
    for (bytes, most) in [(all, 0), (all + 700 * size_of::<F>(), 1), (usize::MAX, usize::MAX)] {
        let classes = Classes::<F>::new(gram, &of_class, (bytes, 1), &mut Watch::of_tests())
            .unwrap()
            .unwrap();
        let (mut seen, mut asked) = (Vec::new(), [false; 700]);
        for (i, j) in [(0, 1), (0, 2), (1, 2), (0, 2)] {
            let columns = classes.pair(i, j);
            let index = [of_class[i].as_slice(), &of_class[j]].concat();
            assert_eq!(columns.index(), index);
            let n = index.len();
            let mut cache = cache::<F>(columns, 70 * 1024 * size_of::<F>()).unwrap();
            let mut rng = Rng::new(7);
            let mut slots = Vec::new();
            for _ in 0..6 {
                let mut wanted: Vec<usize> = (0..60).map(|_| rng.below(n)).collect();
                wanted.sort_unstable();
                wanted.dedup();
                cache.request(&wanted, &mut slots).unwrap();
                wanted
                    .iter()
                    .filter(|&&row| i == 0 && row < 700)
                    .for_each(|&row| asked[row] = true);
                let columns: Vec<usize> = (0..n).filter(|c| c % 5 != 2).collect();
                let mut picked = vec![F::zero(); columns.len()];
                for (&row, &slot) in wanted.iter().zip(&slots) {
                    picked.copy_from_slice(&cache.among(&[slot], &columns).unwrap());
                    for (&column, &value) in columns.iter().zip(&picked) {
                        let exact = naive(index[row], index[column]);
                        assert!((value.to_f64() - exact).abs() <= tol * (1.0 + exact.abs()));
                        assert_eq!(cache.among(&[slot], &[column]).unwrap(), [value]);
                    }
                    seen.extend_from_slice(&picked);
                }
                let terms: Vec<(u32, f64)> = slots.iter().map(|&slot| (slot, 0.5)).collect();
                let mut sums = vec![0.0; n];
                cache.accumulate(&terms, &mut sums).unwrap();
                for (column, sum) in sums.into_iter().enumerate() {
                    let values = slots.iter().map(|&slot| value(&cache, slot, column).to_f64());
                    let exact = 0.5 * values.sum::<f64>();
                    assert!((sum - exact).abs() <= 1e-9 * (1.0 + exact.abs()));
                }
            }
        }
        let first_class = classes.pair(0, 1);
        let kept = (0..700)
            .filter(|&row| first_class.own(row).is_some_and(|(own, at)| own.row(at).is_some()))
            .count();
        assert_eq!(kept, asked.into_iter().filter(|asked| *asked).count().min(most));
        assert!(seen == *first.get_or_insert_with(|| seen.clone()), "the same bits");
    }
}

#[test]
fn machines_of_pairs_share_the_rows_of_their_classes() {
    let mut x = data(1040, 20, 6);
    x.rows_mut().into_iter().skip(750).step_by(100).for_each(|mut row| row *= 30.0);
    let rows: Vec<Vec<f64>> = x.rows().into_iter().map(|r| r.to_vec()).collect();
    for kernel in [AnyKernel::Gaussian { gamma: 0.01 }, KERNELS[1], KERNELS[3]] {
        let naive = |i: usize, j: usize| kernel.eval(&rows[i], &rows[j]);
        let gram = Gram::Kernel(kernel, Rows::Dense(x.view()).into());
        pairs_share_rows::<f64>(gram, 1e-12, naive);
        pairs_share_rows::<f32>(gram, 1e-4, naive);
    }
    let matrix = Array2::<f64>::eye(3);
    let given = Classes::<f64>::new(
        Gram::Given(matrix.view()),
        &[vec![0], vec![1, 2]],
        (1, 1),
        &mut Watch::of_tests(),
    );
    assert!(given.unwrap().is_none(), "values that are given are not kept");
}
