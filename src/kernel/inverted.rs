//! Sparse columns held by feature: a point meets only the columns that share a feature with it.
//!
//! Wide sparse rows (texts) share few features: of 100 entries in 50,000 columns two rows have a
//! fifth of one in common. Written out, a block of 512 such columns has 100 MB.
//!
//! # Method
//! 1. The entries are sorted by feature, of each feature by column; a feature is found by a bit and
//!    the number of bits before it, or by bisection where there are far more features than entries.
//! 2. Products are summed over the lists of the point's features.
//! 3. Distances follow from products (or from `|x - v| - |x| - |v|` on shared features) and norms;
//!    where norms would cost digits, sums are in `f64`.
//!
//! *Cost* of a point: O(its entries + entries shared), and O(1) a column. *Memory*: that of the
//! entries.

use super::AnyKernel;
use super::blocks::norm_limit;
use super::form::{Distance, Form, Product};
use super::load::load_sparse;
use crate::data::{AnyRows, Point, Rows};
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::simd::{self, Packed, Tile, sq_norm};

/// Sparse rows with a smaller share of entries than this are held by feature.
const DENSITY: f64 = 0.01;

/// Whether rows like these are held by feature.
pub(super) fn suits(rows: &AnyRows<'_>) -> bool {
    rows.density().is_some_and(|density| density < DENSITY)
}

/// Where the list of a feature is.
#[derive(Clone, Debug)]
enum Directory {
    /// A bit a feature, and how many are set before each word.
    Bits(Vec<u64>, Vec<u32>),
    /// The features that there are, rising.
    Sorted(Vec<u32>),
}

/// Some columns.
#[derive(Clone, Debug)]
pub(super) struct Inverted<F> {
    directory: Directory,
    /// Where the list of each feature begins, and the end.
    starts: Vec<usize>,
    /// Of each entry, its column and its value.
    columns: Vec<u32>,
    values: Vec<F>,
    /// Squared norm of every column, summed as products are; 0 in the rest of the last line.
    norms: Vec<F>,
    /// What distances in `f64` are made of: squared norms, or sums of magnitudes.
    sizes: Vec<f64>,
    /// Entries that a point like the columns shares with them.
    shared: usize,
    /// The largest squared norm.
    largest: f64,
}

/// What computing needs beside the result.
#[derive(Debug, Default)]
pub(super) struct Room<F> {
    lists: Vec<(usize, usize, F)>,
    wide: Vec<f64>,
}

/// How values are computed of a kernel's products.
#[derive(Clone, Copy)]
enum Way {
    Product(Product),
    /// `‖x‖² + ‖z‖² - 2 x·z`, in single or in double precision.
    Squared {
        wide: bool,
    },
    Absolute,
}

impl<F: Real> Inverted<F> {
    /// The rows `samples` as columns.
    pub(super) fn new(rows: &AnyRows<'_>, samples: &[usize], kernel: AnyKernel) -> Result<Self> {
        let mut tile = Tile::<F>::new(rows.n_cols());
        load_sparse(rows, samples.len(), |i| samples[i], &mut tile);
        Self::of_tile(&tile, kernel)
    }

    /// The points of a sparse tile as columns.
    fn of_tile(tile: &Tile<F>, kernel: AnyKernel) -> Result<Self> {
        let n = tile.len();
        let entries: usize = (0..n).map(|i| tile.sparse_row(i).0.len()).sum();
        let directory = directory(tile, entries)?;
        let mut inverted = Self {
            starts: try_vec("lists of features", directory.len() + 2, 0)?,
            directory,
            columns: try_vec("sparse columns", entries, 0)?,
            values: try_vec("sparse columns", entries, F::zero())?,
            norms: try_vec("norms", n.next_multiple_of(Packed::<F>::line()), F::zero())?,
            sizes: try_vec("norms", n, 0.0)?,
            shared: 0,
            largest: 0.0,
        };
        // 1. How many entries each feature has, from the place after the next one on; then where
        // its first goes, at the next place, which ends where its own list does.
        let places = |i: usize| {
            let (features, values) = tile.sparse_row(i);
            features.iter().zip(values)
        };
        for i in 0..n {
            for (&feature, _) in places(i) {
                if let Some(at) = inverted.directory.find(feature) {
                    inverted.starts[at + 2] += 1;
                }
            }
        }
        let squares: usize = inverted.starts.iter().map(|&len| len.saturating_mul(len)).sum();
        inverted.shared = squares / n.max(1);
        let mut sum = 0;
        for start in &mut inverted.starts {
            sum += *start;
            *start = sum;
        }
        for i in 0..n {
            for (&feature, &value) in places(i) {
                if let Some(at) = inverted.directory.find(feature) {
                    let to = inverted.starts[at + 1];
                    inverted.starts[at + 1] += 1;
                    (inverted.columns[to], inverted.values[to]) = (i as u32, value);
                }
            }
            let values = tile.sparse_row(i).1;
            inverted.norms[i] = sq_norm(values);
            inverted.sizes[i] = size(kernel, values);
        }
        inverted.largest =
            inverted.norms.iter().fold(0.0, |most, norm| most.max(Real::to_f64(*norm)));
        Ok(inverted)
    }

    /// Largest squared norm.
    pub(super) fn largest(&self) -> f64 {
        self.largest
    }

    /// Multiply-adds of a point, about.
    pub(super) fn work(&self) -> usize {
        let mean = self.columns.len() / self.sizes.len().max(1);
        4 * self.shared + 4 * mean + 4 * self.norms.len()
    }

    /// Kernel values of point `i` of a sparse tile and the columns, into as many whole lines as
    /// they need; `largest` is the largest squared norm of all samples.
    pub(super) fn values(
        &self,
        (kernel, largest): (AnyKernel, f64),
        (tile, i): (&Tile<F>, usize),
        room: &mut Room<F>,
        out: &mut [F],
    ) {
        let (features, values) = tile.sparse_row(i);
        self.find(features.iter().zip(values).map(|(&f, &v)| (f, v)), &mut room.lists);
        let n = self.norms.len();
        let out = &mut out[..n];
        let lists = &room.lists;
        let (gamma, map) = match kernel.form() {
            Form::Distance { gamma, map, .. } => (F::from_f64(gamma), map),
            Form::Product(_) => (F::one(), simd::Map::Identity),
        };
        let way = way::<F>(kernel, largest);
        if let Way::Product(_) | Way::Squared { wide: false } = way {
            // 2.
            out.fill(F::zero());
            simd::scatter(lists, &self.columns, &self.values, out);
        } else {
            room.wide.clear();
            room.wide.resize(n, 0.0);
        }
        // 3.
        match way {
            Way::Product(Product::Plain) => return,
            Way::Product(product) => {
                let out = &mut out[..self.sizes.len()];
                out.iter_mut().for_each(|v| *v = F::from_f64(product.at(v.to_f64())));
                return;
            }
            Way::Squared { wide: false } => simd::squares(out, tile.sq_norms()[i], &self.norms),
            Way::Squared { wide: true } => {
                simd::scatter_wide(lists, &self.columns, &self.values, &mut room.wide);
                let own = size(kernel, values);
                for ((out, sum), size) in out.iter_mut().zip(&room.wide).zip(&self.sizes) {
                    *out = F::from_f64((own + size - 2.0 * sum).max(0.0));
                }
            }
            Way::Absolute => {
                simd::scatter_shared(lists, &self.columns, &self.values, &mut room.wide);
                let own = size(kernel, values);
                for ((out, sum), size) in out.iter_mut().zip(&room.wide).zip(&self.sizes) {
                    *out = F::from_f64((own + size + sum).max(0.0));
                }
            }
        }
        out[self.sizes.len()..].fill(F::zero());
        simd::map_distances(out, gamma, map);
    }

    /// `sums += x·column` in `f64`, `x` by its features, rising.
    pub(super) fn add_products(&self, x: &[(u32, f64)], sums: &mut [f64]) {
        for &(feature, x) in x {
            let Some(at) = self.directory.find(feature) else { continue };
            let (first, end) = (self.starts[at], self.starts[at + 1]);
            let entries = self.columns[first..end].iter().zip(&self.values[first..end]);
            entries.for_each(|(&column, value)| sums[column as usize] += x * (*value).to_f64());
        }
    }

    fn find(&self, x: impl Iterator<Item = (u32, F)>, lists: &mut Vec<(usize, usize, F)>) {
        lists.clear();
        for (feature, value) in x {
            if let Some(at) = self.directory.find(feature) {
                lists.push((self.starts[at], self.starts[at + 1], value));
            }
        }
    }
}

fn way<F: Real>(kernel: AnyKernel, largest: f64) -> Way {
    match kernel.form() {
        Form::Distance { of: Distance::Absolute, .. } => Way::Absolute,
        Form::Distance { of: Distance::Squared, gamma, steepness, .. } => {
            Way::Squared { wide: steepness * gamma * largest > norm_limit::<F>() }
        }
        Form::Product(product) => Way::Product(product),
    }
}

/// What a distance in `f64` has of one row.
fn size<F: Real>(kernel: AnyKernel, values: &[F]) -> f64 {
    let values = values.iter().map(|v| Real::to_f64(*v));
    match kernel.form() {
        Form::Distance { of: Distance::Absolute, .. } => values.map(f64::abs).sum(),
        // The sums of a row's product with itself.
        Form::Distance { of: Distance::Squared, .. } | Form::Product(_) => {
            values.fold(0.0, |sum, v| sum + v * v)
        }
    }
}

fn directory<F: Real>(tile: &Tile<F>, entries: usize) -> Result<Directory> {
    let words = tile.n_features().div_ceil(64);
    let features = (0..tile.len()).flat_map(|i| tile.sparse_row(i).0.iter().copied());
    if words <= 4 * entries + 1024 {
        let mut bits = try_vec("features", words, 0u64)?;
        features.for_each(|feature| bits[feature as usize / 64] |= 1 << (feature % 64));
        let mut before = 0;
        let mut ranks = try_vec("features", words, 0u32)?;
        for (rank, word) in ranks.iter_mut().zip(&bits) {
            *rank = before;
            before += word.count_ones();
        }
        return Ok(Directory::Bits(bits, ranks));
    }
    let mut sorted = try_vec("features", entries, 0)?;
    sorted.iter_mut().zip(features).for_each(|(to, feature)| *to = feature);
    sorted.sort_unstable();
    sorted.dedup();
    Ok(Directory::Sorted(sorted))
}

impl Directory {
    /// Features that there are.
    fn len(&self) -> usize {
        match self {
            Self::Bits(bits, ranks) => {
                let last = bits.last().map_or(0, |word| word.count_ones());
                ranks.last().map_or(0, |rank| (rank + last) as usize)
            }
            Self::Sorted(features) => features.len(),
        }
    }

    /// Which of them a feature is.
    #[inline]
    fn find(&self, feature: u32) -> Option<usize> {
        match self {
            Self::Bits(bits, ranks) => {
                let (at, bit) = (feature as usize / 64, 1u64 << (feature % 64));
                let word = bits[at];
                if word & bit == 0 {
                    return None;
                }
                Some((ranks[at] + (word & (bit - 1)).count_ones()) as usize)
            }
            Self::Sorted(features) => features.binary_search(&feature).ok(),
        }
    }
}

/// Sparse rows that points are compared with, held by feature: what they cost follows their entries,
/// however many features there are.
#[derive(Clone, Debug)]
pub(crate) struct SparseCenters<F> {
    kernel: AnyKernel,
    rows: Inverted<F>,
}

/// What a thread needs for them.
#[derive(Debug, Default)]
pub(crate) struct SparseRoom<F> {
    room: Room<F>,
    /// A value a centre, and the rest of the last line.
    pub(crate) values: Vec<F>,
}

impl<F: Real> SparseCenters<F> {
    /// Whether rows with such a share of entries are sparse enough.
    pub(crate) fn suits(density: f64) -> bool {
        density < DENSITY
    }

    /// These rows; none where they are not sparse enough.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn new(kernel: AnyKernel, rows: &Rows<'_, F>) -> Result<Option<Self>> {
        match rows {
            Rows::Csr(csr) if Self::suits(csr.density()) => {
                let mut tile = Tile::new(rows.n_cols());
                Self::load(rows, (0, rows.n_rows()), &mut tile);
                Ok(Some(Self { kernel, rows: Inverted::of_tile(&tile, kernel)? }))
            }
            Rows::Csr(_) | Rows::Dense(_) => Ok(None),
        }
    }

    /// Fills a tile with points, the rows `first..first + len`.
    pub(crate) fn load(rows: &Rows<'_, F>, (first, len): (usize, usize), tile: &mut Tile<F>) {
        tile.fill_sparse(len, |i, columns, entries| {
            let mut add = |column: usize, value: F| {
                if value != F::zero() {
                    columns.push(column as u32);
                    entries.push(value);
                }
            };
            match rows.point(first + i) {
                Point::Dense(values) => values.iter().enumerate().for_each(|(j, &v)| add(j, v)),
                Point::Sparse(csr, row) => csr.for_each(row, add),
            }
        });
    }

    /// The kernel values of point `i` of a tile, into the room's.
    pub(crate) fn values(&self, tile: &Tile<F>, i: usize, to: &mut SparseRoom<F>) {
        to.values.resize(self.rows.norms.len(), F::zero());
        // By this point alone, whatever others there are.
        let largest = self.rows.largest.max(Real::to_f64(tile.sq_norms()[i]));
        self.rows.values((self.kernel, largest), (tile, i), &mut to.room, &mut to.values);
        to.values[self.rows.sizes.len()..].fill(F::zero());
    }
}

#[cfg(test)]
mod tests;
