//! Centres in packed form: what the block kernel reads.

#[cfg(test)]
mod tests;

use super::lanes::{PART, width};
use super::norms::{both_norms, interleave};
use crate::error::{Error, Result, check_room_behind, try_copy, try_reserve, try_vec};
use crate::float::Real;
use crate::watch::{Reader, Words};

/// 64 bytes, aligned to 64.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// A vector of floats that begins on a cache line; its length is a whole number of lines.
#[derive(Clone, Debug, Default)]
struct Aligned<T> {
    lines: Vec<Line>,
    kind: std::marker::PhantomData<T>,
}

impl<T: Real> Aligned<T> {
    /// Memory for `lines` lines in all, untouched.
    fn set_aside(&mut self, lines: usize) -> Result<()> {
        let more = lines.saturating_sub(self.lines.len());
        try_reserve("packed centres", &mut self.lines, more)
    }

    /// Room for `lines` lines; new ones are zero.
    fn grow(&mut self, lines: usize) -> Result<()> {
        let more = lines.saturating_sub(self.lines.len());
        let full = |_| Error::OutOfMemory { what: "packed centres", bytes: more << 6 };
        let before = self.lines.capacity();
        self.lines.try_reserve(more).map_err(full)?;
        if self.lines.capacity() > before {
            check_room_behind("packed centres", self.lines.capacity() << 6)?;
        }
        self.lines.resize(self.lines.len() + more, Line([0; 64]));
        Ok(())
    }

    fn try_clone(&self) -> Result<Self> {
        Ok(Self { lines: try_copy("packed centres", &self.lines)?, kind: self.kind })
    }

    #[inline(always)]
    fn as_slice(&self) -> &[T] {
        let len = self.lines.len() * width::<T>();
        // SAFETY: the lines are plain initialised bytes, aligned to 64, and any bits are a float.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), len) }
    }

    #[inline(always)]
    fn as_mut_slice(&mut self) -> &mut [T] {
        let len = self.lines.len() * width::<T>();
        // SAFETY: as for `as_slice`, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), len) }
    }
}

/// Fewer rows than this are quicker packed one by one than as a block.
const FEW: usize = 4;

/// Centres in blocks of one line, interleaved feature by feature: value `k` of the centres in
/// slots `16 b .. 16 b + 16` (8 for `f64`) is one line. Slots from `len` on are zero or stale;
/// their coefficients must be 0.
#[derive(Clone, Debug, Default)]
pub struct Packed<F: Real> {
    n_features: usize,
    len: usize,
    values: Aligned<F>,
    sq_norms: Aligned<F>,
    /// None where a row is one part.
    part_norms: Aligned<F>,
    max_sq_norm: f64,
}

impl<F: Real> Packed<F> {
    /// No centres yet.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(n_features: usize) -> Result<Self> {
        Ok(Self { n_features, ..Self::default() })
    }

    /// A copy.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self {
            values: self.values.try_clone()?,
            sq_norms: self.sq_norms.try_clone()?,
            part_norms: self.part_norms.try_clone()?,
            ..*self
        })
    }

    /// No centres yet, with memory set aside for `slots`; the system gives it page by page, as
    /// centres come.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn with_capacity(n_features: usize, slots: usize) -> Result<Self> {
        let mut packed = Self::new(n_features)?;
        let blocks = slots.div_ceil(width::<F>());
        packed.values.set_aside(blocks.saturating_mul(n_features))?;
        packed.sq_norms.set_aside(blocks)?;
        packed.part_norms.set_aside(if packed.has_parts() { blocks } else { 0 })?;
        Ok(packed)
    }

    fn has_parts(&self) -> bool {
        self.n_features > PART
    }

    /// Number of centres.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of features.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Slots in whole lines: rows of kernel values and coefficient vectors are padded to this.
    #[must_use]
    pub fn padded_len(&self) -> usize {
        self.len.next_multiple_of(width::<F>())
    }

    /// Values in a line.
    #[must_use]
    pub const fn line() -> usize {
        width::<F>()
    }

    pub(super) fn values(&self) -> &[F] {
        self.values.as_slice()
    }

    /// Squared norms of the centres (padded).
    #[must_use]
    pub fn sq_norms(&self) -> &[F] {
        self.sq_norms.as_slice()
    }

    /// The same, summed in parts of [`PART`] features (padded).
    #[must_use]
    pub(super) fn part_norms(&self) -> &[F] {
        if self.has_parts() { self.part_norms.as_slice() } else { self.sq_norms() }
    }

    /// An upper bound of the squared norms of all centres that the set has held.
    #[must_use]
    pub fn max_sq_norm(&self) -> f64 {
        self.max_sq_norm
    }

    /// Has the set count as one that has held a centre of this squared norm, so that parts of one
    /// set are treated alike.
    pub fn raise_max_sq_norm(&mut self, norm: f64) {
        self.max_sq_norm = self.max_sq_norm.max(norm);
    }

    fn set_norms(&mut self, slot: usize, [norm, in_parts]: [F; 2]) {
        self.sq_norms.as_mut_slice()[slot] = norm;
        if self.has_parts() {
            self.part_norms.as_mut_slice()[slot] = in_parts;
        }
        self.max_sq_norm = self.max_sq_norm.max(norm.to_f64());
    }

    /// Makes room so that `push` up to `slots` centres does not allocate.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn reserve(&mut self, slots: usize) -> Result<()> {
        let blocks = slots.div_ceil(width::<F>());
        let lines = blocks
            .checked_mul(self.n_features)
            .ok_or(Error::OutOfMemory { what: "packed centres", bytes: usize::MAX })?;
        self.values.grow(lines)?;
        self.part_norms.grow(if self.has_parts() { blocks } else { 0 })?;
        self.sq_norms.grow(blocks)
    }

    /// Adds a centre.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn push(&mut self, center: &[F]) -> Result<()> {
        self.push_known(center, Self::norms_of(center))
    }

    /// [`Packed::push`] of a centre whose norms are known.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn push_known(&mut self, center: &[F], norms: [F; 2]) -> Result<()> {
        self.reserve(self.len + 1)?;
        self.len += 1;
        self.set_known(self.len - 1, center, norms);
        Ok(())
    }

    /// Adds centres, `write(i, row)` for each of `0..count`: quicker than one by one.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn extend(&mut self, count: usize, mut write: impl FnMut(usize, &mut [F])) -> Result<()> {
        let (width, d) = (width::<F>(), self.n_features);
        self.reserve(self.len + count)?;
        let held = if count < FEW { 1 } else { width };
        let mut rows = try_vec("rows to be packed", held.saturating_mul(d), F::zero())?;
        let [mut norms, mut in_parts] = [[F::zero(); 16]; 2];
        let mut done = 0;
        while done < count {
            // A block at once; of a few rows one after another.
            let part = width.min(count - done);
            let part =
                if self.len.is_multiple_of(width) && part >= FEW && d > 0 { part } else { 1 };
            for (i, row) in rows.chunks_exact_mut(d.max(1)).take(part).enumerate() {
                write(done + i, row);
            }
            if part > 1 {
                rows[part * d..].fill(F::zero());
                let slot = self.len;
                self.len += part;
                let lines = &mut self.values.as_mut_slice()[slot * d..(slot + width) * d];
                interleave(&rows, lines, [&mut norms[..width], &mut in_parts[..width]]);
                let each = norms.iter().zip(&in_parts).take(part).zip(slot..);
                each.for_each(|((&norm, &parts), slot)| self.set_norms(slot, [norm, parts]));
            } else {
                self.push(&rows[..d])?;
            }
            done += part;
        }
        Ok(())
    }

    #[inline(always)]
    fn base(&self, slot: usize) -> usize {
        debug_assert!(slot < self.len);
        (slot / width::<F>()) * self.n_features * width::<F>() + slot % width::<F>()
    }

    fn write(&mut self, slot: usize, row: &[F]) {
        let base = self.base(slot);
        let target = self.values.as_mut_slice()[base..].iter_mut().step_by(width::<F>());
        for (to, &value) in target.zip(row) {
            *to = value;
        }
    }

    /// Replaces the centre in `slot`.
    pub fn set(&mut self, slot: usize, center: &[F]) {
        self.set_known(slot, center, Self::norms_of(center));
    }

    /// Makes these the centres, `write(i, row)` for each of `0..count`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn set_all(&mut self, count: usize, write: impl FnMut(usize, &mut [F])) -> Result<()> {
        self.clear();
        self.extend(count, write)
    }

    /// Forgets all centres, and that it has held them; the memory stays.
    pub fn clear(&mut self) {
        (self.len, self.max_sq_norm) = (0, 0.0);
    }

    /// Writes the centre in `slot` out as a row.
    pub fn get(&self, slot: usize, out: &mut [F]) {
        self.get_from(slot, 0, out);
    }

    /// Writes the values of the centre in `slot` out from a feature on.
    pub(crate) fn get_from(&self, slot: usize, feature: usize, out: &mut [F]) {
        let base = self.base(slot) + feature * width::<F>();
        let source = self.values.as_slice()[base..].iter().step_by(width::<F>());
        out.iter_mut().zip(source).for_each(|(o, &v)| *o = v);
    }

    /// All centres, one after another.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn rows(&self) -> Result<Vec<F>> {
        let mut rows = try_vec("rows", self.len.saturating_mul(self.n_features), F::zero())?;
        let each = rows.chunks_exact_mut(self.n_features.max(1)).enumerate();
        each.for_each(|(slot, row)| self.get(slot, row));
        Ok(rows)
    }

    /// `out += Σ_j coef_j s_j` over the first centres.
    pub fn add_combination(&self, coef: &[f64], out: &mut [f64]) {
        let width = width::<F>();
        let blocks = self.values.as_slice().chunks_exact((width * self.n_features).max(1));
        for (coef, block) in coef[..coef.len().min(self.len)].chunks(width).zip(blocks) {
            for (out, line) in out.iter_mut().zip(block.chunks_exact(width)) {
                *out += coef.iter().zip(line).map(|(c, v)| c * Real::to_f64(*v)).sum::<f64>();
            }
        }
    }

    /// The squared norm of a row, in one sum and in parts.
    pub(crate) fn norms_of(row: &[F]) -> [F; 2] {
        both_norms(row)
    }

    /// That of a centre.
    pub(crate) fn norms(&self, slot: usize) -> [F; 2] {
        [self.sq_norms()[slot], self.part_norms()[slot]]
    }

    /// [`Packed::set`] of a centre whose norms are known.
    pub(crate) fn set_known(&mut self, slot: usize, center: &[F], norms: [F; 2]) {
        assert!(slot < self.len && center.len() == self.n_features, "a slot and a whole row");
        self.write(slot, center);
        self.set_norms(slot, norms);
    }

    /// Copies the centre in `from.1` of another set over the one in `slot`, norm and all.
    pub fn copy_slot(&mut self, slot: usize, from: &Self, source: usize) {
        assert!(slot < self.len && source < from.len && from.n_features == self.n_features);
        let (to, at) = (self.base(slot), from.base(source));
        let target = self.values.as_mut_slice()[to..].iter_mut().step_by(width::<F>());
        let values = from.values.as_slice()[at..].iter().step_by(width::<F>());
        for (to, &value) in target.zip(values).take(from.n_features) {
            *to = value;
        }
        self.set_norms(slot, from.norms(source));
    }

    /// Removes the centre in `slot`; the last one takes its place.
    pub fn swap_remove(&mut self, slot: usize) {
        let last = self.len - 1;
        if slot != last {
            let (to, at) = (self.base(slot), self.base(last));
            let values = self.values.as_mut_slice();
            for k in 0..self.n_features {
                values[to + k * width::<F>()] = values[at + k * width::<F>()];
            }
            for norms in [&mut self.sq_norms, &mut self.part_norms] {
                let norms = norms.as_mut_slice();
                if last < norms.len() {
                    norms[slot] = norms[last];
                }
            }
        }
        self.len = last;
    }

    /// Makes the set `len` centres long; new ones are stale and must be `set`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn resize_stale(&mut self, len: usize) -> Result<()> {
        self.reserve(len)?;
        self.len = len;
        Ok(())
    }

    /// For those who go on from a checkpoint.
    pub fn put(&self, words: &mut Words) {
        let d = self.n_features;
        let value = |at: usize| self.values.as_slice()[self.base(at / d) + at % d * width::<F>()];
        words.put_all((0..self.len * d).map(|at| Real::to_f64(value(at)).to_bits()));
        words.put_float(self.max_sq_norm);
    }

    /// What [`Packed::put`] put, `len` centres, behind those that there are.
    ///
    /// # Errors
    /// `Format`, `OutOfMemory`.
    pub fn read(&mut self, len: usize, reader: &mut Reader) -> Result<()> {
        let rows = reader.take_floats()?;
        if len.checked_mul(self.n_features) != Some(rows.len()) {
            return Err(Reader::bad());
        }
        let d = self.n_features;
        let mut row = try_vec("a packed row", d, F::zero())?;
        for slot in 0..len {
            let from = &rows[slot * d..(slot + 1) * d];
            row.iter_mut().zip(from).for_each(|(to, &value)| *to = F::from_f64(value));
            self.push(&row)?;
        }
        self.raise_max_sq_norm(reader.take_float()?);
        Ok(())
    }
}
