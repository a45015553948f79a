//! The methods to compare with, and the training of ConvBKI's kernels.

use std::sync::{Arc, Mutex};

use e2bki::{ClassSet, SemanticMapper};
use e2bki_baselines::{Baseline, BuildOptions, ConvBki, ConvKernels, Sample, Thinning, TrainOptions, Window, train};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays;
use crate::beliefs::{PyBeliefs, PyCells, PyVoxels, Source};
use crate::classes::{PyClasses, class_set};
use crate::config::{PyConfig, config_or_default};
use crate::errors::{Failure, Result};
use crate::frame::{PyFrame, insert_into};
use crate::gate::Gate;
use crate::interrupt;
use crate::report::PyFrameReport;
use crate::threads;

/// A method to compare with; see the classes of `e2bki.baselines`.
#[pyclass(name = "Baseline", module = "e2bki.baselines", frozen, subclass)]
pub(crate) struct PyBaseline {
    /// Shared with viewers, which ask it for beliefs.
    pub(crate) map: Arc<Mutex<Box<dyn SemanticMapper>>>,
    gate: Gate,
    /// Whether it has threads of its own, which a forked process does not.
    own_threads: bool,
    pub(crate) classes: ClassSet,
    pub(crate) baseline: Baseline,
}

impl PyBaseline {
    /// Works on the map while Python goes on.
    pub(crate) fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut dyn SemanticMapper) -> T + Send,
    ) -> Result<T> {
        if self.own_threads && !self.gate.at_home() {
            return Err(threads::spawn("a map with `threads`"));
        }
        let done = threads::work(py, || {
            let _inside = self.gate.write()?;
            Ok::<_, Failure>(self.map.lock().ok().map(|mut map| work(map.as_mut())))
        })??;
        done.ok_or_else(|| Failure::value("an earlier call on this map failed half way; it cannot be used any more"))
    }
}

#[pymethods]
impl PyBaseline {
    #[new]
    #[pyo3(signature = (method, classes, *, config = None, bev = false, thinning = None, kernels = None))]
    fn new(
        method: &str,
        classes: &Bound<'_, PyAny>,
        config: Option<PyConfig>,
        bev: bool,
        thinning: Option<(usize, f64)>,
        kernels: Option<PyConvKernels>,
    ) -> Result<Self> {
        let known = Baseline::ALL.map(Baseline::name).join(", ");
        let baseline = Baseline::from_name(method)
            .ok_or_else(|| Failure::value(format!("unknown method `{method}`; known: {known}")))?;
        let (classes, config) = (class_set(classes)?, config_or_default(config));
        threads::check_number(config.run.threads)?;
        let thinning = thinning.map(|(points, cell)| Thinning { points, cell });
        let options = BuildOptions { bev, thinning, ..BuildOptions::default() };
        let map: Box<dyn SemanticMapper> = match (kernels, baseline) {
            (None, _) => baseline.build_with(classes.clone(), &config, options)?,
            (Some(kernels), Baseline::ConvBki) => {
                Box::new(ConvBki::with_kernels_and_options(classes.clone(), &config, kernels.0, options)?)
            }
            (Some(_), _) => return Err(Failure::kind("only ConvBKI takes kernels")),
        };
        let own_threads = config.run.threads > 0;
        Ok(Self { map: Arc::new(Mutex::new(map)), gate: Gate::new(), own_threads, classes, baseline })
    }

    /// insert(points, **semantics) -> FrameReport
    ///
    /// Adds a scan; the arguments are those of `Map.insert`.
    #[pyo3(signature = (points, **semantics))]
    fn insert<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
        semantics: Option<&Bound<'py, PyDict>>,
    ) -> Result<PyFrameReport> {
        let report = insert_into(points, semantics, self.classes.len(), |frame| {
            self.with(py, |map| {
                interrupt::check_within(interrupt::UNCHANGED)?;
                Ok(map.insert(frame)?)
            })?
        })?;
        interrupt::check(py, interrupt::CHANGED)?;
        Ok(report)
    }

    /// query(points) -> Beliefs
    ///
    /// Beliefs of the voxels that hold world positions: points (N, 3), metres.
    fn query(&self, py: Python<'_>, points: &Bound<'_, PyAny>) -> Result<PyBeliefs> {
        let points = arrays::rows_f64::<3>(points, "points")?;
        let beliefs = self.with(py, |map| map.query(&points))??;
        Ok(PyBeliefs::new(Source::Full(beliefs), self.classes.clone()))
    }

    /// query_bev(points) -> Beliefs
    ///
    /// Beliefs of the bird's-eye cells that hold world positions x, y: points (N, 2), metres. Needs bev=True.
    fn query_bev(&self, py: Python<'_>, points: &Bound<'_, PyAny>) -> Result<PyBeliefs> {
        let points = arrays::rows_f64::<2>(points, "points")?;
        let beliefs = self.with(py, |map| map.query_bev(&points))??;
        Ok(PyBeliefs::new(Source::Full(beliefs), self.classes.clone()))
    }

    /// view(**options) -> Viewer
    ///
    /// Shows the map in the browser; see `e2bki.view`.
    #[pyo3(signature = (**options))]
    fn view<'py>(slf: &Bound<'py, Self>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("e2bki")?.getattr("view")?.call((slf,), options)
    }

    /// voxels() -> Voxels
    ///
    /// All voxels that hold evidence.
    fn voxels(&self, py: Python<'_>) -> Result<Py<PyVoxels>> {
        let voxels = self.with(py, |map| map.voxels())??;
        PyVoxels::of(py, voxels, self.classes.clone())
    }

    /// bev() -> Cells
    ///
    /// All bird's-eye cells that hold evidence. Needs bev=True.
    fn bev(&self, py: Python<'_>) -> Result<Py<PyCells>> {
        let cells = self.with(py, |map| map.bev())??;
        PyCells::of(py, cells, self.classes.clone())
    }

    /// The method's name in tables.
    #[getter]
    fn method(&self) -> &'static str {
        self.baseline.name()
    }

    /// The classes.
    #[getter]
    fn classes(&self) -> PyClasses {
        PyClasses(self.classes.clone())
    }

    /// Side of the voxels, metres.
    #[getter]
    fn resolution(&self, py: Python<'_>) -> Result<f64> {
        self.with(py, |map| map.resolution())
    }

    /// Bytes held.
    #[getter]
    fn byte_size(&self, py: Python<'_>) -> Result<usize> {
        self.with(py, |map| map.byte_size())
    }

    fn __repr__(&self, py: Python<'_>) -> Result<String> {
        let (resolution, bytes) = self.with(py, |map| (map.resolution(), map.byte_size()))?;
        let (name, classes) = (self.baseline.name(), self.classes.len());
        Ok(format!("<e2bki.baselines {name}: {classes} classes, {resolution} m voxels, {bytes} bytes>"))
    }
}

/// Lengths of ConvBKI's kernels, metres, by class.
///
/// ConvKernels(horizontal, *, vertical): two sequences of C lengths from 0.01 to 1 m.
#[pyclass(name = "ConvKernels", module = "e2bki.baselines", frozen, eq, from_py_object)]
#[derive(Clone, PartialEq)]
pub(crate) struct PyConvKernels(ConvKernels);

#[pymethods]
impl PyConvKernels {
    #[new]
    #[pyo3(signature = (horizontal, *, vertical))]
    fn new(horizontal: &Bound<'_, PyAny>, vertical: &Bound<'_, PyAny>) -> Result<Self> {
        let horizontal = arrays::vector_f64(horizontal, "horizontal", None)?;
        let vertical = arrays::vector_f64(vertical, "vertical", Some(horizontal.len()))?;
        let kernels = ConvKernels { horizontal, vertical };
        kernels.check(kernels.horizontal.len())?;
        Ok(Self(kernels))
    }

    /// from_toml(text, *, classes) -> ConvKernels
    #[staticmethod]
    #[pyo3(signature = (text, *, classes))]
    fn from_toml(text: &str, classes: &Bound<'_, PyAny>) -> Result<Self> {
        Ok(Self(ConvKernels::from_toml(text, &class_set(classes)?)?))
    }

    /// to_toml(*, classes) -> str
    #[pyo3(signature = (*, classes))]
    fn to_toml(&self, classes: &Bound<'_, PyAny>) -> Result<String> {
        Ok(self.0.to_toml(&class_set(classes)?)?)
    }

    /// Lengths in the plane, metres: (C,) float64.
    #[getter]
    fn horizontal<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.horizontal)
    }

    /// Lengths along z, metres: (C,) float64.
    #[getter]
    fn vertical<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.vertical)
    }

    fn __repr__(&self) -> String {
        format!("ConvKernels({:?}, vertical={:?})", self.0.horizontal, self.0.vertical)
    }
}

/// train(frames, *, classes, config=None, epochs=15, window=10, batch=2, learning_rate=0.007, decay=0.96, seed=42)
///     -> tuple[ConvKernels, list[float]]
///
/// Learns ConvBKI's kernels from frames of one drive that have `truth`; returns them and the loss of every epoch.
#[pyfunction(name = "train")]
#[pyo3(signature = (frames, *, classes, config = None, epochs = 15, window = 10, batch = 2, learning_rate = 0.007,
    decay = 0.96, seed = 42))]
#[allow(clippy::too_many_arguments)] // keyword arguments of Python
pub(crate) fn train_kernels(
    py: Python<'_>,
    frames: &Bound<'_, PyAny>,
    classes: &Bound<'_, PyAny>,
    config: Option<PyConfig>,
    epochs: usize,
    window: usize,
    batch: usize,
    learning_rate: f64,
    decay: f64,
    seed: u64,
) -> Result<(PyConvKernels, Vec<f64>)> {
    let (classes, config) = (class_set(classes)?, config_or_default(config));
    let options = TrainOptions { window, epochs, batch, learning_rate, decay, seed, ..TrainOptions::default() };
    let mut past = Window::new(&classes, &config, &options)?;
    let mut samples: Vec<Sample> = Vec::new();
    for frame in frames.try_iter()? {
        let frame = frame?;
        let frame = frame.cast::<PyFrame>().map_err(PyErr::from)?.get();
        let truth = frame.truth.as_ref().ok_or_else(|| Failure::value("a frame to train on needs `truth`"))?;
        samples.push(threads::work(py, || past.push(&frame.borrow(), truth))??);
    }
    let outcome = threads::work(py, || train(&classes, &samples, &options, |_| {}))??;
    Ok((PyConvKernels(outcome.kernels), outcome.losses))
}
