//! `Beliefs`, `Voxels`, `Cells`: posteriors at places, each value an array that is made when it is first asked for.

use std::sync::Arc;

use e2bki::free::{Forgetting, Seen, State, Tally};
use e2bki::{Belief, Beliefs, Cells, ClassSet, Voxels};
use numpy::{Element, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use rayon::prelude::*;

use crate::arrays;
use crate::classes::PyClasses;
use crate::errors::{Failure, Result};
use crate::threads;

/// Places per parallel task.
const PORTION: usize = 8192;

/// Beliefs with or without the values of the classes that are not the most likely one.
pub(crate) enum Source {
    Full(Beliefs),
    Best(Vec<Belief>),
}

impl Source {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Full(beliefs) => beliefs.len(),
            Self::Best(beliefs) => beliefs.len(),
        }
    }

    pub(crate) fn get(&self, place: usize) -> Belief {
        match self {
            Self::Full(beliefs) => beliefs.get(place),
            Self::Best(beliefs) => beliefs[place],
        }
    }

    /// What is known of free space at a place; nothing where only the most likely class is known.
    fn free_space(&self, place: usize) -> (State, Option<f64>, Tally) {
        match self {
            Self::Full(beliefs) => (beliefs.state(place), beliefs.existence(place), beliefs.tally(place)),
            Self::Best(_) => Default::default(),
        }
    }
}

type Column<T> = PyOnceLock<Py<PyArray1<T>>>;
type Matrix = PyOnceLock<Py<PyArray2<f64>>>;

/// Dirichlet posteriors at N places. Arrays are made when first asked for and kept.
#[pyclass(name = "Beliefs", module = "e2bki", frozen, subclass)]
pub(crate) struct PyBeliefs {
    pub(crate) source: Arc<Source>,
    pub(crate) classes: ClassSet,
    /// Seconds that the map took to answer, where that was measured.
    seconds: Option<f64>,
    label: Column<i32>,
    observed: Column<bool>,
    columns: [Column<f64>; 7],
    alpha: Matrix,
    probability: Matrix,
}

impl PyBeliefs {
    pub(crate) fn new(source: Source, classes: ClassSet) -> Self {
        Self {
            source: Arc::new(source),
            classes,
            seconds: None,
            label: Column::new(),
            observed: Column::new(),
            columns: std::array::from_fn(|_| Column::new()),
            alpha: Matrix::new(),
            probability: Matrix::new(),
        }
    }

    pub(crate) fn timed(self, seconds: f64) -> Self {
        Self { seconds: Some(seconds), ..self }
    }

    fn column<'py, T: Element + Send>(
        &self,
        py: Python<'py>,
        kept: &Column<T>,
        value: impl Fn(&Belief) -> T + Sync + Send,
    ) -> Result<Bound<'py, PyArray1<T>>> {
        if let Some(kept) = kept.get(py) {
            return Ok(kept.bind(py).clone());
        }
        let source = &self.source;
        let each = |place: usize| value(&source.get(place));
        let make = || (0..source.len()).into_par_iter().with_min_len(PORTION).map(each).collect();
        let values: Vec<T> = threads::work(py, make)?;
        Ok(kept.get_or_init(py, || PyArray1::from_vec(py, values).unbind()).bind(py).clone())
    }

    fn free_column<'py, T: Element + Send>(
        &self,
        py: Python<'py>,
        value: impl Fn((State, Option<f64>, Tally)) -> T + Sync + Send,
    ) -> Bound<'py, PyArray1<T>> {
        let source = &self.source;
        let each = |place: usize| value(source.free_space(place));
        let values: Vec<T> = py.detach(|| (0..source.len()).into_par_iter().with_min_len(PORTION).map(each).collect());
        PyArray1::from_vec(py, values)
    }

    fn seen_column<'py>(&self, py: Python<'py>, time: impl Fn(Seen) -> u32 + Sync + Send) -> Bound<'py, PyArray1<f64>> {
        let source = &self.source;
        let each = |place: usize| match &**source {
            Source::Full(beliefs) => beliefs.seen(place).map_or(f64::NAN, |seen| f64::from(time(seen))),
            Source::Best(_) => f64::NAN,
        };
        let values: Vec<f64> =
            py.detach(|| (0..source.len()).into_par_iter().with_min_len(PORTION).map(each).collect());
        PyArray1::from_vec(py, values)
    }

    fn matrix<'py>(
        &self,
        py: Python<'py>,
        kept: &Matrix,
        row: fn(&Beliefs, usize, &mut [f64]),
    ) -> Result<Bound<'py, PyArray2<f64>>> {
        let Source::Full(beliefs) = &*self.source else {
            return Err(Failure::value("only the most likely class is known here; ask with `query` or `voxels`"));
        };
        if let Some(kept) = kept.get(py) {
            return Ok(kept.bind(py).clone());
        }
        let classes = beliefs.classes();
        let mut values = vec![0.0; beliefs.len() * classes];
        threads::work(py, || {
            let rows = values.par_chunks_mut(classes.max(1)).enumerate().with_min_len(PORTION / 8);
            rows.for_each(|(place, values)| row(beliefs, place, values));
        })?;
        let array = arrays::to_matrix(py, values, [beliefs.len(), classes])?;
        Ok(kept.get_or_init(py, || array.unbind()).bind(py).clone())
    }

    fn shares(&self) -> String {
        let observed = (0..self.source.len()).filter(|place| self.source.get(*place).observed()).count();
        format!("{} places, {observed} observed, {} classes", self.source.len(), self.classes.len())
    }
}

#[pymethods]
impl PyBeliefs {
    /// Most likely class, −1 where nothing was observed: (N,) int32.
    #[getter]
    fn label<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray1<i32>>> {
        self.column(py, &self.label, |b| b.label().and_then(|label| i32::try_from(label).ok()).unwrap_or(-1))
    }

    /// Whether anything reaches here: (N,) bool.
    #[getter]
    fn observed<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray1<bool>>> {
        self.column(py, &self.observed, Belief::observed)
    }

    /// What is known of the place: 0 unknown, 1 free, 2 occupied; 0 without free space and in live voxels: (N,) uint8.
    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        self.free_column(py, |(state, ..)| state as u8)
    }

    /// From 0, always seen through, to 1, always hit; NaN where nothing is known: (N,) float64.
    #[getter]
    fn existence<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.free_column(py, |(_, existence, _)| existence.unwrap_or(f64::NAN))
    }

    /// Frames that had a return in the cube of the place: (N,) uint32.
    #[getter]
    fn hits<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.free_column(py, |(.., tally)| tally.hits)
    }

    /// Frames that saw through the cube of the place: (N,) uint32.
    #[getter]
    fn passes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.free_column(py, |(.., tally)| tally.passes)
    }

    /// When the block of 2 m around the place was last seen: the time of a frame, whole seconds; NaN where no frame with a
    /// time saw it, and in live voxels: (N,) float64.
    #[getter]
    fn last_seen<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.seen_column(py, |seen| seen.last)
    }

    /// The same for the first time it was seen: (N,) float64.
    #[getter]
    fn first_seen<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.seen_column(py, |seen| seen.first)
    }

    /// as_of(time, half_life) -> (state, existence)
    ///
    /// State and existence with what was not seen for long forgotten: a way of reading, the map stays as it is. After a
    /// half-life without being seen, existence is half as far from ½ as it was, and the place is unknown. time: seconds, as of
    /// the frames; half_life: seconds for all classes, or (K,) for each, infinite for what is never forgotten.
    #[allow(clippy::type_complexity)] // two arrays
    fn as_of<'py>(
        &self,
        py: Python<'py>,
        time: f64,
        half_life: &Bound<'_, PyAny>,
    ) -> Result<(Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<f64>>)> {
        let Source::Full(beliefs) = &*self.source else {
            return Err(Failure::value(
                "when live voxels were last seen is not known here; ask with `query` or `voxels`",
            ));
        };
        let classes = self.classes.len();
        let half_life = match half_life.extract::<f64>() {
            Ok(all) => vec![all; classes],
            Err(_) => arrays::vector_f64(half_life, "half_life", Some(classes))?,
        };
        let forgetting = Forgetting::new(time, half_life)?;
        let read = |place: usize| {
            let (state, existence) = beliefs.as_of(place, &forgetting);
            (state as u8, existence.unwrap_or(f64::NAN))
        };
        let (states, existence): (Vec<u8>, Vec<f64>) =
            py.detach(|| (0..beliefs.len()).into_par_iter().with_min_len(PORTION).map(read).unzip());
        Ok((PyArray1::from_vec(py, states), PyArray1::from_vec(py, existence)))
    }

    /// Semantic uncertainty, how unsure the network was: (N,) float64, 0 to 1; 1 where nothing was observed.
    #[getter]
    fn u_sem<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray1<f64>>> {
        self.column(py, &self.columns[0], Belief::semantic_uncertainty)
    }

    /// Evidence sparsity, how little was seen here: (N,) float64.
    #[getter]
    fn u_spa<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray1<f64>>> {
        self.column(py, &self.columns[1], Belief::spatial_uncertainty)
    }

    /// Total uncertainty u_sem + u_spa, at most 1: (N,) float64; 1 where nothing was observed.
    #[getter]
    fn u<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray1<f64>>> {
        self.column(py, &self.columns[2], Belief::uncertainty)
    }

    /// Dirichlet variance of the most likely class: (N,) float64.
    #[getter]
    fn variance<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray1<f64>>> {
        self.column(py, &self.columns[3], Belief::variance)
    }

    /// Expected probability of the most likely class: (N,) float64.
    #[getter]
    fn confidence<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray1<f64>>> {
        self.column(py, &self.columns[4], Belief::confidence)
    }

    /// Kernel mass Σk of the primitives that reach here: (N,) float64.
    #[getter]
    fn evidence<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray1<f64>>> {
        self.column(py, &self.columns[5], Belief::evidence)
    }

    /// Sum S of the Dirichlet parameters: (N,) float64.
    #[getter]
    fn strength<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray1<f64>>> {
        self.column(py, &self.columns[6], Belief::strength)
    }

    /// Dirichlet parameters α: (N, C) float64.
    #[getter]
    fn alpha<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray2<f64>>> {
        self.matrix(py, &self.alpha, |beliefs, place, row| {
            row.iter_mut().zip(beliefs.alpha(place)).for_each(|(out, v)| *out = v);
        })
    }

    /// Expected probability α/S of each class: (N, C) float64.
    #[getter]
    fn probability<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray2<f64>>> {
        self.matrix(py, &self.probability, |beliefs, place, row| {
            row.iter_mut().zip(beliefs.expectation(place)).for_each(|(out, v)| *out = v);
        })
    }

    /// Seconds that the map itself took to answer `Map.query`, or None.
    #[getter]
    fn seconds(&self) -> Option<f64> {
        self.seconds
    }

    /// The classes.
    #[getter]
    fn classes(&self) -> PyClasses {
        PyClasses(self.classes.clone())
    }

    /// to_pandas() -> pandas.DataFrame
    ///
    /// One row per place, without the values of every class. Needs pandas.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("e2bki._tables")?.call_method1("to_pandas", (slf,))
    }

    /// to_arrow() -> pyarrow.Table
    ///
    /// One row per place, without the values of every class. Needs pyarrow.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("e2bki._tables")?.call_method1("to_arrow", (slf,))
    }

    fn __len__(&self) -> usize {
        self.source.len()
    }

    fn __repr__(&self) -> String {
        format!("<e2bki.Beliefs: {}>", self.shares())
    }
}

/// Voxels that hold evidence, with their beliefs.
#[pyclass(name = "Voxels", module = "e2bki", frozen, extends = PyBeliefs)]
pub(crate) struct PyVoxels {
    resolution: f64,
    center: Py<PyArray2<f64>>,
}

impl PyVoxels {
    pub(crate) fn of(py: Python<'_>, voxels: Voxels, classes: ClassSet) -> Result<Py<Self>> {
        Self::new(py, voxels.resolution, voxels.centers, Source::Full(voxels.beliefs), classes)
    }

    pub(crate) fn new(
        py: Python<'_>,
        resolution: f64,
        centers: Vec<[f64; 3]>,
        source: Source,
        classes: ClassSet,
    ) -> Result<Py<Self>> {
        let center = arrays::to_rows(py, centers)?.unbind();
        let base = PyClassInitializer::from(PyBeliefs::new(source, classes));
        Ok(Py::new(py, base.add_subclass(Self { resolution, center }))?)
    }
}

#[pymethods]
impl PyVoxels {
    /// Side of a voxel, metres.
    #[getter]
    fn resolution(&self) -> f64 {
        self.resolution
    }

    /// Centres, metres: (M, 3) float64.
    #[getter]
    fn center<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.center.bind(py).clone()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> String {
        let (count, classes) = (slf.as_super().get().source.len(), slf.as_super().get().classes.len());
        format!("<e2bki.Voxels: {count} of {} m, {classes} classes>", slf.get().resolution)
    }
}

/// Bird's-eye cells that hold evidence, with their beliefs.
#[pyclass(name = "Cells", module = "e2bki", frozen, extends = PyBeliefs)]
pub(crate) struct PyCells {
    resolution: f64,
    center: Py<PyArray2<f64>>,
}

impl PyCells {
    pub(crate) fn of(py: Python<'_>, cells: Cells, classes: ClassSet) -> Result<Py<Self>> {
        let center = arrays::to_rows(py, cells.centers)?.unbind();
        let base = PyClassInitializer::from(PyBeliefs::new(Source::Full(cells.beliefs), classes));
        Ok(Py::new(py, base.add_subclass(Self { resolution: cells.resolution, center }))?)
    }
}

#[pymethods]
impl PyCells {
    /// Side of a cell, metres.
    #[getter]
    fn resolution(&self) -> f64 {
        self.resolution
    }

    /// Centres x, y, metres: (M, 2) float64.
    #[getter]
    fn center<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.center.bind(py).clone()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> String {
        let (count, classes) = (slf.as_super().get().source.len(), slf.as_super().get().classes.len());
        format!("<e2bki.Cells: {count} of {} m, {classes} classes>", slf.get().resolution)
    }
}
