//! The samples of every class, prepared once for the machines of all pairs of classes.
//!
//! A sample's row in the machine of a pair has two halves: its values with the samples of its own
//! class, the same in all machines of that class, and with those of the other class. The first
//! half is computed once and kept, as far as there is room.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::halves::Own;
use super::layout::even_width;
use super::{Columns, Gram, RowCache};
use crate::float::Real;
use crate::simd::Packed;
use crate::watch::{Step, Watch};

/// Columns of every class, whose kernel values have the same bits in every pair.
#[derive(Clone, Debug)]
pub struct Classes<'a, F: Real> {
    columns: Vec<Columns<'a, F>>,
}

impl<'a, F: Real> Classes<'a, F> {
    /// Prepares the samples of every class for machines that have `bytes` of kernel rows together,
    /// `at_a_time` of them: what all rows of the largest pairs leave is room for rows among the
    /// samples of one class. None when there is nothing to prepare: the values are given, or the
    /// samples are sparse and too many to be packed.
    ///
    /// *Cost* O(n d) time and memory.
    ///
    /// # Errors
    /// `OutOfMemory`, and what the watch wants in between.
    pub fn new(
        gram: Gram<'a>,
        of_class: &[Vec<usize>],
        (bytes, at_a_time): (usize, usize),
        watch: &mut Watch<'_>,
    ) -> Step<Option<Self>> {
        let Some(&first) = of_class.iter().flatten().next() else { return Ok(None) };
        let n = of_class.iter().map(Vec::len).sum();
        if !Columns::<F>::prepares(&gram, n) {
            return Ok(None);
        }
        let width = even_width(of_class.iter().map(Vec::len), Packed::<F>::line());
        let mut columns = Vec::with_capacity(of_class.len());
        for members in of_class {
            columns.push(Columns::cut(gram, members.clone(), (first, width), watch)?);
        }
        let largest = columns.iter().fold(0.0f64, |most, of| most.max(of.largest()));
        let mut by_size: Vec<&Columns<'a, F>> = columns.iter().collect();
        by_size.sort_by_key(|of| std::cmp::Reverse(of.len()));
        let rows = match by_size[..] {
            [first, second, ..] => RowCache::all_bytes(&Columns::join(first, second)),
            _ => usize::MAX,
        };
        let room = bytes.saturating_sub(rows.saturating_mul(at_a_time));
        let room = Arc::new(AtomicUsize::new(room));
        columns.iter_mut().for_each(|of| of.keep(largest, Own::new(of.len(), room.clone())));
        Ok(Some(Self { columns }))
    }

    /// The columns of two classes, one after the other.
    #[must_use]
    pub fn pair(&self, first: usize, second: usize) -> Columns<'a, F> {
        Columns::join(&self.columns[first], &self.columns[second])
    }
}

/// Columns of either precision.
#[derive(Clone, Debug)]
pub enum AnyColumns<'a> {
    /// Kernel rows are `f32`.
    Single(Columns<'a, f32>),
    /// Kernel rows are `f64`.
    Double(Columns<'a, f64>),
}

impl<'a> AnyColumns<'a> {
    /// [`Columns::new`].
    ///
    /// # Errors
    /// As there.
    pub fn new(
        gram: Gram<'a>,
        index: Vec<usize>,
        single: bool,
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        Ok(if single {
            Self::Single(Columns::new(gram, index, watch)?)
        } else {
            Self::Double(Columns::new(gram, index, watch)?)
        })
    }

    /// The sample behind each column.
    #[must_use]
    pub fn index(&self) -> &[usize] {
        match self {
            Self::Single(columns) => columns.index(),
            Self::Double(columns) => columns.index(),
        }
    }
}
