//! Datasets as sequences of frames.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use e2bki_data::{
    ClassTable, Dataset, Format, GroundTruth, LoadedFrame, OpenOptions, OwnedSemantics, ReadAhead, SemanticsSource,
    read_ahead,
};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::arrays;
use crate::camera::{PyCamera, place};
use crate::classes::{PyClasses, class_set};
use crate::errors::{Failure, Result, in_python};
use crate::frame::{About, PyFrame, Said};
use crate::threads;

/// A dataset whose frames can be read in any order, or one after the other while the next ones are read ahead.
///
/// Dataset(path, *, format=None, sequence=None, split=None, classes=None, semantics=None, semantic_ids=None,
///         ground_truth="off", only_in_image=False, occlusion_window=None, deskew=None, no_distortion=False,
///         pictures=False, topic=None, image_topic=None, poses=None)
///     path: a folder, or a recording of a robot (MCAP, rosbag2 folder, db3, ROS 1 bag); format: rellis3d, kitti360,
///     semantickitti, folder, pandaset or bag, detected if not given; split: train, validation
///     or test; classes: name or file of a table, or e2bki.Classes; semantics: ground-truth (if not given), ground-truth-2d,
///     ground-truth-3d, labels:FOLDER, logits:FOLDER, evidential-logits:FOLDER, evidence:FOLDER, dirichlet:FOLDER,
///     probabilities:FOLDER or none; semantic_ids: what their ids or channels mean; ground_truth: off, auto, pixels or
///     points, into Frame.truth; pictures: read images into Frame.picture. Of recordings: topic and image_topic of
///     clouds and images, where there are several; poses: tf, tf:FRAME, a topic, a file, or none for a sensor that stands still.
#[pyclass(name = "Dataset", module = "e2bki.data", frozen)]
pub(crate) struct PyDataset(Arc<Dataset>);

#[pymethods]
impl PyDataset {
    #[new]
    #[pyo3(signature = (path, *, format = None, sequence = None, split = None, classes = None,
        semantics = None, semantic_ids = None, ground_truth = "off", only_in_image = false,
        occlusion_window = None, deskew = None, no_distortion = false, pictures = false, topic = None, image_topic = None,
        poses = None))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of Python
    fn new(
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        sequence: Option<String>,
        split: Option<&str>,
        classes: Option<&Bound<'_, PyAny>>,
        semantics: Option<OsString>,
        semantic_ids: Option<String>,
        ground_truth: &str,
        only_in_image: bool,
        occlusion_window: Option<usize>,
        deskew: Option<bool>,
        no_distortion: bool,
        pictures: bool,
        topic: Option<String>,
        image_topic: Option<String>,
        poses: Option<String>,
    ) -> Result<Self> {
        let classes = match classes {
            None => None,
            Some(name) if name.is_instance_of::<PyString>() || name.hasattr("__fspath__")? => {
                let path = name.extract::<PathBuf>()?;
                Some(path.to_str().map_or_else(|| ClassTable::read(&path), ClassTable::open)?)
            }
            Some(other) => Some(ClassTable::plain(class_set(other)?)),
        };
        let options = OpenOptions {
            format: format.map(str::parse::<Format>).transpose()?,
            sequence,
            split: split.map(str::parse).transpose()?,
            classes,
            semantics: semantics.as_deref().map_or(Ok(SemanticsSource::default()), SemanticsSource::parse)?,
            semantic_ids,
            ground_truth: match ground_truth {
                "off" => GroundTruth::Off,
                "auto" => GroundTruth::Auto,
                "pixels" => GroundTruth::Pixels,
                "points" => GroundTruth::Points,
                other => {
                    let allowed = "\"off\", \"auto\", \"pixels\", \"points\"";
                    return Err(Failure::value(format!("`ground_truth` is \"{other}\"; allowed: {allowed}")));
                }
            },
            only_in_image,
            occlusion_window,
            deskew,
            no_distortion,
            pictures,
            topic,
            image_topic,
            poses,
            ..OpenOptions::default()
        };
        Ok(Self(Arc::new(threads::work(py, || Dataset::open(&path, &options))??)))
    }

    /// frames(*, start=None, stop=None, every=1, ahead=2) -> iterator of Frame
    ///
    /// Frames in order, the next ones read on another thread meanwhile. start, stop: frame numbers; every: one of so
    /// many; ahead: how many are read in advance.
    #[pyo3(signature = (*, start = None, stop = None, every = 1, ahead = 2))]
    fn frames(&self, start: Option<u64>, stop: Option<u64>, every: usize, ahead: usize) -> PyFrames {
        let ids = start.unwrap_or(0)..stop.unwrap_or(u64::MAX);
        let places = self.0.select(Some(ids), every);
        let frames = Mutex::new(Some(read_ahead(Arc::clone(&self.0), places, ahead.min(64))));
        PyFrames { born: std::process::id(), frames }
    }

    fn __iter__(&self) -> PyFrames {
        self.frames(None, None, 1, 2)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, py: Python<'_>, index: isize) -> Result<PyFrame> {
        let len = self.0.len() as isize;
        let wanted = usize::try_from(if index < 0 { index + len } else { index }).ok().filter(|i| *i < self.0.len());
        let wanted =
            wanted.ok_or_else(|| PyIndexError::new_err(format!("there are {len} frames; {index} is none of them")))?;
        Ok(of_loaded(threads::work(py, || self.0.load(wanted))??))
    }

    /// The classes.
    #[getter]
    fn classes(&self) -> PyClasses {
        PyClasses(self.0.classes().clone())
    }

    /// Layout of the folder.
    #[getter]
    fn format(&self) -> &'static str {
        self.0.format().name()
    }

    /// Name of the open sequence.
    #[getter]
    fn sequence(&self) -> &str {
        self.0.sequence()
    }

    /// Names of all sequences of the folder.
    #[getter]
    fn sequences(&self) -> Vec<String> {
        self.0.sequences().to_vec()
    }

    /// Numbers of the frames.
    #[getter]
    fn ids(&self) -> Vec<u64> {
        (0..self.0.len()).filter_map(|i| self.0.id(i)).collect()
    }

    /// What was assumed while opening, in words.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes().iter().map(|note| in_python(note)).collect()
    }

    /// Numbers of frames that were left out: "without_pose" and "without_semantics".
    #[getter]
    fn skipped<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        all.set_item("without_pose", &self.0.skipped().without_pose)?;
        all.set_item("without_semantics", &self.0.skipped().without_semantics)?;
        Ok(all)
    }

    /// The camera; an exception that says why where there is none.
    #[getter]
    fn camera(&self) -> Result<PyCamera> {
        Ok(PyCamera(self.0.camera()?.clone()))
    }

    fn __repr__(&self) -> String {
        let (format, sequence, frames) = (self.0.format().name(), self.0.sequence(), self.0.len());
        format!("<e2bki.data.Dataset: {format} {sequence}, {frames} frames, {} classes>", self.0.classes().len())
    }
}

/// Frames that are read ahead.
#[pyclass(name = "Frames", module = "e2bki.data", frozen)]
pub(crate) struct PyFrames {
    /// The process whose thread reads them.
    born: u32,
    frames: Mutex<Option<ReadAhead>>,
}

impl Drop for PyFrames {
    fn drop(&mut self) {
        // In a forked process the thread that would have to end is not there, and waiting for it would never end.
        if self.born != std::process::id()
            && let Ok(frames) = self.frames.get_mut()
        {
            std::mem::forget(frames.take());
        }
    }
}

#[pymethods]
impl PyFrames {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> Result<Option<PyFrame>> {
        if self.born != std::process::id() {
            return Err(threads::spawn("frames that are read ahead"));
        }
        let next = threads::work(py, || {
            self.frames.lock().ok().and_then(|mut frames| frames.as_mut().and_then(Iterator::next))
        })?;
        Ok(next.transpose()?.map(of_loaded))
    }

    fn __repr__(&self) -> &'static str {
        "<e2bki.data.Frames: read ahead>"
    }
}

fn of_loaded(frame: LoadedFrame) -> PyFrame {
    let said = match frame.semantics {
        OwnedSemantics::Labels(labels) => Said::Labels(labels),
        OwnedSemantics::Probabilities(values) => Said::Probabilities(values),
        OwnedSemantics::Evidence(values) => Said::Evidence(values),
        OwnedSemantics::Logits(values, kind) => Said::Logits(values, kind),
        // The list of forms may grow; a form this package does not know says nothing.
        _ => Said::Labels(vec![u32::MAX; frame.points.len()]),
    };
    let about = About {
        id: Some(frame.id),
        name: Some(frame.name),
        pixels: frame.projected.map(|all| all.iter().map(place).collect()),
        image: frame.image.as_ref().and_then(|image| image.path().map(PathBuf::from)),
        picture: frame.picture.map(|image| (image.width() as usize, image.height() as usize, image.into_raw())),
        counts: Some(frame.counts),
        ..About::default()
    };
    PyFrame {
        points: frame.points,
        said,
        pose: frame.world_from_sensor,
        truth: frame.ground_truth,
        scan: frame.scan,
        about,
    }
}

/// class_tables() -> list[str]
///
/// Names of the class tables that come with the package.
#[pyfunction]
pub(crate) fn class_tables() -> Vec<&'static str> {
    ClassTable::built_in_names()
}

/// alignment(points, *, to, step=1) -> float | None
///
/// How well two scans lie on each other: median distance in metres from every step-th point (N, 3) to the nearest of the
/// other (M, 3), both in world coordinates.
#[pyfunction]
#[pyo3(signature = (points, *, to, step = 1))]
pub(crate) fn alignment(
    py: Python<'_>,
    points: &Bound<'_, PyAny>,
    to: &Bound<'_, PyAny>,
    step: usize,
) -> Result<Option<f64>> {
    let (from, to) = (arrays::rows_f64::<3>(points, "points")?, arrays::rows_f64::<3>(to, "to")?);
    threads::work(py, || e2bki_data::alignment(&from, &to, step))
}
