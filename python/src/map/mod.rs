//! `Map`: the mapper, safe to use from several threads.

mod asking;
mod editing;
mod giving;

use std::sync::{Mutex, RwLock};

use e2bki::submaps::SubmapRule;
use e2bki::{ClassSet, Mapper};
use e2bki_view::Publisher;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::classes::{PyClasses, class_set};
use crate::config::{PyConfig, config_or_default};
use crate::errors::{Failure, Result};
use crate::frame::insert_into;
use crate::gate::Gate;
use crate::interrupt;
use crate::report::PyFrameReport;
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
