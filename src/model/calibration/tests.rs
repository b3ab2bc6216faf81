//! Curves against their slow definitions and the laws that labels were drawn by.

use super::fit::isotonic;
use super::likelihood::{sharpness, sigmoid};
use super::{Calibration, CalibrationMethod, Outputs};
use crate::rng::Rng;

#[test]
fn sigmoid_and_softmax_find_what_labels_were_drawn_by() {
    let mut rng = Rng::new(17);
    let n = 4000;
    let values: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
    let positive: Vec<bool> =
        values.iter().map(|f| rng.uniform() < 1.0 / (1.0 + (-2.0 * f + 0.5).exp())).collect();
    let weights = vec![1.0; n];
    let [a, b] = sigmoid(&values, &positive, &weights, || Ok(())).unwrap();
    assert!((a + 2.0).abs() < 0.2 && (b - 0.5).abs() < 0.15, "{a} {b}");
    // No slope is left, and the unit of the values is none of it.
    let (yes, off) =
        (positive.iter().filter(|p| **p).count() as f64, |f: f64| 1.0 / (1.0 + (a * f + b).exp()));
    let wanted = |p: bool| if p { (yes + 1.0) / (yes + 2.0) } else { 1.0 / (n as f64 - yes + 2.0) };
    let slope = |power: i32| -> f64 {
        values.iter().zip(&positive).map(|(f, p)| (off(*f) - wanted(*p)) * f.powi(power)).sum()
    };
    assert!(slope(0).abs() < 1e-5 && slope(1).abs() < 1e-5, "{} {}", slope(0), slope(1));
    let large: Vec<f64> = values.iter().map(|f| f * 1e200).collect();
    let [c, d] = sigmoid(&large, &positive, &weights, || Ok(())).unwrap();
    assert!((c * 1e200 / a - 1.0).abs() < 1e-6 && (d - b).abs() < 1e-6);
    let values: Vec<f32> = (0..3 * n).map(|_| rng.normal() as f32).collect();
    let classes: Vec<u32> = values
        .chunks_exact(3)
        .map(|row| {
            let e: Vec<f64> = row.iter().map(|f| (1.5 * f64::from(*f)).exp()).collect();
            let at = rng.uniform() * e.iter().sum::<f64>();
            if at < e[0] { 0 } else { 1 + u32::from(at >= e[0] + e[1]) }
        })
        .collect();
    let t = sharpness(&values, 3, &classes, &vec![1.0; n], &mut || Ok(())).unwrap();
    assert!((t - 1.5).abs() < 0.15, "{t}");
}

/// Against the slow definition: the largest mean from the left of the least mean to the right.
#[test]
fn an_isotonic_curve_is_max_min() {
    let mut rng = Rng::new(3);
    for n in [1, 2, 7, 40] {
        let values: Vec<f64> = (0..n).map(|i| f64::from(i as u32)).collect();
        let positive: Vec<bool> =
            values.iter().map(|v| rng.uniform() * f64::from(n as u32) < *v).collect();
        let weights: Vec<f64> = (0..n).map(|_| 0.5 + rng.uniform()).collect();
        let curve = isotonic(&values, &positive, &weights);
        let least = 1.0 / (weights.iter().sum::<f64>() + 2.0);
        let mean = |a: usize, b: usize| -> f64 {
            let yes: f64 = (a..=b).filter(|&i| positive[i]).map(|i| weights[i]).sum();
            yes / weights[a..=b].iter().sum::<f64>()
        };
        for i in 0..n {
            let low = |a: usize| (i..n).map(|b| mean(a, b)).fold(f64::INFINITY, f64::min);
            let want = (0..=i).map(low).fold(0.0, f64::max).clamp(least, 1.0 - least);
            assert!((curve.share(values[i]) - want).abs() < 1e-12);
        }
    }
}

/// Probabilities are what decisions were drawn by, whatever the method; files bring them back.
#[test]
fn curves_find_the_law_that_made_the_labels() {
    let mut rng = Rng::new(5);
    let n = 4000;
    let values: Vec<f64> = (0..n).map(|_| 4.0 * rng.uniform() - 2.0).collect();
    let law = |f: f64| 1.0 / (1.0 + (-2.0 * f).exp());
    let classes: Vec<u32> = values.iter().map(|&f| u32::from(rng.uniform() < law(f))).collect();
    let weights = vec![1.0; n];
    let outputs = Outputs { n_classes: 2, pairs: false };
    for method in
        [CalibrationMethod::Sigmoid, CalibrationMethod::Isotonic, CalibrationMethod::Temperature]
    {
        let made = Calibration::fit(method, (&values, outputs), &classes, &weights).unwrap();
        let found = made.probabilities(&values).unwrap();
        let error: f64 =
            found.chunks_exact(2).zip(&values).map(|(p, &f)| (p[1] - law(f)).abs()).sum();
        assert!(error / (n as f64) < 0.03, "{method:?} {error}");
        let again = Calibration::from_section(made.to_section()).unwrap();
        assert_eq!(again, made);
        // A row of weight 2 is two rows.
        let twice: Vec<f64> = values.iter().chain(&values).copied().collect();
        let both: Vec<u32> = classes.iter().chain(&classes).copied().collect();
        let doubled = Calibration::fit(method, (&twice, outputs), &both, &vec![1.0; 2 * n]);
        let heavy = Calibration::fit(method, (&values, outputs), &classes, &vec![2.0; n]);
        let (a, b) = (doubled.unwrap(), heavy.unwrap());
        let same = a.probabilities(&values).unwrap();
        let far = same.iter().zip(b.probabilities(&values).unwrap()).map(|(a, b)| (a - b).abs());
        assert!(far.fold(0.0, f64::max) < 1e-9);
    }
}

/// Several classes, by values a class or a pair.
#[test]
fn several_classes_sum_to_one() {
    let mut rng = Rng::new(7);
    for (pairs, m) in [(false, 4), (true, 6)] {
        let n = 400;
        let classes: Vec<u32> = (0..n as u32).map(|i| i % 4).collect();
        let pair = |c: usize| [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)][c];
        let mut values = Vec::new();
        for &class in &classes {
            for c in 0..m {
                let centre = if pairs {
                    let (i, j) = pair(c);
                    f64::from(u8::from(class == i)) - f64::from(u8::from(class == j))
                } else {
                    f64::from(u8::from(class as usize == c))
                };
                values.push(centre + 0.4 * rng.uniform());
            }
        }
        let outputs = Outputs { n_classes: 4, pairs };
        for method in [
            CalibrationMethod::Sigmoid,
            CalibrationMethod::Isotonic,
            CalibrationMethod::Temperature,
        ] {
            let made =
                Calibration::fit(method, (&values, outputs), &classes, &vec![1.0; n]).unwrap();
            let found = made.probabilities(&values).unwrap();
            for ((p, row), &class) in
                found.chunks_exact(4).zip(values.chunks_exact(m)).zip(&classes)
            {
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                assert!(p.iter().all(|p| (0.0..=1.0).contains(p)));
                assert_eq!(made.class(row).unwrap(), class as usize);
                assert!(p[class as usize] > 0.5);
            }
            assert_eq!(Calibration::from_section(made.to_section()).unwrap(), made);
        }
    }
}

#[test]
fn auto_takes_what_is_likeliest_on_rows_that_were_left_out() {
    let mut rng = Rng::new(23);
    let n = 6000;
    let two = Outputs { n_classes: 2, pairs: false };
    let equal = vec![1.0; n];
    let values: Vec<f64> = (0..n).map(|_| 4.0 * rng.uniform() - 2.0).collect();
    let mut drawn = |law: &dyn Fn(f64) -> f64| -> Vec<u32> {
        values.iter().map(|&f| u32::from(rng.uniform() < law(f))).collect()
    };
    // No sigmoid: a plateau far from 0 and from 1.
    let plateau = drawn(&|f| {
        if f < -1.0 {
            0.02
        } else if f < 1.0 {
            0.5
        } else {
            0.98
        }
    });
    let moved = drawn(&|f| 1.0 / (1.0 + (-3.0 * f - 2.0).exp()));
    let chosen = |classes: &[u32]| {
        let auto = CalibrationMethod::Auto;
        Calibration::fit(auto, (&values, two), classes, &equal).unwrap().method()
    };
    assert_eq!(chosen(&plateau), CalibrationMethod::Isotonic);
    assert_eq!(chosen(&moved), CalibrationMethod::Sigmoid);
    let three = Outputs { n_classes: 3, pairs: false };
    let values: Vec<f64> = (0..3 * 500).map(|_| 2.0 * rng.normal()).collect();
    let class = |row: &[f64]| {
        let e: Vec<f64> = row.iter().map(|f| f.exp()).collect();
        let at = rng.uniform() * e.iter().sum::<f64>();
        if at < e[0] { 0 } else { 1 + u32::from(at >= e[0] + e[1]) }
    };
    let classes: Vec<u32> = values.chunks_exact(3).map(class).collect();
    let made =
        Calibration::fit(CalibrationMethod::Auto, (&values, three), &classes, &[1.0; 500]).unwrap();
    assert_eq!(made.method(), CalibrationMethod::Temperature);
    // One row a class has no second half: two numbers.
    let few = Calibration::fit(CalibrationMethod::Auto, (&[1.0], two), &[1], &[1.0]).unwrap();
    assert_eq!(few.method(), CalibrationMethod::Sigmoid);
    let mut section = few.to_section();
    section.put("method", "auto");
    assert!(Calibration::from_section(section).is_err());
}
