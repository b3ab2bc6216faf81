use super::{Cholesky, GramAccumulator, Sides, Single, Tiles};
use super::{add_scaled_rows, dot, dots, pivoted_cholesky};
use crate::error::Error;
use crate::rng::Rng;

fn random(rng: &mut Rng, len: usize) -> Vec<f64> {
    (0..len).map(|_| rng.uniform() * 2.0 - 1.0).collect()
}

fn go_on() -> Result<(), Error> {
    Ok(())
}

fn outer(rows: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    for row in rows.chunks(n) {
        for i in 0..n {
            for j in 0..n {
                out[i * n + j] += row[i] * row[j];
            }
        }
    }
    out
}

fn gram(n: usize, count: usize, single: bool) {
    let all = GramAccumulator::new(n).unwrap();
    let few = GramAccumulator::of(n, count).unwrap();
    assert!(few.room() == count.min(all.room()));
    for sum in [all, few] {
        gram_by(sum, n, count, single);
    }
}

fn gram_by(mut sum: GramAccumulator, n: usize, count: usize, single: bool) {
    let mut rng = Rng::new(n as u64);
    let rows = random(&mut rng, n * count);
    for _ in 0..2 {
        sum.clear(single).unwrap();
        let mut first = 0;
        while first < count {
            let take = sum.room().min(count - first).min(700);
            // The last column is the factor.
            sum.push(take, |i| {
                let row = &rows[(first + i) * n..(first + i + 1) * n];
                (&row[..n - 1], row[n - 1])
            });
            first += take;
            if sum.room() == 0 || first == count {
                sum.flush(|| Ok::<(), ()>(())).unwrap();
            }
        }
    }
    let mut got = vec![1.0; n * n];
    sum.add_to(&mut got);
    let mut scaled = rows.clone();
    for row in scaled.chunks_mut(n) {
        for j in 0..n - 1 {
            row[j] *= row[n - 1];
        }
    }
    let want = outer(&scaled, n);
    for i in 0..n {
        for j in 0..=i {
            let (g, w) = (got[i * n + j] - 1.0, want[i * n + j]);
            let tolerance = if single { 1e-6 } else { 1e-13 };
            assert!((g - w).abs() <= tolerance * count as f64, "{i} {j}: {g} {w}");
        }
        for j in i + 1..n {
            assert_eq!(got[i * n + j], 1.0, "the upper triangle is untouched");
        }
    }
}

#[test]
fn gram_matches_the_outer_products() {
    for (n, count) in [(1, 5), (3, 1), (64, 100), (65, 1500), (130, 2100), (300, 40)] {
        gram(n, count, false);
        gram(n, count, true);
    }
}

#[test]
fn rows_of_no_columns_add_nothing() {
    let mut sum = GramAccumulator::new(0).unwrap();
    sum.clear(false).unwrap();
    sum.push(2, |_| (&[] as &[f64], 1.0));
    sum.flush(|| Ok::<(), ()>(())).unwrap();
    sum.add_to(&mut []);
}

#[test]
fn cholesky_solves_and_grows_its_jitter() {
    let mut rng = Rng::new(1);
    let n = 40;
    let full = outer(&random(&mut rng, n * 90), n);
    let x = random(&mut rng, n);
    let mut rhs = vec![0.0; n];
    dots(&full, &x, &mut rhs);
    let factor = Cholesky::factor("test", &full, n, 0.0, &mut go_on).unwrap();
    factor.solve(&mut rhs);
    for (a, b) in rhs.iter().zip(&x) {
        assert!((a - b).abs() < 1e-10);
    }
    // Rank 10: a jitter is needed, the solution is finite and solves what is solvable.
    let thin = outer(&random(&mut rng, n * 10), n);
    let mut want = vec![0.0; n];
    dots(&thin, &x, &mut want);
    let mut got = want.clone();
    let factor = Cholesky::factor("test", &thin, n, 1e-10, &mut go_on).unwrap();
    factor.solve(&mut got);
    let mut back = vec![0.0; n];
    dots(&thin, &got, &mut back);
    for (a, b) in back.iter().zip(&want) {
        assert!((a - b).abs() < 1e-6);
    }
    for bad in [vec![f64::NAN; 4], vec![-1.0, 0.0, 0.0, -1.0], vec![1.0, 0.0, f64::NAN, 1.0]] {
        assert!(Cholesky::factor("test", &bad, 2, 1e-12, &mut go_on).is_err());
        assert!(Cholesky::factor_small("test", &bad, 2, 1e-12, &mut go_on).is_err());
    }
}

#[test]
fn blocked_cholesky_is_the_plain_one_with_the_same_bits_on_any_threads() {
    let mut rng = Rng::new(9);
    for n in [1, 2, 16, 17, 127, 128, 129, 300, 513] {
        let mut full = outer(&random(&mut rng, n * (n + 5)), n);
        (0..n).for_each(|j| full[j * n + j] += 0.1);
        let x = random(&mut rng, n);
        let mut rhs = vec![0.0; n];
        dots(&full, &x, &mut rhs);
        let mut first: Option<Vec<f64>> = None;
        for threads in [1, 2, 3, 7] {
            let (mut got, mut looks) = (rhs.clone(), 0);
            crate::parallel::run(threads, |_| {
                let mut between = || {
                    looks += 1;
                    go_on()
                };
                Cholesky::factor("test", &full, n, 0.0, &mut between).unwrap().solve(&mut got);
            })
            .unwrap();
            assert_eq!(looks, n.div_ceil(128));
            let mut small = rhs.clone();
            let factor = Cholesky::factor_small("test", &full, n, 0.0, &mut go_on).unwrap();
            factor.solve(&mut small);
            for ((a, small), b) in got.iter().zip(&small).zip(&x) {
                assert!((a - b).abs().max((small - b).abs()) < 1e-8, "{n}: {a} {small} {b}");
            }
            assert_eq!(first.get_or_insert(got.clone()), &got);
        }
    }
    let mut stop = || Err(Error::Interrupted);
    assert!(matches!(Cholesky::factor("test", &[1.0], 1, 0.0, &mut stop), Err(Error::Interrupted)));
    assert!(matches!(pivoted_cholesky(&[1.0], 1, 0.0, &mut stop), Err(Error::Interrupted)));
}

fn tiles_of(matrix: &[f64], n: usize) -> Tiles {
    let mut tiles = Tiles::new(n).unwrap();
    tiles.add(&|i, j| matrix[i * n + j], go_on).unwrap();
    tiles
}

/// The lower triangle, row by row.
fn rounded(tiles: &Tiles) -> Vec<f32> {
    let n = tiles.order();
    let mut out = vec![0.0; n * n];
    tiles.copy_rows(0, &mut out, n);
    out
}

#[test]
fn tiles_are_factored_in_their_place() {
    let mut rng = Rng::new(14);
    for n in [1, 2, 63, 64, 65, 128, 200, 257, 390] {
        let rows = random(&mut rng, 2 * n * n);
        let matrix = outer(&rows, n);
        let mut back = vec![0.0; n * n];
        tiles_of(&matrix, n).add_to(&mut back);
        let below = |i: usize, j: usize| if j > i { 0.0 } else { matrix[i * n + j] };
        assert!((0..n * n).all(|at| back[at] == below(at / n, at % n)), "{n}");
        for jitter in [0.0, 0.3] {
            let twin = Cholesky::factor("test", &matrix, n, jitter, &mut go_on).unwrap();
            let mut first: Option<Vec<f32>> = None;
            for threads in [1, 2, 3, 7] {
                let mut got = tiles_of(&matrix, n);
                let mut factored = || got.factor(jitter, go_on).unwrap();
                assert!(crate::parallel::run(threads, |_| factored()).unwrap());
                let mut exact = vec![0.0; n * n];
                got.add_to(&mut exact);
                for at in (0..n * n).filter(|at| at % n <= at / n) {
                    let (a, b) = (exact[at], twin.lower()[at]);
                    assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{n} {at}: {a} {b}");
                }
                let got = rounded(&got);
                assert_eq!(first.get_or_insert(got.clone()), &got, "{n}, {threads} threads");
            }
        }
    }
    let mut minus = tiles_of(&[1.0, 2.0, 2.0, 1.0], 2);
    assert!(!minus.factor(0.0, go_on).unwrap());
    assert!(!tiles_of(&[f64::NAN], 1).factor(0.0, go_on).unwrap());
    let mut stopped = tiles_of(&[1.0], 1);
    assert!(matches!(stopped.factor(0.0, || Err(Error::Interrupted)), Err(Error::Interrupted)));
}

#[test]
fn one_right_side_is_solved_by_the_pool_with_the_same_bits_on_any_threads() {
    let mut rng = Rng::new(10);
    for n in [1, 127, 129, 1400] {
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                matrix[i * n + j] = 0.7f64.powi(i.abs_diff(j) as i32);
            }
        }
        let x = random(&mut rng, n);
        let mut factor = tiles_of(&matrix, n);
        assert!(factor.factor(0.0, go_on).unwrap());
        // The factor rounded, L̃: what L̃ᵀ and L̃ make of x is solved back.
        let rounded = rounded(&factor);
        let lower = |i: usize, j: usize| if j > i { 0.0 } else { f64::from(rounded[i * n + j]) };
        let up: Vec<f64> = (0..n).map(|j| (j..n).map(|i| lower(i, j) * x[i]).sum()).collect();
        let rhs: Vec<f64> = (0..n).map(|i| (0..=i).map(|j| lower(i, j) * up[j]).sum()).collect();
        let factor = Single::new(&factor, go_on).unwrap();
        let mut first: Option<Vec<f64>> = None;
        for threads in [1, 2, 3, 7] {
            let mut got = rhs.clone();
            crate::parallel::run(threads, |_| factor.solve(&mut got)).unwrap();
            for (a, b) in got.iter().zip(&x) {
                assert!((a - b).abs() < 1e-12, "{n}: {a} {b}");
            }
            assert_eq!(first.get_or_insert(got.clone()), &got);
            let mut half = up.clone();
            crate::parallel::run(threads, |_| factor.solve_upper(&mut half)).unwrap();
            assert!(half.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-12), "{n}");
        }
    }
}

#[test]
fn pivoted_cholesky_finds_the_rank() {
    let mut rng = Rng::new(2);
    for (n, rank) in [(1, 1), (20, 7), (30, 30), (50, 1)] {
        let matrix = outer(&random(&mut rng, n * rank), n);
        let got = pivoted_cholesky(&matrix, n, 1e-12, go_on).unwrap();
        assert_eq!(got.rank(), rank);
        // A pivot is where most of the diagonal is left.
        let mut left = matrix.clone();
        for &pivot in &got.pivots {
            let most = (0..n).max_by(|&i, &j| left[i * n + i].total_cmp(&left[j * n + j]));
            assert_eq!(Some(pivot), most);
            let column: Vec<f64> = (0..n).map(|i| left[i * n + pivot]).collect();
            for (at, left) in left.iter_mut().enumerate() {
                *left -= column[at / n] * column[at % n] / column[pivot];
            }
        }
        for i in 0..n {
            for j in 0..n {
                let value = dot(got.row(i), got.row(j));
                assert!((value - matrix[i * n + j]).abs() < 1e-10 * n as f64);
            }
        }
    }
    assert_eq!(pivoted_cholesky(&[0.0; 9], 3, 1e-12, go_on).unwrap().rank(), 0);
}

#[test]
fn row_products_match_plain_loops() {
    let mut rng = Rng::new(3);
    for b in [1, 7, 8, 9, 100] {
        let rows: Vec<f32> = random(&mut rng, 11 * b).into_iter().map(|v| v as f32).collect();
        let x = random(&mut rng, b);
        let mut out = vec![0.0; 11];
        dots(&rows, &x, &mut out);
        let picks: Vec<(u32, f64)> = (0..11).step_by(2).map(|k| (k, rng.uniform())).collect();
        let mut sum = vec![0.5; b];
        add_scaled_rows(&rows, &picks, &mut sum);
        for (i, out) in out.iter().enumerate() {
            let want: f64 = (0..b).map(|j| f64::from(rows[i * b + j]) * x[j]).sum();
            assert!((out - want).abs() < 1e-12);
        }
        for j in 0..b {
            let want: f64 =
                picks.iter().map(|&(k, a)| a * f64::from(rows[k as usize * b + j])).sum();
            assert!((sum[j] - 0.5 - want).abs() < 1e-12);
        }
    }
}

#[test]
fn vectors_side_by_side_meet_rows_as_one_by_one() {
    let mut rng = Rng::new(5);
    for (n, len, count) in [(0, 3, 2), (5, 0, 2), (1, 1, 1), (8, 7, 8), (67, 200, 10), (23, 40, 17)]
    {
        let rows: Vec<f32> = random(&mut rng, n * len).iter().map(|&v| v as f32).collect();
        let wide: Vec<f64> = rows.iter().map(|&v| f64::from(v)).collect();
        let (vectors, by) = (random(&mut rng, count * len), random(&mut rng, count * n));
        let vector = |c: usize| &vectors[c * len..(c + 1) * len];
        let mut sides = Sides::of((0..count).map(vector), len);
        let mut out = vec![0.0; n * count];
        sides.products(&rows, &mut out);
        for (i, out) in out.chunks(count).enumerate() {
            for (c, value) in out.iter().enumerate() {
                let plain = dot(&wide[i * len..(i + 1) * len], vector(c));
                assert!((value - plain).abs() < 1e-13 * (1 + len) as f64, "{n} {len} {count}");
            }
        }
        sides.add(&rows, &by);
        let mut twice = sides.clone();
        twice.plus(&sides);
        for c in 0..count {
            let mut plain = vector(c).to_vec();
            for i in 0..n {
                let row = &wide[i * len..(i + 1) * len];
                plain.iter_mut().zip(row).for_each(|(p, v)| *p += by[c * n + i] * v);
            }
            for ((value, twice), plain) in sides.vector(c).zip(twice.vector(c)).zip(plain) {
                assert!((value - plain).abs() < 1e-13 * (1 + n) as f64, "{n} {len} {count}");
                assert!(twice == 2.0 * value);
            }
        }
    }
}
