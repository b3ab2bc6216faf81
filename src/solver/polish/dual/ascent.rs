//! Coordinate ascent: passes over the coordinates of all outputs.

use super::features::Features;
use super::look::{look, look_at_all};
use super::order::{Order, Place};
use super::output::Ascent;
use crate::loss::Smoothed;
use crate::parallel;
use crate::simd::prefetch;
use crate::solver::polish::apart::Apart;
use crate::solver::polish::row::SEVERAL;
use crate::watch::{Step, Watch};

/// Coordinates of different outputs that are met together: none waits for another's w.
const UNIT: usize = 32;
/// Coordinates whose rows are on their way while one is met.
const AHEAD: usize = 4;
/// Multiply-adds of a thread until outputs are shared out anew: parts of a millisecond, so that
/// nobody waits long for who has more.
const ROUND: usize = 1 << 21;

/// A group's memory.
#[derive(Default)]
struct Scratch {
    order: Order,
    /// A row in `f32`.
    buffer: Apart,
}

/// Passes of all outputs, `most` each, until they are done: an output is when its gap is at most this
/// share of its dual objective.
pub(super) fn passes(
    outputs: &mut [Ascent],
    (features, loss): (&Features, Smoothed),
    (most, share): (usize, f64),
    watch: &mut Watch<'_>,
) -> Step {
    let threads = watch.pool().threads();
    let mut scratch: Vec<_> = (0..threads).map(|_| Scratch::default()).collect();
    loop {
        let goes_on = |own: &&mut Ascent| !own.is_done() && own.passes() < most;
        let live: Vec<&mut Ascent> = outputs.iter_mut().filter(goes_on).collect();
        let Some(begun) = live.iter().map(|own| own.passes()).max() else { return Ok(()) };
        let groups = shares(live, threads);
        let longest = groups.iter().map(|(work, _)| work * features.stride()).max();
        // (Rows that are shared are in one order for all.)
        let at_most = if features.are_near() { most - begun } else { 1 };
        let count = (ROUND / longest.unwrap_or(0).max(1)).clamp(1, at_most);
        parallel::each(groups.into_iter().zip(&mut scratch), &|_, ((_, mut group), scratch)| {
            for _ in 0..count {
                pass(&mut group, (features, loss), share, scratch);
                if features.are_near() {
                    let asking = group.iter_mut().filter(|own| own.asks());
                    asking.for_each(|own| look(own, features, loss));
                }
                group.retain(|own| !own.is_done());
            }
        });
        if !features.are_near() {
            look_at_all(outputs.iter_mut().filter(|own| own.asks()).collect(), features, loss);
        }
        watch.poll()?;
    }
}

/// These outputs in as many groups as there are threads for, of about equal work.
fn shares(mut live: Vec<&mut Ascent>, threads: usize) -> Vec<(usize, Vec<&mut Ascent>)> {
    let count = threads.min(live.len());
    let mut groups: Vec<(usize, Vec<_>)> = (0..count).map(|_| (0, Vec::new())).collect();
    live.sort_by_key(|own| std::cmp::Reverse(own.moving().len()));
    for own in live {
        if let Some((work, group)) = groups.iter_mut().min_by_key(|(work, _)| *work) {
            *work += 1 + own.moving().len();
            group.push(own);
        }
    }
    groups
}

/// One pass of a group.
fn pass(
    group: &mut [&mut Ascent],
    (features, loss): (&Features, Smoothed),
    share: f64,
    scratch: &mut Scratch,
) {
    group.iter_mut().for_each(|own| own.begin());
    let Scratch { order, buffer } = scratch;
    let afar = (!features.are_near()).then(|| features.samples().len());
    let order = order.of_pass(group, afar);
    let (mut left, mut ahead) = (order, order);
    while let Some(first) = left.first() {
        let (unit, rest) = left.split_at(unit(left));
        left = rest;
        while let [one, rest @ ..] = ahead
            && rest.len() + AHEAD >= left.len()
        {
            if rest.first().is_none_or(|next| next.row != one.row) {
                features.row(one.row as usize).prefetch();
            }
            prefetch(&group[one.output as usize].moving()[one.at as usize]);
            ahead = rest;
        }
        let shared = (unit.len() >= SEVERAL && unit[1].row == first.row)
            .then(|| features.row(first.row as usize).lengthened(buffer));
        let row = |place: &Place| shared.unwrap_or_else(|| features.row(place.row as usize));
        let mut values = [0.0; UNIT];
        for (place, f) in unit.iter().zip(&mut values) {
            *f = row(place).dot(group[place.output as usize].weights());
        }
        for (place, &f) in unit.iter().zip(&values) {
            let own = &mut group[place.output as usize];
            own.visit(place.at as usize, (row(place), features.norm(place.row)), f, loss);
        }
    }
    group.iter_mut().for_each(|own| own.end(share));
}

/// How many of these are met together, from the first on: those of a row, or different outputs of a
/// row each.
fn unit(places: &[Place]) -> usize {
    let is_shared = |at: usize| places.get(at + 1).is_some_and(|next| next.row == places[at].row);
    if is_shared(0) {
        return places.iter().take(UNIT).take_while(|place| place.row == places[0].row).count();
    }
    let follows =
        |&at: &usize| at == 0 || places[at - 1].output < places[at].output && !is_shared(at);
    (0..places.len().min(UNIT)).take_while(follows).count()
}
