//! `Map`: the mapper, safe to use from several threads.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, RwLock};
use std::time::Instant;

use e2bki::free::BAND_M;
use e2bki::submaps::{Submap, SubmapRule, Trust};
use e2bki::{ClassSet, Mapper};
use e2bki_store::{CostTable, ExportOptions, Format};
use e2bki_view::Publisher;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays;
use crate::beliefs::{PyBeliefs, PyCells, PyVoxels, Source};
use crate::classes::{PyClasses, class_set};
use crate::config::{PyConfig, config_or_default};
use crate::errors::{Failure, Result};
use crate::frame::insert_into;
use crate::gate::Gate;
use crate::interrupt;
use crate::layers::{self, Asked};
use crate::primitives::{Columns, PyPrimitives};
use crate::report::PyFrameReport;
use crate::submaps::{Described, changed, mounting, refuse_turned};
use crate::threads;

/// A semantic map: insert frames, ask for beliefs.
///
/// Map(classes, *, config=None, submaps=None, source="drive")
///     classes: e2bki.Classes or a sequence of names; config: e2bki.Config; submaps: keep what every so many metres of
///     the sensor's path add, to take it out (`remove`) or move it (`correct`); source: the name of the drive.
///
/// Several threads may use one map: what reads it runs side by side and waits for at most two of the threads that change it,
/// which take turns. A process that was forked has a copy of the map, to be used as any other.
#[pyclass(name = "Map", module = "e2bki", frozen)]
pub(crate) struct PyMap {
    gate: Gate,
    /// Never waited for: the gate is before it.
    map: RwLock<Mapper>,
    /// Whether it has threads of its own, which a forked process does not.
    own_threads: bool,
    pub(crate) classes: ClassSet,
    /// The stream of a live viewer. Taken only while the map is held.
    live: Mutex<Option<Publisher>>,
}

impl PyMap {
    pub(crate) fn of(map: Mapper) -> Self {
        Self {
            gate: Gate::new(),
            own_threads: map.config().run.threads > 0,
            classes: map.classes().clone(),
            map: RwLock::new(map),
            live: Mutex::default(),
        }
    }

    fn check_process(&self) -> Result<()> {
        if self.own_threads && !self.gate.at_home() { Err(threads::spawn("a map with `threads`")) } else { Ok(()) }
    }

    /// Reads the map while Python goes on.
    pub(crate) fn read<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&Mapper) -> T + Send) -> Result<T> {
        self.check_process()?;
        threads::work(py, || {
            let _inside = self.gate.read()?;
            self.map.read().map(|map| work(&map)).map_err(|_| broken())
        })?
    }

    /// Changes the map while Python goes on.
    pub(crate) fn write<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Mapper) -> T + Send) -> Result<T> {
        self.check_process()?;
        threads::work(py, || {
            let _inside = self.gate.write()?;
            self.map.write().map(|mut map| work(&mut map)).map_err(|_| broken())
        })?
    }
}

impl PyMap {
    /// Sends all of the map into a live viewer, and from now on what changes; without one, no more.
    pub(crate) fn stream(&self, py: Python<'_>, publisher: Option<Publisher>) -> Result<()> {
        self.read(py, |map| {
            if let Ok(mut live) = self.live.lock() {
                *live = publisher;
            }
            self.show(|publisher| publisher.flush(map));
        })
    }

    /// Lets a live viewer know, if there is one.
    fn show(&self, tell: impl FnOnce(&mut Publisher)) {
        // The thread that takes it belongs to the process that started the viewer.
        if !self.gate.at_home() {
            return;
        }
        if let Some(publisher) = self.live.lock().ok().as_mut().and_then(|live| live.as_mut()) {
            tell(publisher);
        }
    }
}

/// A thread that panics half way through a change leaves a map that nobody should trust.
fn broken() -> Failure {
    Failure::value("an earlier call on this map failed half way; it cannot be used any more")
}

#[pymethods]
impl PyMap {
    #[new]
    #[pyo3(signature = (classes, *, config = None, submaps = None, source = "drive"))]
    fn new(classes: &Bound<'_, PyAny>, config: Option<PyConfig>, submaps: Option<f64>, source: &str) -> Result<Self> {
        let config = config_or_default(config);
        threads::check_number(config.run.threads)?;
        let mut map = Mapper::new(class_set(classes)?, config)?;
        if let Some(metres) = submaps {
            map.keep_submaps(SubmapRule::Metres(metres), source)?;
        }
        Ok(Self::of(map))
    }

    /// insert(points, *, probabilities=None, uncertainty=None, evidence=None, dirichlet=None, logits=None,
    ///        logit_kind=None, labels=None, world_from_sensor=None, scan=None, rings=None, time=None) -> FrameReport
    /// insert(frame, *, time=None) -> FrameReport
    ///
    /// Adds a scan. On an exception the map is unchanged, but for a KeyboardInterrupt that comes while the map is being
    /// changed: that is finished first, and a note of the exception says that the frame is in (`frames` tells, too).
    ///
    /// points: (N, 3), metres, in sensor coordinates. What they are, in exactly one form:
    /// evidence: (N, C), zero or more; dirichlet: (N, C), evidence plus one;
    /// probabilities: (N, C), with uncertainty (N,) from 0 to 1 or without;
    /// logits: (N, C), of an ordinary network, or of an evidential one with logit_kind="evidential";
    /// labels: (N,) whole numbers, what is none of the classes is unlabelled.
    /// world_from_sensor: (4, 4) rigid motion, metres; where the sensor was.
    /// scan: (M, 3), all returns of the scan, where `points` are only some of it (as in a camera's view): for free space.
    /// rings: (M,) whole numbers, which beam each return of the scan is from, or of the points where no scan is given.
    /// time: seconds, when it was (`Beliefs.last_seen`).
    #[pyo3(signature = (points, *, time=None, **semantics))]
    fn insert<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
        time: Option<f64>,
        semantics: Option<&Bound<'py, PyDict>>,
    ) -> Result<PyFrameReport> {
        let report = insert_into(points, semantics, self.classes.len(), |frame| {
            self.write(py, |map| {
                interrupt::check_within(interrupt::UNCHANGED)?;
                let prepared = map.prepare(frame)?;
                // The last moment at which nothing has changed.
                interrupt::check_within(interrupt::UNCHANGED)?;
                if time.is_some() {
                    map.name_next_frame(map.frames(), time);
                }
                let report = map.insert_prepared(prepared)?;
                self.show(|publisher| publisher.frame(map, frame));
                Ok(report)
            })?
        })?;
        interrupt::check(py, interrupt::CHANGED)?;
        Ok(report)
    }

    /// query(points) -> Beliefs
    ///
    /// Beliefs at world positions: points (N, 3), metres. Positions that are not finite are unobserved.
    fn query(&self, py: Python<'_>, points: &Bound<'_, PyAny>) -> Result<PyBeliefs> {
        let points = arrays::rows_f64::<3>(points, "points")?;
        let (beliefs, seconds) = self.read(py, |map| {
            let start = Instant::now();
            (map.query(&points), start.elapsed().as_secs_f64())
        })?;
        Ok(PyBeliefs::new(Source::Full(beliefs), self.classes.clone()).timed(seconds))
    }

    /// query_bev(points, *, band=None) -> Beliefs
    ///
    /// Beliefs at world positions x, y seen from above: points (N, 2), metres. Their state is that of the space over the
    /// ground between the two heights of the band (0.5 and 1.75 m if not given).
    #[pyo3(signature = (points, *, band = None))]
    fn query_bev(&self, py: Python<'_>, points: &Bound<'_, PyAny>, band: Option<[f64; 2]>) -> Result<PyBeliefs> {
        let points = arrays::rows_f64::<2>(points, "points")?;
        let beliefs = self.read(py, |map| {
            Ok::<_, e2bki::Error>(map.birds_eye()?.with_band(band.unwrap_or(BAND_M))?.query(&points))
        })??;
        Ok(PyBeliefs::new(Source::Full(beliefs), self.classes.clone()))
    }

    /// primitives() -> Primitives
    ///
    /// The Gaussians of the map as arrays: by place and class, or oldest first in maps that are not sums.
    fn primitives(&self, py: Python<'_>) -> Result<PyPrimitives> {
        let columns = self.read(py, Columns::of)?;
        PyPrimitives::new(py, columns, self.classes.clone())
    }

    /// content_hash() -> str
    ///
    /// A hash of what the map holds, without the names of drives: maps of the same frames have the same hash, whatever the
    /// order of frames, threads and merges, if they are sums (as with the default parameters).
    fn content_hash(&self, py: Python<'_>) -> Result<String> {
        Ok(self.read(py, e2bki_store::content_hash_of)??)
    }

    /// voxels(*, resolution=None) -> Voxels
    ///
    /// Voxels of any side (metres; the configured one if not given) that hold evidence.
    #[pyo3(signature = (*, resolution = None))]
    fn voxels(&self, py: Python<'_>, resolution: Option<f64>) -> Result<Py<PyVoxels>> {
        let voxels = self.read(py, |map| map.voxels(resolution.unwrap_or(map.config().views.resolution)))??;
        PyVoxels::of(py, voxels, self.classes.clone())
    }

    /// live_voxels() -> Voxels
    ///
    /// The voxels that are kept up to date with every frame; of each only the most likely class is known.
    fn live_voxels(&self, py: Python<'_>) -> Result<Py<PyVoxels>> {
        let (resolution, (centers, beliefs)) = self.read(py, |map| {
            let voxels: (Vec<_>, Vec<_>) = map.live_voxels().map(|voxel| (voxel.center, voxel.belief)).unzip();
            (map.config().views.resolution, voxels)
        })?;
        PyVoxels::new(py, resolution, centers, Source::Best(beliefs), self.classes.clone())
    }

    /// bev(*, resolution=None, band=None) -> Cells
    ///
    /// Bird's-eye cells of any side (metres; the configured one if not given) that hold evidence. Their state is that of the
    /// space over the ground between the two heights of the band (0.5 and 1.75 m if not given).
    #[pyo3(signature = (*, resolution = None, band = None))]
    fn bev(&self, py: Python<'_>, resolution: Option<f64>, band: Option<[f64; 2]>) -> Result<Py<PyCells>> {
        let cells = self.read(py, |map| {
            map.birds_eye()?
                .with_band(band.unwrap_or(BAND_M))?
                .cells(resolution.unwrap_or(map.config().views.resolution))
        })??;
        PyCells::of(py, cells, self.classes.clone())
    }

    /// layers(*, resolution=0.2, region=None, robot=None, unknown="error") -> dict
    ///
    /// Grids for planners: every layer by name as an array of rows × columns, row 0 the southernmost, with "probability"
    /// (rows × columns × classes), "occupancy" (as in nav_msgs/OccupancyGrid), "corner" (x, y of the south-western corner)
    /// and "resolution". region: (x0, y0, x1, y1), metres; robot: a TOML file or a dict of its fields; unknown: "error" or
    /// "lethal", what to do with classes whose cost nobody has said.
    #[pyo3(signature = (*, resolution = 0.2, region = None, robot = None, unknown = "error"))]
    fn layers<'py>(
        &self,
        py: Python<'py>,
        resolution: f64,
        region: Option<&Bound<'py, PyAny>>,
        robot: Option<&Bound<'py, PyAny>>,
        unknown: &str,
    ) -> Result<Bound<'py, PyDict>> {
        let asked = Asked::new(resolution, region, robot, unknown)?;
        let found = self.read(py, |map| asked.compute(map))??;
        layers::to_dict(py, &found)
    }

    /// plan(start, goal, *, resolution=0.2, region=None, robot=None, unknown="error") -> dict
    ///
    /// The cheapest way between two places (x, y) for a robot: "points" (N, 3), "cost" and "risk" along it, the numbers of the
    /// points where it turns ("corners"), its "length", what it is "worth" in metres of best ground, and "max_risk".
    #[pyo3(signature = (start, goal, *, resolution = 0.2, region = None, robot = None, unknown = "error"))]
    #[allow(clippy::too_many_arguments)]
    fn plan<'py>(
        &self,
        py: Python<'py>,
        start: &Bound<'py, PyAny>,
        goal: &Bound<'py, PyAny>,
        resolution: f64,
        region: Option<&Bound<'py, PyAny>>,
        robot: Option<&Bound<'py, PyAny>>,
        unknown: &str,
    ) -> Result<Bound<'py, PyDict>> {
        let asked = Asked::new(resolution, region, robot, unknown)?;
        let (start, goal) = (arrays::numbers::<2>(start, "start")?, arrays::numbers::<2>(goal, "goal")?);
        let way = self.read(py, |map| e2bki_layers::plan(&asked.compute(map)?, start, goal))??;
        layers::way_dict(py, &way)
    }

    /// save(path, *, sources=()) -> None
    ///
    /// Saves the map to a file, whole or not at all. sources: names of the drives that went in, so that none is merged
    /// twice unnoticed.
    #[pyo3(signature = (path, *, sources = Vec::new()))]
    fn save(&self, py: Python<'_>, path: PathBuf, sources: Vec<String>) -> Result<()> {
        self.read(py, |map| e2bki_store::save_with(map, &sources, path))??;
        Ok(())
    }

    /// export(path, *, format=None, resolution=None, costs=None, max_uncertainty=1.0, gone=False) -> list[pathlib.Path]
    ///
    /// Writes the map in the format of another program; returns the files written. format: see `e2bki.EXPORTS`, told
    /// from the ending if not given; resolution: side of voxels and cells, metres; costs: {class: 0 … 100} and
    /// max_uncertainty: for cost grids; gone: also what was seen through since and is no longer there.
    #[pyo3(signature = (path, *, format = None, resolution = None, costs = None, max_uncertainty = 1.0, gone = false))]
    #[allow(clippy::too_many_arguments)]
    fn export(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        resolution: Option<f64>,
        costs: Option<&Bound<'_, PyDict>>,
        max_uncertainty: f64,
        gone: bool,
    ) -> Result<Vec<PathBuf>> {
        let format = match format {
            Some(name) => Format::by_name(name)?,
            None => Format::of_path(&path)?,
        };
        let mut table = CostTable::default();
        for (name, cost) in costs.into_iter().flat_map(|costs| costs.iter()) {
            table.add(&format!("{name}={cost}"))?;
        }
        table.fall_back(&e2bki_layers::with_known_costs(self.classes.clone())?);
        let options = ExportOptions { resolution, costs: table, max_uncertainty, gone };
        Ok(self.read(py, |map| e2bki_store::export(map, format, path, &options))??)
    }

    /// submaps() -> list[dict]
    ///
    /// What every stretch of a drive added, if that is kept: "id", "source", "frames", "sums" (cubes and classes),
    /// "low" and "high" (the box around it as it was inserted, metres), "world_from_submap" (the pose of its first frame
    /// by the latest correction) and "trust".
    fn submaps<'py>(&self, py: Python<'py>) -> Result<Vec<Bound<'py, PyDict>>> {
        let all =
            self.read(py, |map| map.submaps().map(|submaps| submaps.iter().map(Described::of).collect::<Vec<_>>()))?;
        all.unwrap_or_default().into_iter().map(|one| one.dict(py)).collect()
    }

    /// begin_submap(source=None) -> None
    ///
    /// The next frame begins a submap; with a source, of a drive of that name.
    #[pyo3(signature = (source = None))]
    fn begin_submap(&self, py: Python<'_>, source: Option<&str>) -> Result<()> {
        Ok(self.write(py, |map| match (source, map.submaps().map(|submaps| submaps.rule())) {
            (Some(source), Some(rule)) => map.keep_submaps(rule, source),
            _ => map.begin_submap(),
        })??)
    }

    /// remove(*, submaps=None, source=None) -> dict
    ///
    /// Takes submaps (ids) or all of a source out: the map is then exactly that of the others. Returns how many
    /// primitives were "altered", "made" and "removed". On an exception the map is unchanged.
    #[pyo3(signature = (*, submaps = None, source = None))]
    fn remove<'py>(
        &self,
        py: Python<'py>,
        submaps: Option<Vec<u32>>,
        source: Option<&str>,
    ) -> Result<Bound<'py, PyDict>> {
        if submaps.is_none() && source.is_none() {
            return Err(Failure::value("nothing to take out: give `submaps` or `source`"));
        }
        let done = self.write(py, |map| {
            let mut ids = submaps.unwrap_or_default();
            if let (Some(source), Some(submaps)) = (source, map.submaps()) {
                ids.extend(submaps.of_source(source)?);
            }
            let done = map.remove_submaps(&ids);
            self.show(|publisher| publisher.flush(map));
            done
        })?;
        changed(py, done?)
    }

    /// correct(poses, *, body_from_sensor=None) -> dict
    ///
    /// Moves submaps to corrected poses: {id: world_from_submap}, (4, 4) rigid motions, the pose of the first frame of
    /// each. Corrections start from how the map was inserted: the first poses give the first map again. Returns how many
    /// primitives were "altered", "made" and "removed". On an exception the map is unchanged. Poses that are plainly of
    /// another sensor are refused: body_from_sensor, a (4, 4) rigid motion, says where the sensor is on what they are of.
    #[pyo3(signature = (poses, *, body_from_sensor = None))]
    fn correct<'py>(
        &self,
        py: Python<'py>,
        poses: &Bound<'py, PyDict>,
        body_from_sensor: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyDict>> {
        let mut all = BTreeMap::new();
        let mounted = mounting(body_from_sensor)?;
        for (id, pose) in poses.iter() {
            let pose = arrays::pose(Some(&pose), "world_from_submap")?;
            all.insert(id.extract::<u32>()?, mounted.map_or(Ok(pose), |mounted| pose.after(&mounted))?);
        }
        let done = self.write(py, |map| {
            refuse_turned(map.submaps().and_then(|submaps| submaps.turned_submaps(&all)), mounted)?;
            let done = map.correct(&all);
            self.show(|publisher| publisher.flush(map));
            done
        })?;
        changed(py, done?)
    }

    /// correct_frames(poses, *, source=None, body_from_sensor=None) -> dict
    ///
    /// As correct, from corrected poses of frames: {number: world_from_sensor}, of one source or of all. Everything moves
    /// along with the frames that saw it, so that drift within a submap is corrected too; key frames are enough.
    #[pyo3(signature = (poses, *, source = None, body_from_sensor = None))]
    fn correct_frames<'py>(
        &self,
        py: Python<'py>,
        poses: &Bound<'py, PyDict>,
        source: Option<&str>,
        body_from_sensor: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyDict>> {
        let mut all = BTreeMap::new();
        let mounted = mounting(body_from_sensor)?;
        for (number, pose) in poses.iter() {
            let pose = arrays::pose(Some(&pose), "world_from_sensor")?;
            all.insert(number.extract::<u64>()?, mounted.map_or(Ok(pose), |mounted| pose.after(&mounted))?);
        }
        let done = self.write(py, |map| {
            refuse_turned(map.submaps().and_then(|submaps| submaps.turned_frames(source, &all)), mounted)?;
            let done = map.correct_frames(source, &all);
            self.show(|publisher| publisher.flush(map));
            done
        })?;
        changed(py, done?)
    }

    /// merge(other, *, trust=1.0) -> FrameReport
    ///
    /// Adds all primitives of another map of the same classes. trust: a factor of its log-evidence, from 1/256 to 16.
    #[pyo3(signature = (other, *, trust = 1.0))]
    fn merge(&self, py: Python<'_>, other: &Bound<'_, Self>, trust: f64) -> Result<PyFrameReport> {
        let trust = Trust::new(trust)?;
        // A copy, so that two locks are never held together: maps may be merged crosswise, or with themselves.
        let mut other = other.get().read(py, Mapper::clone)?;
        if trust != Trust::FULL {
            py.detach(|| -> e2bki::Result<()> {
                if other.submaps().is_none() {
                    other.keep_submaps(SubmapRule::Called, "merged")?;
                }
                let ids: Vec<u32> = other.submaps().into_iter().flat_map(|s| s.iter()).map(Submap::id).collect();
                other.trust_submaps(&ids, trust)?;
                Ok(())
            })?;
        }
        let merged = self.write(py, |map| {
            let merged = map.merge(&other);
            self.show(|publisher| publisher.flush(map));
            merged
        })?;
        Ok(merged?.into())
    }

    /// remove_outside(low, *, high) -> int
    ///
    /// Forgets every primitive whose mean lies outside of a box (two corners, metres); returns how many.
    #[pyo3(signature = (low, *, high))]
    fn remove_outside(&self, py: Python<'_>, low: &Bound<'_, PyAny>, high: &Bound<'_, PyAny>) -> Result<usize> {
        let (low, high) = (arrays::numbers::<3>(low, "low")?, arrays::numbers::<3>(high, "high")?);
        if (0..3).any(|i| low[i] > high[i] || low[i].is_nan() || high[i].is_nan()) {
            return Err(Failure::value(format!("`low` {low:?} must not be above `high` {high:?}")));
        }
        self.write(py, |map| {
            let removed = map.remove_outside(low, high);
            self.show(|publisher| publisher.flush(map));
            removed
        })
    }

    /// copy() -> Map
    ///
    /// Another map with the same contents.
    fn copy(&self, py: Python<'_>) -> Result<Self> {
        Ok(Self::of(self.read(py, Mapper::clone)?))
    }

    fn __copy__(&self, py: Python<'_>) -> Result<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Result<Self> {
        self.copy(py)
    }

    /// to_pandas() -> pandas.DataFrame
    ///
    /// The primitives, one row each. Needs pandas.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.call_method0("primitives")?.call_method0("to_pandas")
    }

    /// to_arrow() -> pyarrow.Table
    ///
    /// The primitives, one row each. Needs pyarrow.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.call_method0("primitives")?.call_method0("to_arrow")
    }

    /// plot_bev(*, value="class", resolution=None, ax=None) -> matplotlib.axes.Axes
    ///
    /// Draws the map from above: value "class", "u", "u_sem", "u_spa", "variance" or "confidence"; resolution in metres.
    /// Needs matplotlib.
    #[pyo3(signature = (*, value = "class", resolution = None, ax = None))]
    fn plot_bev<'py>(
        slf: &Bound<'py, Self>,
        value: &str,
        resolution: Option<f64>,
        ax: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("e2bki._plot")?.call_method1("plot_bev", (slf, value, resolution, ax))
    }

    /// view(**options) -> Viewer
    ///
    /// Shows the map in the browser; see `e2bki.view`.
    #[pyo3(signature = (**options))]
    fn view<'py>(slf: &Bound<'py, Self>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("e2bki")?.getattr("view")?.call((slf,), options)
    }

    /// report(path, *, title="A map", trajectory=None) -> None
    ///
    /// Writes a report to look at, one HTML file: what the map holds, how it looks from above, its memory and
    /// parameters. trajectory: (N, 3) metres, where the sensor went.
    #[pyo3(signature = (path, *, title = "A map", trajectory = None))]
    fn report(&self, py: Python<'_>, path: PathBuf, title: &str, trajectory: Option<&Bound<'_, PyAny>>) -> Result<()> {
        let trajectory = trajectory.map(|t| arrays::rows_f64::<3>(t, "trajectory")).transpose()?.unwrap_or_default();
        self.read(py, |map| e2bki_cli::report_map(map, title, &trajectory, &path))?
            .map_err(|e| Failure::value(format!("{e:#}")))
    }

    /// The classes.
    #[getter]
    fn classes(&self) -> PyClasses {
        PyClasses(self.classes.clone())
    }

    /// The parameters.
    #[getter]
    fn config(&self, py: Python<'_>) -> Result<PyConfig> {
        self.read(py, |map| PyConfig(map.config().clone()))
    }

    /// Frames inserted so far.
    #[getter]
    fn frames(&self, py: Python<'_>) -> Result<u64> {
        self.read(py, Mapper::frames)
    }

    /// Bytes held by "primitives", "index", "voxels" and "submaps", and their "total".
    #[getter]
    fn byte_size<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        let size = self.read(py, Mapper::byte_size)?;
        let all = PyDict::new(py);
        all.set_item("primitives", size.primitives)?;
        all.set_item("index", size.index)?;
        all.set_item("voxels", size.voxels)?;
        all.set_item("submaps", size.submaps)?;
        all.set_item("total", size.total())?;
        Ok(all)
    }

    fn __len__(&self, py: Python<'_>) -> Result<usize> {
        self.read(py, Mapper::len)
    }

    /// A map is true even while it is empty.
    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self, py: Python<'_>) -> Result<String> {
        let (primitives, frames, resolution) =
            self.read(py, |map| (map.len(), map.frames(), map.config().views.resolution))?;
        Ok(format!(
            "<e2bki.Map: {primitives} primitives of {frames} frames, {} classes, {resolution} m voxels>",
            self.classes.len()
        ))
    }
}
