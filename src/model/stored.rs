//! Models as sections of a file, and back, everything checked.

use std::sync::Arc;

use ndarray::Array2;

use super::persist::{Section, Tensor};
use super::{
    CellMachine, CellModel, CellPairs, CodedModel, Coding, FeatureModel, KernelModel, LinearModel,
    Model, PairwiseModel, Scaling, Support,
};
use crate::data::{Scales, Selection};
use crate::error::{Error, Result, try_collect};
use crate::features::{FeatureMap, FourierMap, LandmarkMap};
use crate::float::Real;
use crate::kernel::AnyKernel;

fn bad<T>(what: &str) -> Result<T> {
    Err(Error::Format(format!("model: {what}")))
}

/// Every error of parts that do not fit together is one of the file.
fn fits<T>(made: Result<T>) -> Result<T> {
    made.map_err(|error| match error {
        Error::Format(_) | Error::OutOfMemory { .. } => error,
        error => Error::Format(error.to_string()),
    })
}

/// What terms or features count, and the offsets.
fn put_weights(section: &mut Section, coef: Vec<f64>, intercept: &[f64]) {
    section.put_array("coef", Tensor::doubles(coef));
    section.put_array("intercept", Tensor::doubles(intercept.to_vec()));
}

fn take_weights(section: &mut Section) -> Result<(Vec<f64>, Vec<f64>)> {
    Ok((section.take_doubles("coef")?, section.take_doubles("intercept")?))
}

impl<F: Real> KernelModel<F> {
    fn to_section(&self) -> Result<Section> {
        let mut section = Section::default();
        section.put("kernel", self.kernel());
        section.put_array("origin", Tensor::floats(self.origin()));
        match self.kept_rows() {
            Some(rows) => section.put_rows("rows", rows),
            None => {
                section.put("n_features", self.n_features());
                section.put_array("centers", Tensor::floats(&self.shifted_centers()?));
            }
        }
        put_weights(&mut section, self.coef(), self.intercept());
        Ok(section)
    }

    fn from_section(mut section: Section) -> Result<Self> {
        let kernel = section.take_kernel()?;
        let origin = section.take_floats("origin")?;
        let (coef, intercept) = take_weights(&mut section)?;
        let made = if section.has("rows") {
            Self::of_rows(kernel, origin, section.take_rows("rows")?, &coef, intercept)
        } else {
            let d = section.take("n_features")?;
            let centers = section.take_floats("centers")?;
            Self::from_parts(kernel, origin, (centers, d), &coef, intercept)
        };
        section.end()?;
        fits(made)
    }
}

impl<F: Real> Scaling<F> {
    /// What a file holds of it.
    #[must_use]
    pub fn to_section(&self) -> Section {
        let mut section = Section::default();
        if let Some(selection) = self.scales().selection() {
            let columns = selection.columns().iter().map(|&c| u64::from(c)).collect();
            section.put_array("columns", Tensor::counts(columns));
            section.put("n_columns", selection.n_columns());
            section.put("magnitudes", selection.has_magnitudes());
        }
        if let Some(scales) = self.scales().of_columns() {
            section.put_array("scales", Tensor::doubles(scales.to_vec()));
        }
        if let Some(given) = self.given() {
            section.put_rows("given", given);
        }
        section
    }

    /// That of a file.
    ///
    /// # Errors
    /// `Format` for anything that is not exactly valid, `OutOfMemory`.
    pub fn from_section(mut section: Section) -> Result<Self> {
        let scales = if section.has("columns") {
            let columns = section.take_sizes("columns")?.into_iter().map(u32::try_from);
            let columns: std::result::Result<Vec<u32>, _> = columns.collect();
            let columns = columns.map_err(|_| Error::Format("columns".into()))?;
            let (n_columns, magnitudes) = (section.take("n_columns")?, section.take("magnitudes")?);
            let selected =
                Scales::of_selection(fits(Selection::new(columns, n_columns, magnitudes))?);
            match section.has("scales") {
                true => {
                    let scales = fits(Scales::new(section.take_doubles("scales")?))?;
                    fits(selected.selecting_of(&scales))?
                }
                false => selected,
            }
        } else {
            fits(Scales::new(section.take_doubles("scales")?))?
        };
        let given = if section.has("given") { Some(section.take_rows("given")?) } else { None };
        section.end()?;
        fits(Self::new(scales, given))
    }
}

impl<F: Real> Model<F> {
    /// What a file holds of the model.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn to_section(&self) -> Result<Section> {
        let mut section = Section::default();
        if let Self::Scaled(scaling, model) = self {
            section.put("kind", "scaled");
            section.put_section("scaling", scaling.to_section());
            section.put_section("model", model.to_section()?);
            return Ok(section);
        }
        section.put("kind", self.kind());
        match self {
            Self::Expansion(model) => {
                section.put_section("expansion", model.to_section()?);
            }
            Self::Each(models) => {
                let parts: Result<Vec<_>> = models.iter().map(KernelModel::to_section).collect();
                section.put_all("outputs", parts?);
            }
            Self::Pairwise(model) => pairwise_to_section(model, &mut section),
            Self::Features(model) => {
                section.put("kernel", model.kernel());
                section.put("moves", model.moves());
                section.put_section("map", map_to_section(model.map())?);
                put_weights(&mut section, model.coef().to_vec(), model.intercept());
            }
            Self::Linear(model) => {
                put_weights(&mut section, model.coef().to_vec(), model.intercept());
            }
            Self::Cells(model) => {
                cells_to_section(model, &mut section)?;
            }
            Self::Coded(model) => {
                let mut parts = Vec::with_capacity(model.parts().len());
                for (coding, model) in model.parts() {
                    let mut part = Section::default();
                    part.put_section("coding", coding.to_section());
                    part.put_section("expansion", model.to_section()?);
                    parts.push(part);
                }
                section.put_all("parts", parts);
            }
            // Above.
            Self::Scaled(..) => {}
        }
        Ok(section)
    }

    /// The model of a file.
    ///
    /// # Errors
    /// `Format` for anything that is not exactly valid, `OutOfMemory`.
    pub fn from_section(mut section: Section) -> Result<Self> {
        let kind: String = section.take("kind")?;
        let model = match kind.as_str() {
            "expansion" => {
                let expansion = section.take_section("expansion")?;
                Self::Expansion(Arc::new(KernelModel::from_section(expansion)?))
            }
            "each" => {
                let models: Result<Vec<_>> = section
                    .take_all("outputs")?
                    .into_iter()
                    .map(KernelModel::<F>::from_section)
                    .collect();
                let models = models?;
                let Some(first) = models.first() else { return bad("no output") };
                let (d, kernel) = (first.n_features(), first.kernel());
                let same = |m: &KernelModel<F>| {
                    (m.n_features(), m.kernel(), m.n_outputs()) == (d, kernel, 1)
                };
                if !models.iter().all(same) {
                    return bad("outputs of other features or kernels");
                }
                Self::Each(models.into())
            }
            "pairwise" => Self::Pairwise(Arc::new(pairwise_from_section(&mut section)?)),
            "features" => {
                let kernel = section.take_kernel()?;
                let map = map_from_section(section.take_section("map")?, kernel)?;
                let (coef, intercept) = take_weights(&mut section)?;
                let made =
                    FeatureModel::new((map, kernel), coef, intercept, section.take("moves")?);
                Self::Features(Arc::new(fits(made)?))
            }
            "linear" => {
                let (coef, intercept) = take_weights(&mut section)?;
                Self::Linear(Arc::new(fits(LinearModel::new(coef, intercept))?))
            }
            "cells" => Self::Cells(Arc::new(cells_from_section(&mut section)?)),
            "coded" => {
                let mut parts = Vec::new();
                for mut part in section.take_all("parts")? {
                    let coding = Coding::from_section(part.take_section("coding")?)?;
                    let expansion = part.take_section("expansion")?;
                    part.end()?;
                    parts.push((coding, KernelModel::from_section(expansion)?));
                }
                Self::Coded(Arc::new(fits(CodedModel::new(parts))?))
            }
            "scaled" => {
                let scaling = Scaling::from_section(section.take_section("scaling")?)?;
                let model = section.take_section("model")?;
                // One in another would be no end of calls.
                let nested = model.has("scaling");
                let model = if nested { return bad("kind") } else { Self::from_section(model)? };
                fits(model.scaled(Arc::new(scaling)))?
            }
            _ => return bad("kind"),
        };
        section.end()?;
        Ok(model)
    }
}

/// Support vectors, or the columns that they are, and what they count.
fn pairwise_to_section<F: Real>(model: &PairwiseModel<F>, section: &mut Section) {
    match model.support() {
        Support::Vectors(kernel, rows) => {
            section.put("kernel", kernel);
            section.put_rows("support", rows);
            section.put_array("origin", Tensor::floats(model.origin()));
        }
        Support::Columns(columns, width) => {
            section.put("width", width);
            let columns = columns.iter().map(|&c| c as u64).collect();
            section.put_array("columns", Tensor::counts(columns));
        }
    }
    section.put("n_support", model.n_support());
    let coef = model.coef().iter().copied().collect();
    put_weights(section, coef, model.intercept());
}

fn pairwise_from_section<F: Real>(section: &mut Section) -> Result<PairwiseModel<F>> {
    let mut origin = Vec::new();
    let support = if section.has("kernel") {
        origin = section.take_floats("origin")?;
        let kernel = section.take_kernel()?;
        Support::Vectors(kernel, section.take_rows("support")?)
    } else {
        let width = section.take("width")?;
        Support::Columns(section.take_sizes("columns")?, width)
    };
    let n_support: Vec<usize> = section.take("n_support")?;
    let coef = section.take_doubles("coef")?;
    let rows = n_support.len().max(2) - 1;
    let shape = (rows, coef.len() / rows);
    let Ok(coef) = Array2::from_shape_vec(shape, coef) else { return bad("coef") };
    let intercept = section.take_doubles("intercept")?;
    fits(PairwiseModel::at(origin, support, n_support, coef, intercept))
}

/// The expansions of cells one after another: a name an array, not a name a cell. A cell of pairs
/// is none there, and a section of its own beside them.
fn cells_to_section<F: Real>(model: &CellModel<F>, section: &mut Section) -> Result<()> {
    let (mut sizes, mut origins, mut centers) = (Vec::new(), Vec::new(), Vec::new());
    let (mut coef, mut intercept, mut moved) = (Vec::new(), Vec::new(), Vec::new());
    let mut pairs = Vec::new();
    for (at, cell) in model.cells().iter().enumerate() {
        let cell = match cell {
            CellMachine::Expansion(cell) => cell,
            CellMachine::Pairs(own) => {
                let mut part = Section::default();
                part.put("cell", at);
                part.put("classes", own.classes());
                pairwise_to_section(own.machine(), &mut part);
                pairs.push(part);
                sizes.push(0);
                moved.push(0);
                intercept.extend(vec![0.0; model.n_outputs()]);
                continue;
            }
        };
        sizes.push(cell.n_terms() as u64);
        moved.push(u64::from(!cell.origin().is_empty()));
        origins.extend_from_slice(cell.origin());
        centers.extend(cell.shifted_centers()?);
        coef.extend(cell.coef());
        intercept.extend_from_slice(cell.intercept());
    }
    section.put("kernel", model.cells().first().map(CellMachine::kernel));
    section.put("n_features", model.n_inner_features());
    section.put("n_outputs", model.n_outputs());
    if let Some(directions) = model.directions() {
        section.put_section("directions", map_to_section(directions)?);
    }
    section.put_array("cells", Tensor::floats(&model.inner_centers()));
    section.put_array("sizes", Tensor::counts(sizes));
    section.put_array("moved", Tensor::counts(moved));
    section.put_array("origins", Tensor::floats(&origins));
    section.put_array("centers", Tensor::floats(&centers));
    put_weights(section, coef, &intercept);
    if !pairs.is_empty() {
        section.put_all("pairs", pairs);
    }
    Ok(())
}

fn cells_from_section<F: Real>(section: &mut Section) -> Result<CellModel<F>> {
    let kernel: Option<AnyKernel> = match section.has("kernel") {
        true => section.take_exactly("kernel")?,
        false => return bad("kernel"),
    };
    let (d, m): (usize, usize) = (section.take("n_features")?, section.take("n_outputs")?);
    let cells: Vec<F> = section.take_floats("cells")?;
    let (sizes, moved) = (section.take_sizes("sizes")?, section.take_sizes("moved")?);
    let (origins, centers): (Vec<F>, Vec<F>) =
        (section.take_floats("origins")?, section.take_floats("centers")?);
    let (coef, intercept) = take_weights(section)?;
    let total = sizes.iter().try_fold(0usize, |sum, &n| sum.checked_add(n));
    let times = |n: Option<usize>, by: usize| n.and_then(|n| n.checked_mul(by));
    let fit = sizes.len() == moved.len()
        && moved.iter().all(|&m| m <= 1)
        && times(Some(moved.iter().sum()), d) == Some(origins.len())
        && times(total, d) == Some(centers.len())
        && times(total, m) == Some(coef.len())
        && times(Some(sizes.len()), m) == Some(intercept.len())
        && kernel.is_some() != sizes.is_empty()
        && d > 0
        && m > 0;
    if !fit {
        return bad("sizes of cells");
    }
    let (mut origins, mut offsets) = (origins.as_slice(), intercept.chunks_exact(m));
    let (mut centers, mut coef) = (centers.as_slice(), coef.as_slice());
    let mut models = Vec::with_capacity(sizes.len());
    for (&size, &moved) in sizes.iter().zip(&moved) {
        let (Some(kernel), Some(offset)) = (kernel, offsets.next()) else { return bad("cells") };
        let (origin, own, weights);
        (origin, origins) = origins.split_at(moved * d);
        (own, centers) = centers.split_at(size * d);
        (weights, coef) = coef.split_at(size * m);
        let points = (own.to_vec(), d);
        let made =
            KernelModel::from_parts(kernel, origin.to_vec(), points, weights, offset.to_vec());
        models.push(CellMachine::Expansion(fits(made)?));
    }
    // Files of before such cells have none.
    let pairs = if section.has("pairs") { section.take_all("pairs")? } else { Vec::new() };
    let mut last = None;
    for mut part in pairs {
        let (at, classes): (usize, Vec<usize>) = (part.take("cell")?, part.take("classes")?);
        let machine = pairwise_from_section(&mut part)?;
        part.end()?;
        let own = fits(CellPairs::new(machine, classes))?;
        let cell = CellMachine::Pairs(Box::new(own));
        let place = models.get_mut(at).filter(|_| last < Some(at));
        match place {
            Some(place) if place.n_terms() == 0 && Some(cell.kernel()) == kernel => *place = cell,
            _ => return bad("pairs of cells"),
        }
        last = Some(at);
    }
    let model = fits(CellModel::new((&cells, d), models, m))?;
    if !section.has("directions") {
        return Ok(model);
    }
    let directions = map_from_section(section.take_section("directions")?, AnyKernel::Linear)?;
    fits(model.behind(directions))
}

fn map_to_section<F: Real>(map: &FeatureMap<F>) -> Result<Section> {
    let mut section = Section::default();
    match map {
        FeatureMap::Landmarks(map) => {
            section.put("n_features", map.n_features());
            section.put("n_outputs", map.n_outputs());
            section.put_array("landmarks", Tensor::floats(map.landmarks()));
            section.put_array("weights", Tensor::floats(&map.weights()?));
        }
        FeatureMap::Fourier(map) => {
            section.put("n_features", map.n_features());
            section.put_array("frequencies", Tensor::doubles(map.frequencies()?));
            section.put_array("phases", Tensor::doubles(map.phases().to_vec()));
        }
    }
    Ok(section)
}

fn map_from_section<F: Real>(mut section: Section, kernel: AnyKernel) -> Result<FeatureMap<F>> {
    let d: usize = section.take("n_features")?;
    let map = if section.has("n_outputs") {
        let outputs = section.take("n_outputs")?;
        let landmarks: Vec<F> = section.take_floats("landmarks")?;
        let weights: Vec<F> = section.take_floats("weights")?;
        let weights = try_collect("weights", weights.into_iter().map(Real::to_f64))?;
        let made = LandmarkMap::new(kernel, (&landmarks, d), &weights, outputs);
        FeatureMap::Landmarks(fits(made)?)
    } else {
        let (frequencies, phases) =
            (section.take_doubles("frequencies")?, section.take_doubles("phases")?);
        FeatureMap::Fourier(fits(FourierMap::again((&frequencies, d), &phases))?)
    };
    section.end()?;
    Ok(map)
}
