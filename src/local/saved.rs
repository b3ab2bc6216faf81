//! A local model as named arrays and JSON, and back, everything checked.

use super::cell::{Cell, Sample};
use super::{Local, LocalModel};
use crate::error::{Error, Result};
use crate::float::Real;
use crate::model::assignment::Assignment;
use crate::model::persist::{Section, Tensor};

fn require(fine: bool, what: &str) -> Result<()> {
    if fine { Ok(()) } else { Err(Error::Format(format!("local model: {what}"))) }
}

impl<F: Real> LocalModel<F> {
    /// Arrays: `centers` (K x d), `sizes` (K), and for the support vectors, cell by cell, `points`,
    /// `weights` (outputs a row), `classes`, `cost`, `ids`, `arrivals`.
    #[must_use]
    pub fn to_section(&self) -> Section {
        let (d, m) = (self.n_features(), self.outputs);
        let (mut points, mut weights) = (Vec::new(), Vec::new());
        let mut row = vec![F::zero(); d];
        for cell in &self.cells {
            for slot in 0..cell.len() {
                cell.expansion.center(slot, &mut row);
                points.extend_from_slice(&row);
                weights.extend((0..m).map(|c| cell.expansion.coef(slot, c)));
            }
        }
        let samples = || self.cells.iter().flat_map(|cell| &cell.samples);
        let sizes = self.cells.iter().map(|cell| cell.len() as u64).collect();
        let classes = samples().map(|s| u64::from(s.class)).collect();
        let mut section = Section::default();
        section.put_array("centers", Tensor::floats(&self.centers()));
        section.put_array("sizes", Tensor::counts(sizes));
        section.put_array("points", Tensor::floats(&points));
        section.put_array("weights", Tensor::doubles(weights));
        section.put_array("classes", Tensor::counts(classes));
        section.put_array("cost", Tensor::doubles(samples().map(|s| s.cost).collect()));
        section.put_array("ids", Tensor::counts(samples().map(|s| s.id).collect()));
        let arrivals = self.cells.iter().flat_map(|cell| &cell.arrivals).copied().collect();
        section.put_array("arrivals", Tensor::counts(arrivals));
        section.put("kernel", self.local.kernel);
        section.put("n_clusters", self.local.n_clusters);
        section.put("budget", self.local.budget);
        section.put("center_step", self.local.center_step);
        section.put("overlap", self.local.overlap);
        section.put("pruning", self.local.pruning);
        section.put("n_features", d);
        section.put("n_outputs", m);
        section.put("seen", self.seen);
        section
    }

    /// The model of a section.
    ///
    /// # Errors
    /// `Format`, `OutOfMemory`.
    pub fn from_section(mut section: Section) -> Result<Self> {
        let local = Local {
            kernel: section.take_kernel()?,
            n_clusters: section.take("n_clusters")?,
            budget: section.take("budget")?,
            center_step: section.take_number("center_step")?,
            overlap: section.take("overlap")?,
            pruning: section.take("pruning")?,
        };
        local.check().map_err(|e| Error::Format(e.to_string()))?;
        let (d, m): (usize, usize) = (section.take("n_features")?, section.take("n_outputs")?);
        let seen = section.take("seen")?;
        require(d > 0 && m > 0, "sizes")?;
        let (centers, points): (Vec<F>, Vec<F>) =
            (section.take_floats("centers")?, section.take_floats("points")?);
        let (weights, cost) = (section.take_doubles("weights")?, section.take_doubles("cost")?);
        let (sizes, classes) = (section.take_sizes("sizes")?, section.take_sizes("classes")?);
        let ids = section.take_counts("ids")?;
        let total = classes.len();
        // Older files do not tell: as they stand.
        let arrivals = match section.has("arrivals") {
            true => section.take_counts("arrivals")?,
            false => (0..total as u64).collect(),
        };
        section.end()?;
        let fit = sizes.iter().try_fold(0usize, |sum, &n| sum.checked_add(n)) == Some(total)
            && sizes.len().checked_mul(d) == Some(centers.len())
            && sizes.len() <= local.n_clusters
            && sizes.iter().all(|&n| n <= local.budget)
            && total.checked_mul(d) == Some(points.len())
            && total.checked_mul(m) == Some(weights.len())
            && (cost.len(), ids.len(), arrivals.len()) == (total, total, total);
        require(fit, "arrays of different sizes")?;
        require(cost.iter().all(|c| *c >= 0.0), "cost")?;
        require(classes.iter().all(|&class| class < m.max(2)), "classes")?;
        let (outputs, cells) = (m, Vec::new());
        let assignment = Assignment::new(d, sizes.len())?;
        let mut model = Self { local, outputs, assignment, cells, seen };
        let mut at = 0;
        for (center, &size) in centers.chunks_exact(d).zip(&sizes) {
            model.assignment.push(center)?;
            let mut cell = Cell::new(local.kernel, d, m)?;
            for slot in at..at + size {
                let (class, cost, id) = (classes[slot] as u32, cost[slot], ids[slot]);
                let row = &points[slot * d..][..d];
                let sample = (Sample { class, cost, id }, arrivals[slot]);
                cell.restore(row, sample, &weights[slot * m..][..m])?;
            }
            let mut came = cell.arrivals.clone();
            came.sort_unstable();
            require(came.is_sorted_by(|a, b| a < b), "arrivals")?;
            model.cells.push(cell);
            at += size;
        }
        Ok(model)
    }
}
