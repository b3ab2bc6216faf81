//! Every level against naive twins.

use super::primitives::{exp_in_place_at, inner_at, meet_shorts_at, meet_singles_at, meet_wide_at};
use super::*;
use crate::float::Real;
use crate::rng::Rng;

fn ulps(got: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    let ulp = f64::from(f32::from_bits(nearest.to_bits() + 1)) - f64::from(nearest);
    (f64::from(got) - exact).abs() / ulp
}

/// Every `step`-th float of [-104, 0], at every level: within 2 ulp and monotone.
fn exp_holds(step: u32) {
    for level in levels() {
        let mut last = f32::INFINITY;
        let mut bits = 0.0f32.to_bits();
        let mut batch = Vec::new();
        let end = 104.0f32.to_bits();
        while bits <= end {
            batch.clear();
            while bits <= end && batch.len() < 1 << 16 {
                batch.push(-f32::from_bits(bits));
                bits += step;
            }
            let mut out = batch.clone();
            exp_in_place_at(level, &mut out);
            for (&x, &got) in batch.iter().zip(&out) {
                assert!(ulps(got, f64::from(x).exp()) <= 2.0, "{level:?} exp({x}) = {got}");
                assert!(got <= last, "{level:?} not monotone at {x}");
                last = got;
            }
        }
    }
}

#[test]
fn exp_f32_is_within_two_ulp_on_a_stride() {
    // Miri takes microseconds an operation.
    exp_holds(if cfg!(miri) { 999_983 } else { 997 });
}

#[test]
#[ignore = "exhaustive: run by `make long`"]
fn exp_f32_is_within_two_ulp_everywhere() {
    exp_holds(1);
}

#[test]
fn exp_f64_is_within_two_ulp() {
    let mut rng = Rng::new(1);
    for level in levels() {
        let count = if cfg!(miri) { 300 } else { 200_000 };
        let xs: Vec<f64> = (0..count).map(|_| -745.0 * rng.uniform().powi(3)).collect();
        let mut out = xs.clone();
        exp_in_place_at(level, &mut out);
        for (&x, &got) in xs.iter().zip(&out) {
            let exact = x.exp();
            let ulp = f64::from_bits(exact.to_bits() + 1) - exact;
            assert!((got - exact).abs() <= 2.0 * ulp, "{level:?} exp({x}) = {got}, not {exact}");
        }
    }
}

#[test]
fn exp_at_the_ends() {
    for level in levels() {
        let mut single = [0.0f32, -0.0, f32::NEG_INFINITY, -1e30, -104.0];
        exp_in_place_at(level, &mut single);
        assert_eq!(single, [1.0, 1.0, 0.0, 0.0, 0.0]);
        let mut double = [0.0f64, f64::NEG_INFINITY, -1e300, -800.0];
        exp_in_place_at(level, &mut double);
        assert_eq!(double, [1.0, 0.0, 0.0, 0.0]);
    }
}

fn naive(metric: Metric, gamma: f64, x: &[f64], s: &[f64]) -> f64 {
    let pairs = x.iter().zip(s);
    match metric {
        Metric::Dot => pairs.map(|(a, b)| a * b).sum(),
        Metric::Absolute => gamma * pairs.map(|(a, b)| (a - b).abs()).sum::<f64>(),
        _ => gamma * pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>(),
    }
}

/// A third of the values are 0, and of a third of eights of them all.
fn row_with_blanks<F: Real>(rng: &mut Rng, d: usize) -> Vec<F> {
    let mut row = Vec::with_capacity(d + 8);
    while row.len() < d {
        let blank = rng.below(3) == 0;
        row.extend((0..8).map(|_| match rng.below(3) {
            0 => 0.0,
            _ if blank => 0.0,
            _ => rng.uniform() * 2.0 - 1.0,
        }));
    }
    row[..d].iter().map(|&v| F::from_f64(v)).collect()
}

fn blocks_agree<F: Real>(tolerance: f64) {
    let mut rng = Rng::new(7);
    let metrics = [
        Metric::Dot,
        Metric::SquaredByNorms,
        Metric::SquaredInParts,
        Metric::Squared,
        Metric::Absolute,
    ];
    let sizes =
        [(1, 1, 1), (3, 5, 17), (3, 9, 0), (22, 37, 40), (123, 20, 100), (5, 13, 16), (2, 64, 7)];
    // More points than share lines, and more values than are written out of sparse rows at once.
    let sizes = [&sizes[..], &[(5, 150, 16), (1100, 70, 20)]].concat();
    for &(d, n, b) in if cfg!(miri) { &sizes[..3] } else { &sizes[..] } {
        let mut row = || row_with_blanks::<F>(&mut rng, d);
        let points: Vec<Vec<F>> = (0..n).map(|_| row()).collect();
        let centers: Vec<Vec<F>> = (0..b).map(|_| row()).collect();
        let mut packed = Packed::new(d).unwrap();
        centers.iter().for_each(|c| packed.push(c).unwrap());
        let stride = packed.padded_len();
        let coef: Vec<f64> =
            (0..stride).map(|j| if j < b { 0.1 * j as f64 - 1.0 } else { 0.0 }).collect();
        let mut dense = Tile::new(d);
        dense.fill_dense(n, |i, out| out.copy_from_slice(&points[i]));
        let mut sparse = Tile::new(d);
        sparse.fill_sparse(n, |i, columns, entries| {
            for (k, &v) in points[i].iter().enumerate().filter(|(_, v)| !v.is_zero()) {
                columns.push(k as u32);
                entries.push(v);
            }
        });
        for (tile, level, metric, exponential) in [&dense, &sparse]
            .into_iter()
            .flat_map(|t| levels().into_iter().map(move |l| (t, l)))
            .flat_map(|(t, l)| metrics.into_iter().map(move |m| (t, l, m)))
            .flat_map(|(t, l, m)| [false, true].into_iter().map(move |e| (t, l, m, e)))
            .filter(|&(_, _, m, e)| !(e && m == Metric::Dot))
        {
            let gamma = 0.3;
            let mut out = vec![F::zero(); n * stride];
            let mut sums = vec![0.0; n];
            run_block_at(
                level,
                &mut Job {
                    tile,
                    first: 0,
                    last: n,
                    centers: &packed,
                    slots: (0, packed.padded_len()),
                    metric,
                    gamma: F::from_f64(gamma),
                    map: if metric == Metric::Dot { Map::Identity } else { Map::Exponential },
                    values: Some(Values { out: &mut out, stride, mapped: exponential }),
                    sums: Some(Sums { coef: &coef, out: &mut sums }),
                },
            );
            let doubled = |v: &[F]| -> Vec<f64> { v.iter().map(|&v| v.to_f64()).collect() };
            for i in 0..n {
                let mut sum = 0.0;
                for j in 0..b {
                    let exact = naive(metric, gamma, &doubled(&points[i]), &doubled(&centers[j]));
                    let kernel = if metric == Metric::Dot { exact } else { (-exact).exp() };
                    let want = if exponential { kernel } else { exact };
                    let got = out[i * stride + j].to_f64();
                    let scale = 1.0 + want.abs();
                    assert!(
                        (got - want).abs() <= tolerance * scale,
                        "{level:?} {metric:?} d={d}: {got} for {want}"
                    );
                    sum += coef[j] * kernel;
                }
                assert!((sums[i] - sum).abs() <= tolerance * 10.0 * (b as f64), "{level:?} sum");
            }
        }
    }
}

#[test]
fn blocks_agree_with_the_naive_twin() {
    blocks_agree::<f32>(2e-5);
    blocks_agree::<f64>(1e-13);
}

#[test]
fn a_point_is_at_distance_zero_from_itself() {
    let mut rng = Rng::new(3);
    let metrics = [Metric::SquaredByNorms, Metric::SquaredInParts];
    let sizes = if cfg!(miri) { &[1, 7][..] } else { &[1, 7, 54, 64, 65, 200, 513] };
    for (&d, metric) in sizes.iter().flat_map(|d| metrics.map(|metric| (d, metric))) {
        let row: Vec<f32> = (0..d).map(|_| (rng.uniform() * 1e4) as f32).collect();
        let mut packed = Packed::new(d).unwrap();
        packed.push(&row).unwrap();
        for n in [1, 4, 6, 12, 23] {
            let mut tile = Tile::new(d);
            tile.fill_dense(n, |_, out| out.copy_from_slice(&row));
            let mut out = vec![1.0f32; n * 16];
            run_block(&mut Job {
                tile: &tile,
                first: 0,
                last: n,
                centers: &packed,
                slots: (0, packed.padded_len()),
                metric,
                gamma: 1.0,
                map: Map::Identity,
                values: Some(Values { out: &mut out, stride: 16, mapped: false }),
                sums: None,
            });
            assert!(out.iter().step_by(16).all(|&g| g == 0.0), "{metric:?} d = {d}, n = {n}");
        }
    }
}

#[test]
fn searches_find_what_a_plain_loop_finds() {
    let mut rng = Rng::new(5);
    let lengths = [0, 1, 15, 31, 32, 33, 64, 500, 511];
    for &len in if cfg!(miri) { &lengths[..6] } else { &lengths } {
        let values: Vec<f64> = (0..len).map(|_| rng.uniform() - 0.5).collect();
        for limit in [-1.0, -0.45, 0.0, 1.0] {
            let plain = values.iter().position(|&v| v <= limit);
            let plain = plain.unwrap_or(values.len().saturating_sub(1));
            assert_eq!(first_at_most(&values, limit), plain, "{len} {limit}");
            let single: Vec<f32> = values.iter().map(|&v| v as f32).collect();
            assert_eq!(first_at_most(&single, limit as f32), plain, "{len} {limit}");
            let plain: Vec<usize> = (0..len).filter(|&i| values[i] <= limit).collect();
            let mut found = vec![7];
            indices_at_most(&values, limit, &mut found);
            assert_eq!(found[1..], plain, "{len} {limit}");
            found.clear();
            indices_at_most(&single, limit as f32, &mut found);
            assert_eq!(found, plain, "{len} {limit}");
        }
        let row: Vec<f32> = (0..len + 5).map(|_| rng.uniform() as f32).collect();
        for own in [-0.3, 2.0] {
            let kept = |i: usize| if values[i] * own > 0.0 { row[i] } else { f32::INFINITY };
            let plain: Vec<f32> = (0..len).map(kept).collect();
            let mut out = vec![0.0f32; len];
            let nearest = same_sign_distances(&values, own, &row, &mut out);
            assert_eq!(out, plain, "{len} {own}");
            assert_eq!(nearest, plain.iter().copied().fold(f32::INFINITY, f32::min));
        }
    }
}

#[test]
fn vectors_side_by_side_are_what_each_is_alone() {
    let mut rng = Rng::new(6);
    for (lines, count) in [(0, 1), (1, 8), (2, 3), (13, 13), (13, 7)] {
        let len = lines * SIDE;
        let rows: Vec<f64> = (0..count * len).map(|_| rng.normal()).collect();
        let row = |r: usize| &rows[r * len..][..len];
        let mut side = || Side(std::array::from_fn(|_| rng.normal()));
        let mut panel: Vec<Side> = (0..len).map(|_| side()).collect();
        let before = panel.clone();
        let mut found = vec![Side::default(); count];
        side_products(&rows, &panel, &mut found);
        // Not all rows, and not in their order.
        let which: Vec<usize> = (0..count).rev().step_by(2).collect();
        let gains: Vec<Side> = which.iter().map(|_| side()).collect();
        add_to_side(&rows, (&which, &gains), &mut panel);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-13 * (1 + len) as f64, "{a} {b}");
        for lane in 0..SIDE {
            for r in 0..count {
                let plain: f64 = row(r).iter().zip(&before).map(|(a, b)| a * b.0[lane]).sum();
                close(found[r].0[lane], plain);
            }
            for j in 0..len {
                let gains = which.iter().zip(&gains);
                let gained: f64 = gains.map(|(&r, by)| by.0[lane] * row(r)[j]).sum();
                close(panel[j].0[lane], before[j].0[lane] + gained);
            }
        }
        for later in 0..count.min(8) {
            let mut out = vec![0.0; later];
            products_with_next(&rows, len, &mut out);
            for (r, product) in out.into_iter().enumerate() {
                close(product, row(0).iter().zip(row(r + 1)).map(|(a, b)| a * b).sum());
            }
        }
    }
}

#[test]
fn sums_of_several_rows_are_the_bits_of_one_row_at_a_time() {
    let mut rng = Rng::new(5);
    for outputs in 1..10 {
        let (len, values) = (3, 48);
        let rows: Vec<f32> = (0..len * values).map(|_| rng.uniform() as f32).collect();
        let coef: Vec<f64> = (0..outputs * values).map(|_| rng.uniform() - 0.5).collect();
        let mut out = vec![0.0; len * outputs];
        weighted_sums_of(&rows, len, (&coef, outputs), &mut out);
        for (row, out) in rows.chunks(values).zip(out.chunks(outputs)) {
            let mut single = vec![0.0; outputs];
            weighted_sums(row, &coef, &mut single);
            assert_eq!(single, out);
            for (coef, got) in coef.chunks(values).zip(out) {
                let plain: f64 = row.iter().zip(coef).map(|(r, c)| f64::from(*r) * c).sum();
                assert!((plain - got).abs() < 1e-12);
            }
        }
    }
}

/// Lengths about those of a line and of four, at every level.
#[test]
fn inner_products_are_sums_of_products() {
    fn check<F: Real>() {
        for n in (0..70).chain([127, 128, 200, 1000, 1008]) {
            let value = |i: usize, k: usize| F::from_f64(((i * k) % 17) as f64 - 8.0);
            let a: Vec<F> = (0..n).map(|i| value(i, 5)).collect();
            let b: Vec<F> = (0..n).map(|i| value(i, 7)).collect();
            let plain: f64 =
                a.iter().zip(&b).map(|(a, b)| Real::to_f64(*a) * Real::to_f64(*b)).sum();
            for level in levels() {
                // Whole numbers: no sum of them is rounded.
                assert_eq!(Real::to_f64(inner_at(level, &a, &b)), plain, "{level:?} {n}");
            }
        }
    }
    check::<f32>();
    check::<f64>();
}

/// Alone or with others, of either width, at every level: a row's product has the same bits, and a vector
/// that rows are added to.
#[test]
fn rows_that_meet_a_vector_together_change_no_bit() {
    let mut rng = Rng::new(3);
    // Below and beyond the length from which on some are taken at once, of both widths (of which Miri
    // takes minutes).
    let (step, long) = if cfg!(miri) { (13, 1) } else { (1, 5) };
    for n in (0..70).step_by(step).chain([1031, 1000, 1024, 2048, 2500].into_iter().take(long)) {
        let count = 19;
        let shorts: Vec<Vec<i16>> =
            (0..count).map(|_| (0..n).map(|_| rng.below(60_001) as i16).collect()).collect();
        let singles: Vec<Vec<f32>> =
            shorts.iter().map(|row| row.iter().map(|&v| f32::from(v)).collect()).collect();
        let x: Vec<f32> = (0..n).map(|_| rng.uniform() as f32 - 0.5).collect();
        let shorts: Vec<&[i16]> = shorts.iter().map(Vec::as_slice).collect();
        let singles: Vec<&[f32]> = singles.iter().map(Vec::as_slice).collect();
        let mut alone = (Vec::new(), vec![1.0; n]);
        for row in &singles {
            let product = meet_singles_at(Level::Scalar, &[row], &x, &mut alone.1);
            let plain = |(a, b): (&f32, &f32)| f64::from(*a) * f64::from(*b);
            let exact: f64 = row.iter().zip(&x).map(plain).sum();
            let size: f64 = row.iter().zip(&x).map(|pair| plain(pair).abs()).sum();
            assert!((f64::from(product[0]) - exact).abs() <= 1e-5 * size, "{n}");
            alone.0.extend(product);
        }
        for level in levels() {
            let mut y = vec![1.0; n];
            let products = meet_shorts_at(level, &shorts, &x, &mut y);
            assert_eq!((products, y), alone, "{level:?} {n}");
            let mut y = vec![1.0; n];
            let products = meet_singles_at(level, &singles, &x, &mut y);
            assert_eq!((products, y), alone, "{level:?} {n}");
        }
        let wide: Vec<f64> = x.iter().map(|&v| f64::from(v)).collect();
        let mut alone = (Vec::new(), vec![1.0; n]);
        for row in &singles {
            alone.0.extend(meet_wide_at(Level::Scalar, &[row], &wide, &mut alone.1));
            let exact: f64 = row.iter().zip(&wide).map(|(a, b)| f64::from(*a) * b).sum();
            assert!((alone.0[alone.0.len() - 1] - exact).abs() < 1e-7, "{n}");
        }
        // What was added, by the plain sums.
        for (j, y) in alone.1.iter().enumerate() {
            let exact: f64 =
                singles.iter().zip(&alone.0).map(|(row, by)| f64::from(row[j]) * by).sum();
            assert!((y - 1.0 - exact).abs() <= 1e-9 * (1.0 + exact.abs()), "{n}");
        }
        for level in levels() {
            let mut y = vec![1.0; n];
            let products = meet_wide_at(level, &singles, &wide, &mut y);
            assert_eq!((products, y), alone, "{level:?} {n}");
        }
    }
}

/// Alone, among others, kept sparse, and with centres that are too few for zeros to be looked for: a
/// point meets a centre with the same bits.
#[test]
fn zeros_change_no_bit_with_the_block() {
    fn check<F: Real>() {
        let (d, n, b) = if cfg!(miri) { (70, 5, 70) } else { (203, 77, 210) };
        let mut rng = Rng::new(11);
        let mut rows =
            |n: usize| -> Vec<Vec<F>> { (0..n).map(|_| row_with_blanks(&mut rng, d)).collect() };
        let (points, centers) = (rows(n), rows(b));
        let mut packed = Packed::new(d).unwrap();
        centers.iter().for_each(|c| packed.push(c).unwrap());
        let (all, line) = ((0, packed.padded_len()), Packed::<F>::line());
        let (mut dense, mut sparse) = (Tile::new(d), Tile::new(d));
        dense.fill_dense(n, |i, out| out.copy_from_slice(&points[i]));
        sparse.fill_sparse(n, |i, columns, entries| {
            for (k, &v) in points[i].iter().enumerate().filter(|(_, v)| !v.is_zero()) {
                columns.push(k as u32);
                entries.push(v);
            }
        });
        let metrics =
            [Metric::Dot, Metric::SquaredByNorms, Metric::SquaredInParts, Metric::Squared];
        for (level, metric) in
            levels().into_iter().flat_map(|level| metrics.map(|metric| (level, metric)))
        {
            let values = |tile: &Tile<F>, (first, last): (usize, usize), slots: (usize, usize)| {
                let stride = slots.1 - slots.0;
                let mut out = vec![F::zero(); (last - first) * stride];
                let values = Values { out: &mut out, stride, mapped: false };
                run_block_at(
                    level,
                    &mut Job {
                        tile,
                        first,
                        last,
                        centers: &packed,
                        slots,
                        metric,
                        gamma: F::one(),
                        map: Map::Identity,
                        values: Some(values),
                        sums: None,
                    },
                );
                out
            };
            let together = values(&dense, (0, n), all);
            let as_sparse = values(&sparse, (0, n), all);
            assert!(together == as_sparse, "{level:?} {metric:?}: sparse");
            let alone: Vec<F> = (0..n).flat_map(|i| values(&dense, (i, i + 1), all)).collect();
            assert!(together == alone, "{level:?} {metric:?}: alone");
            for from in (0..all.1).step_by(line) {
                let few = values(&dense, (0, n), (from, from + line));
                for (row, own) in together.chunks(all.1).zip(few.chunks(line)) {
                    assert!(&row[from..][..line] == own, "{level:?} {metric:?}: few");
                }
            }
        }
    }
    check::<f32>();
    check::<f64>();
}
