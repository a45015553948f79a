//! Simulated drives: frames with truth, images, and whole datasets on disk.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use e2bki::{ClassSet, Pose};
use e2bki_sim::{
    Drift, Drive, DriveOptions, ErrorModel, Format, Noise, RouteKind, Sensor, SimulateOptions, Standard, VOID,
    WorldKind,
};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays;
use crate::classes::PyClasses;
use crate::errors::{Failure, Result};
use crate::frame::{About, PyFrame, Said};
use crate::threads;

/// A simulated drive without end. The same arguments give the same bytes; frames may be asked for in any order.
///
/// Drive(world="offroad", *, seed=1, sensor=None, columns=None, season="summer", lighting="sunny", cruise_mps=None,
///       skew=False, image_width=None, pose_noise=(0, 0), calibration_error=(0, 0), route="endless", round_m=400,
///       start_m=0, drift=(0, 0))
///     world: offroad or urban; sensor: os1-64, os1-128 or hdl-64e; columns: LiDAR columns per turn; season: spring,
///     summer, autumn or winter; lighting: sunny, overcast, evening or changing; cruise_mps: metres per second; skew:
///     points as measured during the turn; pose_noise, calibration_error: one sigma in metres and radians; route:
///     endless, loop or eight; round_m: length of one round of a loop or eight; start_m: where on the way to begin;
///     drift: odometry drift of the poses as a share of the distance, and radians of heading per 100 m.
#[pyclass(name = "Drive", module = "e2bki.sim", frozen)]
pub(crate) struct PyDrive {
    drive: Arc<Drive>,
    classes: ClassSet,
}

/// A name of one of the simulator's lists, by the names it has in files.
pub(crate) fn named<T: serde::de::DeserializeOwned>(what: &str, name: &str, known: &str) -> Result<T> {
    serde_json::from_value(serde_json::Value::String(name.into()))
        .map_err(|_| Failure::value(format!("unknown {what} '{name}': use one of {known}")))
}

/// Most frames of a drive, more than a day of them: the way there is driven from the start.
const MAX_FRAMES: usize = 1_000_000;

/// Refuses frames that would take for ever to get to.
fn check_index(last: Option<usize>) -> Result<()> {
    if last.is_some_and(|last| last < MAX_FRAMES) {
        return Ok(());
    }
    let given = last.map_or("a number too large to be counted".into(), |last| last.to_string());
    Err(Failure::value(format!(
        "frame {given} of a drive; allowed: 0 to {} (10 are driven in a second)",
        MAX_FRAMES - 1
    )))
}

fn simulate_frame(drive: &Drive, index: usize, network: Option<f64>) -> Result<PyFrame> {
    let model = network.map(|fraction| ErrorModel::for_drive(drive, fraction)).transpose()?;
    let frame = drive.frame(index);
    let truth: Vec<u32> = frame.labels.iter().map(|v| if *v == VOID { u32::MAX } else { u32::from(*v) }).collect();
    let said = match &model {
        Some(model) => Said::Evidence(model.evidence(&frame)),
        None => Said::Labels(truth.clone()),
    };
    let about = About {
        id: Some(index as u64),
        intensity: Some(frame.intensity),
        moving: Some(frame.moving),
        ..About::default()
    };
    let pose = Pose::from_matrix(frame.world_from_sensor)?;
    Ok(PyFrame { points: frame.points, said, pose, truth: Some(truth), scan: None, about })
}

#[pymethods]
impl PyDrive {
    #[new]
    #[pyo3(signature = (world = "offroad", *, seed = 1, sensor = None, columns = None, season = "summer",
        lighting = "sunny", cruise_mps = None, skew = false, image_width = None, pose_noise = (0.0, 0.0),
        calibration_error = (0.0, 0.0), route = "endless", round_m = 400.0, start_m = 0.0, drift = (0.0, 0.0)))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of Python
    fn new(
        world: &str,
        seed: u64,
        sensor: Option<&str>,
        columns: Option<usize>,
        season: &str,
        lighting: &str,
        cruise_mps: Option<f64>,
        skew: bool,
        image_width: Option<usize>,
        pose_noise: (f64, f64),
        calibration_error: (f64, f64),
        route: &str,
        round_m: f64,
        start_m: f64,
        drift: (f64, f64),
    ) -> Result<Self> {
        let kind: WorldKind = world.parse()?;
        let mut options = DriveOptions::new(kind, seed, sensor_or_usual(sensor, kind)?);
        let noise = |(position_m, angle_rad): (f64, f64)| Noise { position_m, angle_rad };
        options.columns = columns;
        options.season = named("season", season, "spring, summer, autumn, winter")?;
        options.lighting = named("lighting", lighting, "sunny, overcast, evening, changing")?;
        options.cruise_mps = cruise_mps.unwrap_or(options.cruise_mps);
        options.skew = skew;
        options.image_width = image_width.unwrap_or(options.image_width);
        options.pose_noise = noise(pose_noise);
        options.calibration_error = noise(calibration_error);
        options.route = RouteKind::from_name(route, round_m)?;
        options.start_m = start_m;
        options.drift = Drift { share: drift.0, angle_rad: drift.1 };
        let drive = Drive::new(options)?;
        let classes = ClassSet::new(drive.classes().iter().map(|class| (class.name, class.color)))?;
        Ok(Self { drive: Arc::new(drive), classes })
    }

    /// frame(index, *, network=None) -> Frame
    ///
    /// A LiDAR frame with its truth. network: share of the training data (0.02 to 1) of the network whose evidence the
    /// frame holds; without, it holds the true labels.
    #[pyo3(signature = (index, *, network = None))]
    fn frame(&self, py: Python<'_>, index: usize, network: Option<f64>) -> Result<PyFrame> {
        check_index(Some(index))?;
        threads::work(py, || simulate_frame(&self.drive, index, network))?
    }

    /// frames(count, *, start=0, every=1, network=None) -> iterator of Frame
    ///
    /// So many frames, one after the other.
    #[pyo3(signature = (count, *, start = 0, every = 1, network = None))]
    fn frames(&self, count: usize, start: usize, every: usize, network: Option<f64>) -> Result<PySimFrames> {
        let every = every.max(1);
        // None of the last one's number may be too large: said at once, not after hours.
        check_index(count.saturating_sub(1).checked_mul(every).and_then(|way| way.checked_add(start)))?;
        let (drive, made) = (Arc::clone(&self.drive), AtomicUsize::new(0));
        Ok(PySimFrames { drive, made, count, start, every, network })
    }

    /// image(index) -> dict
    ///
    /// The camera image taken with a frame: "rgb" (H, W, 3) uint8, "labels" (H, W) int32 with −1 for no class, "range"
    /// (H, W) float32, metres.
    fn image<'py>(&self, py: Python<'py>, index: usize) -> Result<Bound<'py, PyDict>> {
        check_index(Some(index))?;
        let image = threads::work(py, || self.drive.image(index))?;
        let shape = [image.height, image.width];
        let label = |v: &u8| if *v == VOID { -1 } else { i32::from(*v) };
        let rgb = PyArray1::from_vec(py, image.rgb.into_flattened()).reshape([shape[0], shape[1], 3])?;
        let all = PyDict::new(py);
        all.set_item("rgb", rgb)?;
        all.set_item("labels", arrays::to_matrix(py, image.labels.iter().map(label).collect(), shape)?)?;
        all.set_item("range", arrays::to_matrix(py, image.range, shape)?)?;
        Ok(all)
    }

    /// world_from_sensor(index) -> array
    ///
    /// The reported pose of a frame: (4, 4) float64, metres.
    fn world_from_sensor<'py>(&self, py: Python<'py>, index: usize) -> Result<Bound<'py, PyArray2<f64>>> {
        check_index(Some(index))?;
        arrays::to_rows(py, self.drive.world_from_sensor(index).to_matrix().to_vec())
    }

    /// The classes.
    #[getter]
    fn classes(&self) -> PyClasses {
        PyClasses(self.classes.clone())
    }

    fn __repr__(&self) -> String {
        let options = self.drive.options();
        let kind = format!("{:?}", self.drive.kind()).to_lowercase();
        let sensor = format!("{:?}", options.sensor);
        format!("<e2bki.sim.Drive: {kind}, seed {}, {sensor}, {} classes>", options.seed, self.classes.len())
    }
}

/// Frames of a simulated drive, made as they are asked for.
#[pyclass(name = "SimFrames", module = "e2bki.sim", frozen)]
pub(crate) struct PySimFrames {
    drive: Arc<Drive>,
    made: AtomicUsize,
    count: usize,
    start: usize,
    every: usize,
    network: Option<f64>,
}

#[pymethods]
impl PySimFrames {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __len__(&self) -> usize {
        self.count.saturating_sub(self.made.load(Ordering::Relaxed))
    }

    fn __next__(&self, py: Python<'_>) -> Result<Option<PyFrame>> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        if number >= self.count {
            self.made.store(self.count, Ordering::Relaxed);
            return Ok(None);
        }
        let index = self.start + number * self.every;
        threads::work(py, || simulate_frame(&self.drive, index, self.network))?.map(Some)
    }

    fn __repr__(&self) -> String {
        format!("<e2bki.sim.SimFrames: {} of {} left>", self.__len__(), self.count)
    }
}

fn sensor_or_usual(sensor: Option<&str>, world: WorldKind) -> Result<Sensor> {
    let usual = if world == WorldKind::Urban { "hdl-64e" } else { "os1-64" };
    Ok(sensor.unwrap_or(usual).parse()?)
}

/// simulate(out, *, format, world="offroad", frames=100, seed=1, sensor=None, standard=None, images=True) -> dict
///
/// Writes a simulated drive in the layout of a real dataset (rellis3d, kitti360 or semantickitti). standard: rellis-like,
/// offroad-like or kitti360-like, a whole set of drives instead of one. An interrupted run continues. Returns the frames
/// "written", those already there ("kept"), and the "points" written.
#[pyfunction]
#[pyo3(signature = (out, *, format, world = "offroad", frames = 100, seed = 1, sensor = None, standard = None,
    images = true))]
#[allow(clippy::too_many_arguments)] // keyword arguments of Python
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    out: PathBuf,
    format: &str,
    world: &str,
    frames: usize,
    seed: u64,
    sensor: Option<&str>,
    standard: Option<&str>,
    images: bool,
) -> Result<Bound<'py, PyDict>> {
    let format: Format = format.parse()?;
    let mut plan = match standard {
        Some(name) => SimulateOptions::standard(name.parse::<Standard>()?, Some(frames), format, out),
        None => {
            let kind: WorldKind = world.parse()?;
            SimulateOptions::single(kind, seed, frames, sensor_or_usual(sensor, kind)?, format, out)
        }
    };
    plan.images = images;
    let summary = threads::work(py, || e2bki_sim::simulate(&plan, |_, _| {}))??;
    let all = PyDict::new(py);
    all.set_item("written", summary.written)?;
    all.set_item("kept", summary.kept)?;
    all.set_item("points", summary.points)?;
    Ok(all)
}
