//! A trained machine without labels: its model, and what training goes on from.

use std::sync::{Arc, OnceLock};

use ndarray::{Array2, Array3};

use super::budget::Recursive;
use super::passes::Passes;
use super::piece::Piece;
use crate::data::{Problem, Rows};
use crate::error::{Error, LARGE, Result, check_features, check_room};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::local::LocalModel;
use crate::model::persist::Section;
use crate::model::{Calibration, Model, Outputs, Scaling};
use crate::online::Stream;
use crate::solver::asset;
use crate::watch::{Look, Silent, Watch};

/// What a training needs beside the model to go on.
#[derive(Clone, Debug)]
pub enum State<F: Real> {
    /// Nothing: the machine is trained anew.
    None,
    /// How far the passes of each expansion are.
    Passes(Vec<Passes>),
    /// The stream of a machine on a budget, with what it has learnt.
    Recursive(Recursive<F>),
    /// A stream an output.
    Online(Arc<[Stream<F>]>),
    /// The cells with what they store.
    Local(Arc<LocalModel<F>>),
    /// Stochastic subgradients on the features of the model, and while its landmarks are not chosen
    /// for good the rows that they are, or are to be.
    Asset(asset::State, Option<Arc<Piece<F>>>),
}

/// A trained machine. It never changes: training gives a new one.
#[derive(Clone, Debug)]
pub struct Machine<F: Real> {
    /// Made of the state when it is first asked for, where the state has all of it: a stream may
    /// train row by row.
    model: OnceLock<Model<F>>,
    state: State<F>,
    /// Of the rows, where their features are scaled: the state knows scaled rows alone.
    scaling: Option<Arc<Scaling<F>>>,
    /// What makes probabilities of its decision values; training makes a machine without.
    calibration: Option<Arc<Calibration>>,
}

impl<F: Real> State<F> {
    /// What files and Python call it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Passes(_) => "passes",
            Self::Recursive(_) => "recursive",
            Self::Online(_) => "streams",
            Self::Local(_) => "local",
            Self::Asset(..) => "asset",
        }
    }
}

impl<F: Real> Machine<F> {
    /// A machine of a model, and of the state of its training.
    #[must_use]
    pub fn new(model: Model<F>, state: State<F>) -> Self {
        let scaling = model.scaling().cloned();
        Self { model: OnceLock::from(model), state, scaling, calibration: None }
    }

    fn of_state(state: State<F>) -> Self {
        Self { model: OnceLock::new(), state, scaling: None, calibration: None }
    }

    pub(super) fn of_streams(streams: Vec<Stream<F>>) -> Self {
        Self::of_state(State::Online(streams.into()))
    }

    pub(super) fn of_recursive(stream: Recursive<F>) -> Self {
        Self::of_state(State::Recursive(stream))
    }

    pub(super) fn of_local(local: LocalModel<F>) -> Self {
        Self::of_state(State::Local(Arc::new(local)))
    }

    /// What the features of rows are multiplied by.
    #[must_use]
    pub fn scaling(&self) -> Option<&Arc<Scaling<F>>> {
        self.scaling.as_ref()
    }

    /// This machine, which was trained on scaled rows, for rows as they come.
    ///
    /// # Errors
    /// Those of [`Model::scaled`].
    pub fn scaled(mut self, scaling: Arc<Scaling<F>>) -> Result<Self> {
        self.put_scaling(scaling)?;
        Ok(self)
    }

    /// [`Machine::scaled`] in place.
    pub(super) fn put_scaling(&mut self, scaling: Arc<Scaling<F>>) -> Result<()> {
        let scaling = match self.take_scaling() {
            // The columns that it was trained on are those of scaled rows.
            Some(own)
                if own.scales().selection().is_some()
                    && scaling.scales().selection().is_none()
                    && scaling.given().is_none() =>
            {
                let scales = own.scales().selecting_of(scaling.scales())?;
                Arc::new(Scaling::new(scales, None)?)
            }
            _ => scaling,
        };
        match self.model.take() {
            Some(model) => self.model = OnceLock::from(model.scaled(Arc::clone(&scaling))?),
            None => check_features(scaling.scales().values().len(), self.n_features())?,
        }
        self.scaling = Some(scaling);
        Ok(())
    }

    /// The machine behind the scales, which training goes on with; and they.
    pub(super) fn take_scaling(&mut self) -> Option<Arc<Scaling<F>>> {
        let scaling = self.scaling.take()?;
        if let Some(model) = self.model.take() {
            self.model = OnceLock::from(model.behind().clone());
        }
        Some(scaling)
    }

    /// A copy of the machine behind the scales, which training goes on with.
    #[must_use]
    pub fn behind(&self) -> Self {
        let mut machine = self.clone();
        machine.take_scaling();
        machine.calibration = None;
        machine
    }

    /// What it decides with.
    ///
    /// # Errors
    /// `OutOfMemory` when it is first asked for after a stream.
    pub fn model(&self) -> Result<&Model<F>> {
        if let Some(model) = self.model.get() {
            return Ok(model);
        }
        let model = match &self.state {
            State::Online(streams) => crate::online::model_of(streams, &mut || Ok(()))?,
            State::Local(local) => local.model()?,
            State::Recursive(stream) => Watch::run_here(&mut Silent, |watch| stream.model(watch))?,
            State::None | State::Passes(_) | State::Asset(..) => {
                return Err(Error::Unsupported("a machine without a model".into()));
            }
        };
        self.keep(model)
    }

    /// Keeps the model that was made of the state.
    fn keep(&self, model: Model<F>) -> Result<&Model<F>> {
        let model = match &self.scaling {
            Some(scaling) => model.scaled(Arc::clone(scaling))?,
            None => model,
        };
        // Another thread may have been quicker.
        Ok(self.model.get_or_init(|| model))
    }

    /// [`Machine::model`], made of a stream while a watch looks on.
    ///
    /// # Errors
    /// As there; `Interrupted`.
    pub fn prepare(&self, watch: &mut Watch<'_>) -> Result<&Model<F>> {
        let model = match (&self.state, self.model.get()) {
            (State::Online(streams), None) => {
                crate::online::model_of(streams, &mut || watch.unbroken(Watch::poll))?
            }
            (State::Recursive(stream), None) => stream.model(watch)?,
            _ => return self.model(),
        };
        self.keep(model)
    }

    /// Whether [`Machine::model`] has nothing to make.
    #[must_use]
    pub fn is_made(&self) -> bool {
        self.model.get().is_some()
    }

    /// The same, of a stream whose landmarks these rows are, or are to be.
    pub(super) fn on_rows(mut self, rows: Option<Piece<F>>) -> Self {
        if let State::Asset(_, held) = &mut self.state {
            *held = rows.map(Arc::new);
        }
        self
    }

    /// A copy to learn in place, which shares nothing that learning changes.
    pub(super) fn copy(&self, watch: &mut Watch<'_>) -> Result<Self> {
        let State::Online(streams) = &self.state else { return Ok(self.clone()) };
        let copies = streams.iter().map(|stream| {
            watch.unbroken(Watch::poll)?;
            Ok(stream.clone())
        });
        let copies: Result<Vec<_>> = copies.collect();
        Ok(Self { scaling: self.scaling.clone(), ..Self::of_streams(copies?) })
    }

    /// The same machine without what the stream of a machine on a budget has learnt: a small file,
    /// to be served. Its training goes on with its terms in place of the rows.
    ///
    /// # Errors
    /// As [`Machine::model`].
    pub fn without_summary(&self) -> Result<Self> {
        let State::Recursive(stream) = &self.state else { return Ok(self.clone()) };
        let (model, passes) = (self.model()?.clone(), stream.passes_of_all());
        let calibration = self.calibration.clone();
        Ok(Self { calibration, ..Self::new(model, State::Passes(passes)) })
    }

    /// The same machine, with what makes probabilities of its decision values.
    ///
    /// # Errors
    /// `BadLabels` for one of other outputs.
    pub fn with_calibration(&self, calibration: Calibration) -> Result<Self> {
        let (outputs, own) = (calibration.outputs(), self.n_outputs());
        if outputs.count() != own || outputs != self.outputs(outputs.n_classes) {
            let text = format!("probabilities of {} classes of {own} outputs", outputs.n_classes);
            return Err(Error::BadLabels(text));
        }
        Ok(Self { calibration: Some(Arc::new(calibration)), ..self.clone() })
    }

    /// What its decision values are of, for so many classes.
    #[must_use]
    pub fn outputs(&self, n_classes: usize) -> Outputs {
        let model = self.model.get().map(Model::behind);
        let pairs = n_classes > 2 && matches!(model, Some(Model::Pairwise(_)));
        Outputs { n_classes, pairs }
    }

    /// What makes probabilities of its decision values, once it is calibrated.
    #[must_use]
    pub fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_deref()
    }

    /// The streams of an online learner, none of another machine, to learn in place: they are
    /// copied first where another machine shares them.
    pub(super) fn streams_mut(&mut self) -> &mut [Stream<F>] {
        let State::Online(streams) = &mut self.state else { return &mut [] };
        (self.model, self.calibration) = (OnceLock::new(), None);
        Arc::make_mut(streams)
    }

    /// The cells with what they store, to learn in place, as [`Machine::streams_mut`].
    pub(super) fn local_mut(&mut self) -> Option<&mut LocalModel<F>> {
        let State::Local(local) = &mut self.state else { return None };
        (self.model, self.calibration) = (OnceLock::new(), None);
        Some(Arc::make_mut(local))
    }

    /// What training goes on from.
    #[must_use]
    pub fn state(&self) -> &State<F> {
        &self.state
    }

    /// Number of terms, those of all outputs and cells together.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        match (&self.state, self.model.get()) {
            (State::Online(streams), _) => streams.iter().map(|s| s.model().n_terms()).sum(),
            (State::Local(local), _) => local.sizes().iter().sum(),
            (State::Recursive(_), None) => self.model().map_or(0, Model::n_terms),
            (_, model) => model.map_or(0, Model::n_terms),
        }
    }

    /// Number of outputs: 1 for two classes or regression, else one a class (exact: one a pair).
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        match (&self.state, self.model.get()) {
            (State::Online(streams), _) => streams.len(),
            (State::Local(local), _) => local.n_outputs(),
            (State::Recursive(stream), _) => stream.n_outputs(),
            (_, model) => model.map_or(0, Model::n_outputs),
        }
    }

    /// Number of features.
    #[must_use]
    pub fn n_features(&self) -> usize {
        if let Some(scaling) = &self.scaling {
            return scaling.scales().n_columns();
        }
        match (&self.state, self.model.get()) {
            (State::Online(streams), _) => streams.first().map_or(0, |s| s.model().n_features()),
            (State::Local(local), _) => local.n_features(),
            (State::Recursive(stream), _) => stream.n_features(),
            (_, model) => model.map_or(0, Model::n_features),
        }
    }

    /// Terms of each cell, or of all where there is but one.
    ///
    /// # Errors
    /// As [`Machine::model`].
    pub fn sizes(&self) -> Result<Vec<usize>> {
        match &self.state {
            State::Local(local) => Ok(local.sizes()),
            _ => Ok(self.model()?.sizes()),
        }
    }

    /// The kernel; none where kernel values are what rows consist of.
    #[must_use]
    pub fn kernel(&self) -> Option<AnyKernel> {
        match (&self.state, self.model.get()) {
            (State::Online(streams), _) => streams.first().map(|s| s.model().kernel()),
            (State::Local(local), _) => Some(local.local().kernel),
            (State::Recursive(stream), _) => Some(stream.config().kernel),
            (_, model) => model.and_then(Model::kernel),
        }
    }

    /// Whether training may go on with the rows and targets of a problem.
    pub(super) fn check_fits(&self, problem: &Problem<'_, F>) -> Result<()> {
        check_features(self.n_features(), problem.rows().n_cols())?;
        if self.n_outputs() != problem.targets().n_outputs() {
            return Err(Error::BadLabels("another number of outputs than the machine has".into()));
        }
        Ok(())
    }

    /// Samples that training has seen; 0 where that is not known.
    #[must_use]
    pub fn seen(&self) -> u64 {
        match &self.state {
            State::None => 0,
            State::Passes(parts) => parts.first().map_or(0, |part| part.seen),
            State::Online(streams) => streams.first().map_or(0, |s| s.model().weights.steps()),
            State::Local(local) => local.seen(),
            State::Recursive(stream) => stream.seen(),
            State::Asset(state, _) => state.samples,
        }
    }

    /// Decision values, samples x outputs, by `threads` threads, or on the calling thread where the
    /// rows are few.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn decide(&self, rows: &Rows<'_, F>, threads: usize) -> Result<Array2<f64>> {
        self.model()?.decision(rows, threads)
    }

    /// Gradients of the decision values in the row, samples x outputs x features, by `threads`
    /// threads, or on the calling thread where the rows are few.
    ///
    /// # Errors
    /// Those of [`Model::gradient`].
    pub fn gradient(&self, rows: &Rows<'_, F>, threads: usize) -> Result<Array3<f64>> {
        self.model()?.gradient(rows, threads)
    }

    /// What a file holds of the machine; `look` is asked now and then.
    ///
    /// # Errors
    /// `OutOfMemory`; those of `look`.
    pub fn to_section(&self, look: Look<'_>) -> Result<Section> {
        // The numbers of the model, and those of the file, each twice on their way.
        let numbers = self.model.get().map_or(0, |model| model.work(1));
        let bytes = numbers.saturating_mul(4 * size_of::<F>());
        if bytes > LARGE {
            check_room("what a file holds", bytes)?;
        }
        let mut section = Section::default();
        section.put("precision", F::NAME);
        // A model has them itself.
        let models = matches!(self.state, State::None | State::Passes(_) | State::Asset(..));
        if let Some(scaling) = self.scaling.as_ref().filter(|_| !models) {
            section.put_section("scaling", scaling.to_section());
        }
        match &self.state {
            State::Online(streams) => {
                let mut parts = Vec::new();
                for (at, stream) in streams.iter().enumerate() {
                    parts.push(stream.to_section(streams.first().filter(|_| at > 0))?);
                    look()?;
                }
                section.put_all("streams", parts);
            }
            State::Local(local) => section.put_section("local", local.to_section()),
            State::Recursive(stream) => section.put_section("recursive", stream.to_section()?),
            State::None => section.put_section("model", self.model()?.to_section()?),
            State::Passes(passes) => {
                section.put_section("model", self.model()?.to_section()?);
                section.put("passes", passes);
            }
            State::Asset(state, waiting) => {
                section.put_section("model", self.model()?.to_section()?);
                let mut of_state = state.to_section();
                if let Some(waiting) = waiting {
                    of_state.put("classes", waiting.targets.view().are_classes());
                    waiting.put(&mut of_state);
                }
                section.put_section("asset", of_state);
            }
        }
        if let Some(calibration) = &self.calibration {
            section.put_section("calibration", calibration.to_section());
        }
        Ok(section)
    }

    pub(super) fn from_section(mut section: Section) -> Result<Self> {
        let bad = |what: &str| Err(Error::Format(format!("machine: {what}")));
        let scaling = match section.has("scaling") {
            true => Some(Arc::new(Scaling::from_section(section.take_section("scaling")?)?)),
            false => None,
        };
        let machine = if section.has("streams") {
            let mut streams: Vec<Stream<F>> = Vec::new();
            for part in section.take_all("streams")? {
                streams.push(Stream::from_section(part, streams.first())?);
            }
            let Some(first) = streams.first().map(Stream::model) else { return bad("no stream") };
            let (d, kernel) = (first.n_features(), first.kernel());
            let same = |s: &Stream<F>| (s.model().n_features(), s.model().kernel()) == (d, kernel);
            if !streams.iter().all(same) || streams.len() == 2 {
                return bad("streams that do not belong together");
            }
            Self::of_streams(streams)
        } else if section.has("local") {
            Self::of_local(LocalModel::from_section(section.take_section("local")?)?)
        } else if section.has("recursive") {
            Self::of_recursive(Recursive::from_section(section.take_section("recursive")?)?)
        } else {
            let model = Model::from_section(section.take_section("model")?)?;
            let state = if section.has("passes") {
                let passes: Vec<Passes> = section.take_exactly("passes")?;
                if passes.len() != model.expansions().len() {
                    return bad("passes");
                }
                State::Passes(passes)
            } else if section.has("asset") {
                let mut of_state = section.take_section("asset")?;
                let mut waiting = None;
                if of_state.has("cost") {
                    let classes: bool = of_state.take("classes")?;
                    let piece = Piece::take(&mut of_state, model.n_outputs(), (classes, &[]))?;
                    let fits = |piece: &Piece<F>| {
                        let rows = piece.problem().map(|problem| problem.rows().n_cols());
                        rows.is_ok_and(|columns| columns == model.n_features())
                    };
                    let Some(piece) = piece.filter(fits) else { return bad("rows that wait") };
                    waiting = Some(Arc::new(piece));
                }
                let state = asset::State::from_section(of_state)?;
                if !state.fits(model.n_outputs(), model.map().map_or(0, |map| map.n_outputs())) {
                    return bad("sizes of the state");
                }
                State::Asset(state, waiting)
            } else {
                State::None
            };
            Self::new(model, state)
        };
        let calibration = match section.has("calibration") {
            true => Some(Calibration::from_section(section.take_section("calibration")?)?),
            false => None,
        };
        section.end()?;
        let machine = match scaling {
            Some(scaling) if machine.scaling.is_none() && machine.model.get().is_none() => {
                machine.scaled(scaling).map_err(|error| Error::Format(error.to_string()))
            }
            Some(_) => bad("scales that the model has itself"),
            None => Ok(machine),
        }?;
        match calibration {
            Some(calibration) => {
                machine.with_calibration(calibration).or_else(|_| bad("calibration"))
            }
            None => Ok(machine),
        }
    }
}
