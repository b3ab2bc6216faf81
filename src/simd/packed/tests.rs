//! Packed centres: one by one, together, moved.

use super::*;
use crate::rng::Rng;
use crate::simd::norms::{part_norms, sq_norm, sq_norms};

#[test]
fn packed_slots_move_whole() {
    let rows: Vec<Vec<f64>> = (0..20).map(|i| vec![f64::from(i), 2.0, -f64::from(i)]).collect();
    let mut packed = Packed::new(3).unwrap();
    rows.iter().for_each(|r| packed.push(r).unwrap());
    packed.swap_remove(4);
    let mut out = [0.0; 3];
    packed.get(4, &mut out);
    assert_eq!(out.as_slice(), rows[19]);
    assert_eq!(packed.sq_norms()[4], sq_norm(&rows[19]));
    let copy = packed.clone();
    packed.copy_slot(0, &copy, 17);
    packed.get(0, &mut out);
    assert_eq!(out.as_slice(), rows[17]);
    assert_eq!(packed.len(), 19);
}

/// Who has held long centres before compares others as one does that is new: two blocks of a pass take
/// turns, which of them takes which samples is a matter of threads.
#[test]
fn a_set_that_is_filled_anew_has_held_nothing() {
    let rows: Vec<Vec<f32>> = (1..20).map(|i| vec![1.0 / i as f32; 70]).collect();
    let fill = |set: &mut Packed<f32>| {
        set.set_all(rows.len(), |i, row| row.copy_from_slice(&rows[i])).unwrap();
        (set.max_sq_norm().to_bits(), set.rows().unwrap(), set.sq_norms()[..rows.len()].to_vec())
    };
    let (mut used, mut new) = (Packed::new(70).unwrap(), Packed::new(70).unwrap());
    used.push(&[100.0; 70]).unwrap();
    assert_eq!(fill(&mut used), fill(&mut new));
    used.push(&[100.0; 70]).unwrap();
    used.clear();
    used.resize_stale(1).unwrap();
    used.set(0, &rows[3]);
    assert_eq!(used.max_sq_norm(), f64::from(sq_norm(&rows[3])));
}

fn same_packed<F: Real + std::fmt::Debug>(d: usize, before: usize, count: usize) {
    let mut rng = Rng::new((d + 100 * count) as u64);
    let rows: Vec<Vec<F>> = (0..before + count)
        .map(|_| (0..d).map(|_| F::from_f64(rng.uniform() - 0.5)).collect())
        .collect();
    let (mut single, mut together) = (Packed::new(d).unwrap(), Packed::new(d).unwrap());
    rows.iter().for_each(|row| single.push(row).unwrap());
    rows[..before].iter().for_each(|row| together.push(row).unwrap());
    together.extend(count, |i, row: &mut [F]| row.copy_from_slice(&rows[before + i])).unwrap();
    assert_eq!((together.len(), together.padded_len()), (single.len(), single.padded_len()));
    assert_eq!(together.sq_norms(), single.sq_norms());
    assert_eq!(together.part_norms(), single.part_norms());
    let [mut norms, mut in_parts] = [vec![F::zero(); rows.len()], vec![F::zero(); rows.len()]];
    sq_norms(&rows.concat(), d, &mut norms);
    part_norms(&rows.concat(), d, &mut in_parts);
    assert_eq!(norms, together.sq_norms()[..rows.len()]);
    assert_eq!(in_parts, together.part_norms()[..rows.len()]);
    assert_eq!(together.max_sq_norm().to_bits(), single.max_sq_norm().to_bits());
    let mut row = vec![F::zero(); d];
    for (slot, expected) in rows.iter().enumerate() {
        together.get(slot, &mut row);
        assert_eq!(&row, expected);
    }
}

#[test]
fn centres_added_together_are_those_added_one_by_one() {
    for &d in if cfg!(miri) { &[1, 3][..] } else { &[1, 3, 22, 64, 65, 257, 600] } {
        for (before, count) in [(0, 1), (0, 7), (0, 16), (5, 40), (16, 33), (16, 21), (8, 24)] {
            same_packed::<f32>(d, before, count);
            same_packed::<f64>(d, before, count);
        }
    }
}
