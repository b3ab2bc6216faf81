//! A local model as named arrays and JSON, and back, everything checked.

use serde_json::{Value, json};

use super::cell::{Cell, Sample};
use super::{Local, LocalModel};
use crate::config::exactly;
use crate::error::{Error, Result};
use crate::float::Real;
use crate::model::assignment::Assignment;
use crate::model::persist::{Section, Tensor, Tensors};

/// Fields of the description.
const FIELDS: usize = 9;

fn require(fine: bool, what: &str) -> Result<()> {
    if fine { Ok(()) } else { Err(Error::Format(format!("local model: {what}"))) }
}

impl<F: Real> LocalModel<F> {
    /// Arrays: `centers` (K x d), `sizes` (K), and for the support vectors, cell by cell, `points`,
    /// `weights` (outputs a row), `classes`, `cost`, `ids`.
    #[must_use]
    pub fn to_section(&self) -> Section {
        let (d, m) = (self.n_features(), self.outputs);
        let mut points = Vec::new();
        let mut weights = Vec::new();
        let mut row = vec![F::zero(); d];
        for cell in &self.cells {
            for slot in 0..cell.len() {
                cell.expansion.centers().get(slot, &mut row);
                points.extend_from_slice(&row);
                weights.extend((0..m).map(|c| cell.expansion.coef(slot, c)));
            }
        }
        let samples = || self.cells.iter().flat_map(|cell| &cell.samples);
        let sizes = self.cells.iter().map(|cell| cell.len() as u64).collect();
        let arrays = Tensors::from([
            ("centers".to_owned(), Tensor::floats(&self.centers())),
            ("sizes".to_owned(), Tensor::counts(sizes)),
            ("points".to_owned(), Tensor::floats(&points)),
            ("weights".to_owned(), Tensor::doubles(weights)),
            ("classes".to_owned(), Tensor::counts(samples().map(|s| u64::from(s.class)).collect())),
            ("cost".to_owned(), Tensor::doubles(samples().map(|s| s.cost).collect())),
            ("ids".to_owned(), Tensor::counts(samples().map(|s| s.id).collect())),
        ]);
        let local = &self.local;
        let estimator = json!({
            "kernel": local.kernel, "n_clusters": local.n_clusters,
            "budget": local.budget, "center_step": local.center_step,
            "overlap": local.overlap, "pruning": local.pruning, "n_features": d,
            "n_outputs": m, "seen": self.seen,
        });
        Section::of(estimator, arrays)
    }

    /// The model of a section.
    ///
    /// # Errors
    /// `Format`, `OutOfMemory`.
    pub fn from_section(section: Section) -> Result<Self> {
        let (estimator, mut arrays) = section.into_parts();
        require(estimator.as_object().is_some_and(|map| map.len() == FIELDS), "fields")?;
        let count = |name: &str| {
            let found = estimator.get(name).and_then(Value::as_u64);
            found
                .and_then(|n| usize::try_from(n).ok())
                .ok_or_else(|| Error::Format(format!("local model: {name}")))
        };
        let step = estimator.get("center_step").and_then(Value::as_f64);
        let local = Local {
            kernel: exactly("kernel", estimator.get("kernel").unwrap_or(&Value::Null))?,
            n_clusters: count("n_clusters")?,
            budget: count("budget")?,
            center_step: step.unwrap_or(f64::NAN),
            overlap: count("overlap")?,
            pruning: exactly("pruning", estimator.get("pruning").unwrap_or(&Value::Null))?,
        };
        local.check().map_err(|e| Error::Format(e.to_string()))?;
        let (d, m, seen) = (count("n_features")?, count("n_outputs")?, count("seen")? as u64);
        require(d > 0 && m > 0, "sizes")?;
        let centers: Vec<F> = Tensor::take_floats(&mut arrays, "centers")?;
        let sizes = Tensor::take_counts(&mut arrays, "sizes")?;
        let points: Vec<F> = Tensor::take_floats(&mut arrays, "points")?;
        let weights = Tensor::take_doubles(&mut arrays, "weights")?;
        let classes = Tensor::take_counts(&mut arrays, "classes")?;
        let cost = Tensor::take_doubles(&mut arrays, "cost")?;
        let ids = Tensor::take_counts(&mut arrays, "ids")?;
        require(arrays.is_empty(), "an array that nothing uses")?;
        let total = classes.len();
        let fit = sizes.iter().try_fold(0u64, |sum, &n| sum.checked_add(n)) == Some(total as u64)
            && sizes.len().checked_mul(d) == Some(centers.len())
            && sizes.len() <= local.n_clusters
            && sizes.iter().all(|&n| n <= local.budget as u64)
            && total.checked_mul(d) == Some(points.len())
            && total.checked_mul(m) == Some(weights.len())
            && (cost.len(), ids.len()) == (total, total);
        require(fit, "arrays of different sizes")?;
        require(cost.iter().all(|c| *c >= 0.0), "cost")?;
        let most = if m == 1 { 2 } else { m as u64 };
        require(classes.iter().all(|&class| class < most), "classes")?;
        let mut model = Self {
            local,
            outputs: m,
            assignment: Assignment::new(d, sizes.len())?,
            cells: Vec::new(),
            seen,
        };
        let mut at = 0;
        for (center, &size) in centers.chunks_exact(d).zip(&sizes) {
            model.assignment.push(center)?;
            let mut cell = Cell::new(local.kernel, d, m)?;
            for slot in at..at + size as usize {
                let (class, cost, id) = (classes[slot] as u32, cost[slot], ids[slot]);
                let row = &points[slot * d..][..d];
                cell.restore(row, Sample { class, cost, id }, &weights[slot * m..][..m])?;
            }
            at += size as usize;
            model.cells.push(cell);
        }
        Ok(model)
    }
}
