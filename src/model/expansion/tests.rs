//! Terms that come, move and go, and what is held of them twice.

use super::*;
use crate::rng::Rng;
use crate::watch::{Reader, Words};

/// Every centre is what a plain list says, packed and as a row.
fn check(expansion: &Expansion<f32>, plain: &[Vec<f32>]) {
    let d = expansion.centers().n_features();
    let (mut row, mut packed) = (vec![0.0; d], vec![0.0; d]);
    assert_eq!(expansion.len(), plain.len());
    for (slot, center) in plain.iter().enumerate() {
        expansion.center(slot, &mut row);
        expansion.centers().get(slot, &mut packed);
        assert!(row == *center && packed == *center, "{slot}");
        assert_eq!(expansion.centers().norms(slot), Packed::norms_of(center), "{slot}");
    }
}

#[test]
fn centers_are_the_same_packed_and_as_rows() {
    for d in [3, PART, PART + 1, 200] {
        let mut rng = Rng::new(d as u64);
        let row = |rng: &mut Rng| (0..d).map(|_| rng.normal() as f32).collect::<Vec<f32>>();
        let new = || Expansion::new(AnyKernel::Gaussian { gamma: 0.1 }, Vec::new(), d, 1).unwrap();
        let (mut expansion, mut plain) = (new(), Vec::new());
        for step in 0..200 {
            let at = rng.below(plain.len().max(1));
            match rng.below(5) {
                0 if !plain.is_empty() => {
                    expansion.swap_remove(at);
                    plain.swap_remove(at);
                }
                1 if !plain.is_empty() => {
                    plain[at] = row(&mut rng);
                    expansion.move_center(at, &plain[at]);
                }
                _ => {
                    plain.push(row(&mut rng));
                    expansion.push(&plain[plain.len() - 1]).unwrap();
                }
            }
            check(&expansion, &plain);
            if step % 40 == 0 {
                let mut words = Words::default();
                expansion.put(&mut words);
                expansion = new();
                expansion.read(&mut Reader::new(words.into_inner())).unwrap();
                check(&expansion, &plain);
            }
        }
    }
}
