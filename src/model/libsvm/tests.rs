use super::*;
use crate::data::Rows;

fn read(text: &str) -> Result<LibsvmModel> {
    LibsvmModel::read(text.as_bytes(), None, &mut || Ok(()))
}

/// Three classes in an order of their own.
const THREE: &str = "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 3\ntotal_sv 4\n\
     rho 0.125 -0.25 0.5\nlabel 7 -2 3\nprobA -1 -2 -3\nprobB 0.5 0.25 0.125\nnr_sv 2 1 1\nSV\n\
     1 0.5 1:1 2:0.5\n0.25 2 2:1\n-1.25 3 1:-1\n-2.5 -3 1:2 2:2\n";

/// LIBSVM's own sums, pair by pair in the text's order.
fn plain(model: &LibsvmModel, x: &[f64]) -> Vec<f64> {
    let rows = model.rows.rows().unwrap();
    let mut row = vec![0.0; rows.n_cols()];
    let values: Vec<f64> = (0..rows.n_rows())
        .map(|i| {
            rows.copy_row(i, &mut row);
            model.kernel.eval(&row, x)
        })
        .collect();
    let k = model.n_support.len();
    let start = |c: usize| model.n_support[..c].iter().sum::<usize>();
    let mut out = Vec::new();
    for i in 0..k {
        for j in i + 1..k {
            let mut sum = -model.rho[out.len()];
            for t in start(i)..start(i + 1) {
                sum += model.coef[(j - 1, t)] * values[t];
            }
            for t in start(j)..start(j + 1) {
                sum += model.coef[(i, t)] * values[t];
            }
            out.push(sum);
        }
    }
    out
}

#[test]
fn classes_come_in_rising_order() {
    let text = read(THREE).unwrap();
    let x = [0.3, -0.7];
    let wanted = plain(&text, &x);
    let (model, labels, sigmoids) = text.into_model().unwrap();
    assert_eq!(labels, [-2, 3, 7]);
    let mut out = [0.0; 3];
    model.decision(&Rows::of_one(&x).unwrap(), &mut out, &mut || Ok(())).unwrap();
    // Pairs of (-2, 3), (-2, 7), (3, 7); the text's are (7, -2), (7, 3), (-2, 3).
    for (got, wanted) in out.iter().zip([wanted[2], -wanted[0], -wanted[1]]) {
        assert!((got - wanted).abs() < 1e-12, "{got} {wanted}");
    }
    let (slopes, offsets) = sigmoids.unwrap();
    assert_eq!((slopes, offsets), (vec![-3.0, -1.0, -2.0], vec![0.125, -0.5, -0.25]));
}

#[test]
fn what_is_written_is_read_again() {
    let first = read(THREE).unwrap();
    let text = first.write().unwrap().concat();
    let again = read(&text).unwrap();
    assert_eq!(again.write().unwrap().concat(), text);
    assert_eq!((again.coef, again.rho), (first.coef, first.rho));
    let mut other = read(THREE).unwrap();
    other.kernel = AnyKernel::Laplacian { gamma: 1.0 };
    assert!(other.write().unwrap_err().to_string().contains("LIBSVM has no kernel='laplacian'"));
}

#[test]
fn two_classes_and_none() {
    let two = "svm_type nu_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0.5\nlabel 1 -1\n\
         nr_sv 1 1\nSV\n2 1:1\n-2 2:1\n";
    let (model, labels, _) = read(two).unwrap().into_model().unwrap();
    let mut out = [0.0];
    model.decision(&Rows::of_one(&[3.0, 1.0]).unwrap(), &mut out, &mut || Ok(())).unwrap();
    // Positive for the second, which is 1.
    assert_eq!((labels, out), (vec![-1, 1], [3.5]));
    let none = "svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 0\nrho -3\nSV\n";
    let (model, _, _) = read(none).unwrap().into_model().unwrap();
    model.decision(&Rows::of_one(&[3.0]).unwrap(), &mut out, &mut || Ok(())).unwrap();
    assert_eq!(out, [3.0]);
}

#[test]
fn hostile_texts_are_refused() {
    for (from, to) in [
        ("nr_class 3", "nr_class 1000000000"),
        ("nr_class 3", "nr_class 18446744073709551615"),
        ("nr_class 3", "nr_class 1"),
        ("total_sv 4", "total_sv 1000000000000"),
        ("total_sv 4", "total_sv -1"),
        ("nr_sv 2 1 1", "nr_sv 18446744073709551615 4 1"),
        ("nr_sv 2 1 1", "nr_sv 2 2 1"),
        ("rho 0.125 -0.25 0.5", "rho 0.125 nan 0.5"),
        ("rho 0.125 -0.25 0.5", "rho 0.125"),
        ("label 7 -2 3", "label 7 -2 7"),
        ("label 7 -2 3", "label 7 -2 x"),
        ("label 7 -2 3\n", ""),
        ("gamma 0.5", "gamma -1"),
        ("gamma 0.5", "gamma inf"),
        ("gamma 0.5\n", ""),
        ("rbf", "precomputed"),
        ("rbf", "spline"),
        ("c_svc", "d_svc"),
        ("probB 0.5 0.25 0.125", "probB 0.5 0.25"),
        ("SV\n", ""),
        ("SV\n", "SV\n1 1 1:1\n"),
        ("1:2 2:2\n", "1:2 2:2"),
        ("0.25 2 2:1", "0.25 2:1"),
        ("0.25 2 2:1", "nan 2 2:1"),
        ("0.25 2 2:1", "0.25 2 4294967295:1"),
        ("0.25 2 2:1", "0.25 2 0:1"),
        ("0.25 2 2:1", "0.25 2 2:nan"),
        ("gamma 0.5", "gamma 0.5\ngamma 0.5"),
        ("gamma 0.5", "gamma 0.5\ncolour 3"),
    ] {
        let text = THREE.replacen(from, to, 1);
        let read = read(&text);
        // The last line may do without its end.
        assert_eq!(read.is_ok(), to == "1:2 2:2", "{from} -> {to}");
    }
    let narrow = LibsvmModel::read(THREE.as_bytes(), Some(1), &mut || Ok(()));
    assert!(narrow.unwrap_err().to_string().contains("n_features=1"));
}

#[test]
fn a_threshold_of_one_class_comes_back() {
    let one =
        "svm_type one_class\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0.5\nSV\n1 1:1\n";
    for rho in [0.5, 0.0, 2.392_364_51, -81.000_000_1, 1e9, -3e300, 0.1 + 0.2] {
        let model = LibsvmModel { rho: vec![rho], ..read(one).unwrap() };
        let text = model.write().unwrap().concat();
        let again = read(&text).unwrap();
        assert_eq!(again.rho, [rho]);
        assert_eq!(again.write().unwrap().concat(), text);
        // LIBSVM has a value of zero, and one a little below, inside: above zero.
        let (_, told) = text.split_once("rho ").unwrap();
        let told: f64 = told.lines().next().unwrap().parse().unwrap();
        let width = 0.9 * BOUNDARY * (1.0 + rho.abs());
        assert!(rho - width - told > 0.0 && rho - 2.0 * width - told < 0.0);
    }
}
