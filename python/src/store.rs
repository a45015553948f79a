//! Map files: load, look at, check, recover, merge; and the map that keeps to a byte budget.

use std::path::PathBuf;
use std::sync::Mutex;

use e2bki::{ClassSet, Pose};
use e2bki_store::{Folder, Header, Input, MapFile, MergeOptions, RollingMapper};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays;
use crate::beliefs::{PyBeliefs, Source};
use crate::classes::{PyClasses, class_set};
use crate::config::{PyConfig, config_or_default};
use crate::errors::{Failure, Result};
use crate::frame::insert_into;
use crate::gate::Gate;
use crate::interrupt;
use crate::map::PyMap;
use crate::report::PyFrameReport;
use crate::threads;

/// load(path, *, region=None) -> Map
///
/// Loads a map from a file or folder, to go on as if it had never been saved. region: (low, high), two corners in
/// metres; only what beliefs in that box depend on is loaded (files only).
#[pyfunction]
#[pyo3(signature = (path, *, region = None))]
pub(crate) fn load(
    py: Python<'_>,
    path: PathBuf,
    region: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
) -> Result<PyMap> {
    let region = match region {
        Some((low, high)) => {
            let (low, high) = (arrays::numbers::<3>(&low, "region[0]")?, arrays::numbers::<3>(&high, "region[1]")?);
            if (0..3).any(|i| low[i] > high[i] || low[i].is_nan() || high[i].is_nan()) {
                return Err(Failure::value(format!(
                    "`region` is from {low:?} to {high:?}: both corners must be numbers, and the first not above the second"
                )));
            }
            Some((low, high))
        }
        None => None,
    };
    let map = threads::work(py, || match region {
        Some((low, high)) => e2bki_store::load_region(path, low, high),
        None => e2bki_store::load(path),
    })??;
    Ok(PyMap::of(map))
}

/// import_npz(path) -> Map
///
/// A map from the NumPy archive that `Map.export` wrote.
#[pyfunction]
pub(crate) fn import_npz(py: Python<'_>, path: PathBuf) -> Result<PyMap> {
    Ok(PyMap::of(threads::work(py, || e2bki_store::import_npz(path))??))
}

/// info(path) -> dict
///
/// What a map file or folder holds, without loading it: classes, config, frames, primitives, bytes, tiles, sources.
#[pyfunction]
pub(crate) fn info(py: Python<'_>, path: PathBuf) -> Result<Bound<'_, PyDict>> {
    let about = threads::work(py, || -> e2bki_store::Result<(Header, u64, u64, usize)> {
        if e2bki_store::is_folder(&path) {
            let folder = Folder::open(&path)?;
            return Ok((folder.header().clone(), folder.rows(), folder.bytes()?, folder.boxes().len()));
        }
        let file = MapFile::open(&path)?;
        Ok((file.header().clone(), file.rows(), file.bytes(), file.tiles().len()))
    })?;
    let (header, rows, bytes, tiles) = about?;
    let all = PyDict::new(py);
    all.set_item("classes", Py::new(py, PyClasses(header.classes))?)?;
    all.set_item("config", Py::new(py, PyConfig(header.config))?)?;
    all.set_item("frames", header.frames)?;
    all.set_item("primitives", rows)?;
    all.set_item("bytes", bytes)?;
    all.set_item("tiles", tiles)?;
    all.set_item("sources", header.sources)?;
    Ok(all)
}

/// check(path) -> list[str]
///
/// Checks a map file or folder thoroughly; returns everything that is wrong with it, nothing if it is whole.
#[pyfunction]
pub(crate) fn check(py: Python<'_>, path: PathBuf) -> Result<Vec<String>> {
    let checked = threads::work(py, || e2bki_store::check(path))??;
    Ok(checked.findings.iter().map(ToString::to_string).collect())
}

/// recover(damaged, *, out) -> dict
///
/// Saves what is whole in a damaged map to another file: "primitives" saved, "tiles", what was "lost" in words.
#[pyfunction]
#[pyo3(signature = (damaged, *, out))]
pub(crate) fn recover(py: Python<'_>, damaged: PathBuf, out: PathBuf) -> Result<Bound<'_, PyDict>> {
    let recovered = threads::work(py, || e2bki_store::recover(damaged, out))??;
    let all = PyDict::new(py);
    all.set_item("primitives", recovered.rows)?;
    all.set_item("tiles", recovered.tiles)?;
    all.set_item("lost", recovered.lost)?;
    all.set_item("primitives_lost", recovered.rows_lost)?;
    Ok(all)
}

/// merge_files(paths, *, out, world_from_map=None, config=None, allow_duplicates=False) -> dict
///
/// Merges map files by class name into one file. world_from_map: one (4, 4) rigid motion per file, metres; config:
/// needed where those of the files differ; allow_duplicates: merge even if a drive went into two of them.
#[pyfunction]
#[pyo3(signature = (paths, *, out, world_from_map = None, config = None, allow_duplicates = false))]
pub(crate) fn merge_files<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    out: PathBuf,
    world_from_map: Option<Vec<Bound<'py, PyAny>>>,
    config: Option<PyConfig>,
    allow_duplicates: bool,
) -> Result<Bound<'py, PyDict>> {
    let motions = match &world_from_map {
        None => vec![Pose::IDENTITY; paths.len()],
        Some(motions) if motions.len() == paths.len() => {
            motions.iter().map(|m| arrays::pose(Some(m), "world_from_map")).collect::<Result<_>>()?
        }
        Some(motions) => {
            return Err(Failure::value(format!("{} motions for {} files", motions.len(), paths.len())));
        }
    };
    let pairs = paths.into_iter().zip(motions);
    let inputs: Vec<Input> = pairs.map(|(path, world_from_map)| Input { path, world_from_map }).collect();
    let options = MergeOptions { allow_duplicates, config: config.map(|config| config.0) };
    let merged = threads::work(py, || e2bki_store::merge(&inputs, &options, out))??;
    let all = PyDict::new(py);
    all.set_item("primitives_before", merged.rows_before)?;
    all.set_item("primitives", merged.rows)?;
    all.set_item("sources", merged.header.sources)?;
    Ok(all)
}

/// A map that keeps to a byte budget: what is far away waits in a folder. It answers as one without a budget.
///
/// RollingMap(classes, *, folder, budget, config=None)
///     folder: new or empty; budget: bytes in memory. `RollingMap.open` goes on with a folder.
#[pyclass(name = "RollingMap", module = "e2bki", frozen)]
pub(crate) struct PyRollingMap {
    gate: Gate,
    map: Mutex<Option<RollingMapper>>,
    classes: ClassSet,
}

impl PyRollingMap {
    fn of(map: RollingMapper) -> Self {
        let classes = map.resident().classes().clone();
        Self { gate: Gate::new(), map: Mutex::new(Some(map)), classes }
    }

    /// A forked process would write into the folder of its parent.
    fn check_process(&self) -> Result<()> {
        if self.gate.at_home() { Ok(()) } else { Err(threads::spawn("a rolling map with its folder")) }
    }

    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut RollingMapper) -> T + Send) -> Result<T> {
        self.check_process()?;
        let done = threads::work(py, || {
            let _inside = self.gate.write()?;
            Ok::<_, Failure>(self.map.lock().ok().and_then(|mut map| map.as_mut().map(work)))
        })??;
        done.ok_or_else(|| Failure::value("this map was given away by `into_map`, or an earlier call failed half way"))
    }
}

#[pymethods]
impl PyRollingMap {
    #[new]
    #[pyo3(signature = (classes, *, folder, budget, config = None))]
    fn new(classes: &Bound<'_, PyAny>, folder: PathBuf, budget: usize, config: Option<PyConfig>) -> Result<Self> {
        let (classes, config) = (class_set(classes)?, config_or_default(config));
        threads::check_number(config.run.threads)?;
        Ok(Self::of(RollingMapper::create(classes, config, folder, budget)?))
    }

    /// open(folder, *, budget) -> RollingMap
    ///
    /// Goes on with a map in a folder, in so many bytes of memory.
    #[staticmethod]
    #[pyo3(signature = (folder, *, budget))]
    fn open(py: Python<'_>, folder: PathBuf, budget: usize) -> Result<Self> {
        let map = threads::work(py, || RollingMapper::open(folder, budget))??;
        Ok(Self::of(map))
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
    /// Beliefs at world positions, (N, 3) metres; only the most likely class of each is known.
    fn query(&self, py: Python<'_>, points: &Bound<'_, PyAny>) -> Result<PyBeliefs> {
        let points = arrays::rows_f64::<3>(points, "points")?;
        let beliefs = self.with(py, |map| map.query(&points))??;
        Ok(PyBeliefs::new(Source::Best(beliefs), self.classes.clone()))
    }

    /// save() -> tuple[int, int]
    ///
    /// Makes the folder the map as it is now; returns how many of the tiles in memory were written, and how many the
    /// folder has already as they are. Under a small budget the first may be 0: tiles went there to make room.
    fn save(&self, py: Python<'_>) -> Result<(usize, usize)> {
        let written = self.with(py, RollingMapper::save)??;
        Ok((written.written, written.unchanged))
    }

    /// into_map() -> Map
    ///
    /// The whole map in memory, without a budget. This object cannot be used afterwards.
    #[allow(clippy::wrong_self_convention)] // Python has no values to give away
    fn into_map(&self, py: Python<'_>) -> Result<PyMap> {
        self.check_process()?;
        let map = threads::work(py, || {
            let _inside = self.gate.write()?;
            Ok::<_, Failure>(self.map.lock().ok().and_then(|mut map| map.take()))
        })??;
        let map = map.ok_or_else(|| Failure::value("this map was given away already"))?;
        Ok(PyMap::of(threads::work(py, || map.into_map())??))
    }

    /// The classes.
    #[getter]
    fn classes(&self) -> PyClasses {
        PyClasses(self.classes.clone())
    }

    /// Most bytes that were in memory so far.
    #[getter]
    fn peak_bytes(&self, py: Python<'_>) -> Result<usize> {
        self.with(py, |map| map.peak_bytes())
    }

    fn __len__(&self, py: Python<'_>) -> Result<usize> {
        Ok(self.with(py, |map| map.len())? as usize)
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self, py: Python<'_>) -> Result<String> {
        let (all, here) = self.with(py, |map| (map.len(), map.resident().len()))?;
        Ok(format!("<e2bki.RollingMap: {all} primitives, {here} of them in memory, {} classes>", self.classes.len()))
    }
}
