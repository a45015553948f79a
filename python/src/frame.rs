//! `Frame`: a scan with what is known of its points; made by hand, read from a dataset or simulated.

use std::collections::BTreeMap;
use std::path::PathBuf;

use e2bki::{Frame, LogitKind, Pose, Semantics};
use e2bki_data::{ReadCounts, WholeScan};
use e2bki_eval::LabelledFrame;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays;
use crate::errors::{Failure, Result};
use crate::report::PyFrameReport;

/// What a network said of each point.
pub(crate) enum Said {
    Evidence(Vec<f32>),
    Dirichlet(Vec<f32>),
    Opinion(Vec<f32>, Vec<f32>),
    Probabilities(Vec<f32>),
    Logits(Vec<f32>, LogitKind),
    Labels(Vec<u32>),
}

/// Forms in which a scan may say what its points are.
const FORMS: [&str; 5] = ["probabilities", "evidence", "dirichlet", "logits", "labels"];
/// What may stand beside them.
const BESIDE: [&str; 5] = ["uncertainty", "logit_kind", "world_from_sensor", "scan", "rings"];

/// Keyword arguments that say what points are and where the sensor was. `None` counts as not given.
pub(crate) struct Arguments<'py>(BTreeMap<String, Bound<'py, PyAny>>);

impl<'py> Arguments<'py> {
    /// Takes keyword arguments; `more` names those that are allowed besides the usual ones.
    pub(crate) fn of(given: Option<&Bound<'py, PyDict>>, more: &[&str]) -> Result<Self> {
        let mut all = BTreeMap::new();
        for (name, value) in given.into_iter().flat_map(|given| given.iter()) {
            let name: String = name.extract()?;
            if ![&FORMS[..], &BESIDE, more].iter().any(|names| names.contains(&name.as_str())) {
                let known = [&FORMS[..], &BESIDE, more].concat().join(", ");
                return Err(Failure::kind(format!("`{name}` is no argument; allowed: {known}")));
            }
            if !value.is_none() {
                all.insert(name, value);
            }
        }
        Ok(Self(all))
    }

    fn get(&self, name: &str) -> Option<&Bound<'py, PyAny>> {
        self.0.get(name)
    }

    /// Makes a frame of points and these arguments; the number of classes is checked where it is known.
    pub(crate) fn frame(&self, points: &Bound<'py, PyAny>, classes: Option<usize>) -> Result<PyFrame> {
        let points = arrays::rows_f32::<3>(points, "points")?;
        let said = self.said(points.len(), classes)?;
        let truth = self.get("truth").map(|truth| arrays::labels(truth, "truth", Some(points.len()))).transpose()?;
        let pose = arrays::pose(self.get("world_from_sensor"), "world_from_sensor")?;
        let scan = self.scan(&points)?;
        Ok(PyFrame { points, said, pose, truth, scan, about: About::default() })
    }

    /// The scan that points are from, if it is said.
    fn scan(&self, points: &[[f32; 3]]) -> Result<Option<WholeScan>> {
        let whole = self.get("scan").map(|scan| arrays::rows_f32::<3>(scan, "scan")).transpose()?;
        let count = whole.as_ref().map_or(points.len(), Vec::len);
        let rings = self.get("rings").map(|rings| arrays::labels(rings, "rings", Some(count))).transpose()?;
        // Beyond what a beam's number can be: such beams say nothing, and the scan itself is looked at.
        let rings = rings.map(|rings| rings.into_iter().map(|ring| ring.min(u16::MAX.into()) as u16).collect());
        Ok(match (whole, rings) {
            (None, None) => None,
            (whole, rings) => Some(WholeScan { points: whole.unwrap_or_else(|| points.to_vec()), rings }),
        })
    }

    /// Reads the one form that is given, for so many points and, where known, classes.
    fn said(&self, points: usize, classes: Option<usize>) -> Result<Said> {
        let given: Vec<&str> = FORMS.into_iter().filter(|name| self.0.contains_key(*name)).collect();
        let &[form] = given.as_slice() else {
            let found = if given.is_empty() { "none".into() } else { given.join(" and ") };
            let forms = "probabilities, evidence, dirichlet, logits and labels";
            return Err(Failure::kind(format!("say what the points are with exactly one of {forms}; got {found}")));
        };
        for (extra, partner) in [("uncertainty", "probabilities"), ("logit_kind", "logits")] {
            if self.get(extra).is_some() && form != partner {
                return Err(Failure::kind(format!("`{extra}` goes with `{partner}` only")));
            }
        }
        let values = &self.0[form];
        if form == "labels" {
            return Ok(Said::Labels(arrays::labels(values, form, Some(points))?));
        }
        let matrix = arrays::matrix_f32(values, form, points, classes)?;
        Ok(match (form, self.get("uncertainty")) {
            ("evidence", _) => Said::Evidence(matrix),
            ("dirichlet", _) => Said::Dirichlet(matrix),
            ("logits", _) => Said::Logits(matrix, self.logit_kind()?),
            (_, Some(u)) => Said::Opinion(matrix, arrays::vector_f32(u, "uncertainty", points)?),
            (_, None) => Said::Probabilities(matrix),
        })
    }

    fn logit_kind(&self) -> Result<LogitKind> {
        let Some(kind) = self.get("logit_kind") else { return Ok(LogitKind::Softmax) };
        match kind.extract::<String>()?.as_str() {
            "softmax" => Ok(LogitKind::Softmax),
            "evidential" => Ok(LogitKind::ExpEvidence),
            other => Err(Failure::value(format!("`logit_kind` is \"{other}\"; allowed: \"softmax\", \"evidential\""))),
        }
    }
}

/// Inserts what Python gave: a frame, or points with what they are.
pub(crate) fn insert_into<'py>(
    points: &Bound<'py, PyAny>,
    semantics: Option<&Bound<'py, PyDict>>,
    classes: usize,
    insert: impl FnOnce(&Frame<'_>) -> Result<e2bki::FrameReport>,
) -> Result<PyFrameReport> {
    let arguments = Arguments::of(semantics, &[])?;
    if let Ok(frame) = points.cast::<PyFrame>() {
        if !arguments.0.is_empty() {
            return Err(Failure::kind("a frame brings everything along: give no other arguments with it"));
        }
        return insert(&frame.get().borrow()).map(Into::into);
    }
    insert(&arguments.frame(points, Some(classes))?.borrow()).map(Into::into)
}

impl Said {
    pub(crate) fn borrow(&self) -> Semantics<'_> {
        match self {
            Self::Evidence(values) => Semantics::Evidence(values),
            Self::Dirichlet(values) => Semantics::Dirichlet(values),
            Self::Opinion(probabilities, uncertainty) => Semantics::Opinion { probabilities, uncertainty },
            Self::Probabilities(values) => Semantics::Probabilities(values),
            Self::Logits(values, kind) => Semantics::Logits { values, kind: *kind },
            Self::Labels(labels) => Semantics::Labels(labels),
        }
    }

    fn form(&self) -> &'static str {
        match self {
            Self::Evidence(_) => "evidence",
            Self::Dirichlet(_) => "dirichlet",
            Self::Opinion(..) => "probabilities and uncertainty",
            Self::Probabilities(_) => "probabilities",
            Self::Logits(_, LogitKind::Softmax) => "logits",
            Self::Logits(..) => "evidential logits",
            Self::Labels(_) => "labels",
        }
    }

    /// For the protocol, which only asks what the network alone says of a point.
    fn for_protocol(&self) -> e2bki_eval::Said {
        match self {
            Self::Evidence(values) => e2bki_eval::Said::Evidence(values.clone()),
            Self::Dirichlet(values) => e2bki_eval::Said::Evidence(values.iter().map(|v| v - 1.0).collect()),
            Self::Opinion(values, _) | Self::Probabilities(values) => e2bki_eval::Said::Probabilities(values.clone()),
            Self::Logits(values, kind) => e2bki_eval::Said::Logits(values.clone(), *kind),
            Self::Labels(labels) => e2bki_eval::Said::Labels(labels.clone()),
        }
    }
}

/// What else is known of a frame.
#[derive(Default)]
pub(crate) struct About {
    pub(crate) id: Option<u64>,
    pub(crate) name: Option<String>,
    /// Column, row, depth of each point; NaN outside of the image.
    pub(crate) pixels: Option<Vec<[f64; 3]>>,
    pub(crate) image: Option<PathBuf>,
    /// Width, height and values.
    pub(crate) picture: Option<(usize, usize, Vec<u8>)>,
    pub(crate) counts: Option<ReadCounts>,
    pub(crate) intensity: Option<Vec<f32>>,
    pub(crate) moving: Option<Vec<bool>>,
}

/// A scan: points, what is known of their classes, and where the sensor was.
///
/// Frame(points, *, probabilities=None, uncertainty=None, evidence=None, dirichlet=None, logits=None,
///       logit_kind=None, labels=None, truth=None, world_from_sensor=None, scan=None, rings=None)
///
/// The arguments are those of `Map.insert`; truth: (N,) whole numbers, −1 where the true class is not known.
/// Datasets and simulated drives give frames too. Arrays are copies.
#[pyclass(name = "Frame", module = "e2bki", frozen)]
pub(crate) struct PyFrame {
    pub(crate) points: Vec<[f32; 3]>,
    pub(crate) said: Said,
    pub(crate) pose: Pose,
    pub(crate) truth: Option<Vec<u32>>,
    pub(crate) scan: Option<WholeScan>,
    pub(crate) about: About,
}

impl PyFrame {
    pub(crate) fn borrow(&self) -> Frame<'_> {
        let scan = self.scan.as_ref().map(WholeScan::borrow);
        Frame { points: &self.points, semantics: self.said.borrow(), world_from_sensor: self.pose, scan }
    }

    /// For the protocol; an error if the truth is not known.
    pub(crate) fn labelled(&self) -> Result<LabelledFrame> {
        let truth = self.truth.clone().ok_or_else(|| {
            Failure::value("the frame has no `truth`; datasets have it with ground_truth=\"auto\" if at all")
        })?;
        let (points, said) = (self.points.clone(), self.said.for_protocol());
        Ok(LabelledFrame { points, said, truth, world_from_sensor: self.pose })
    }

    fn matrix<'py>(&self, py: Python<'py>, values: &[f32]) -> Result<Bound<'py, PyArray2<f32>>> {
        let rows = self.points.len();
        arrays::to_matrix(py, values.to_vec(), [rows, values.len() / rows.max(1)])
    }
}

type Matrix<'py> = Option<Bound<'py, PyArray2<f32>>>;

#[pymethods]
impl PyFrame {
    #[new]
    #[pyo3(signature = (points, **semantics))]
    fn new<'py>(points: &Bound<'py, PyAny>, semantics: Option<&Bound<'py, PyDict>>) -> Result<Self> {
        Arguments::of(semantics, &["truth"])?.frame(points, None)
    }

    /// Points in sensor coordinates, metres: (N, 3) float32.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray2<f32>>> {
        arrays::to_rows(py, self.points.clone())
    }

    /// Pose of the sensor in the world: (4, 4) float64, metres.
    #[getter]
    fn world_from_sensor<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray2<f64>>> {
        arrays::to_pose(py, &self.pose)
    }

    /// Points in world coordinates, metres: (N, 3) float64.
    #[getter]
    fn world_points<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray2<f64>>> {
        arrays::to_rows(py, self.points.iter().map(|p| self.pose.apply(p.map(f64::from))).collect())
    }

    /// In which form the semantics are given.
    #[getter]
    fn semantics(&self) -> &'static str {
        self.said.form()
    }

    /// Class of each point, −1 for none: (N,) int32; None if the semantics have another form.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i32>>> {
        if let Said::Labels(labels) = &self.said { Some(arrays::to_labels(py, labels)) } else { None }
    }

    /// Evidence of each class: (N, C) float32, or None.
    #[getter]
    fn evidence<'py>(&self, py: Python<'py>) -> Result<Matrix<'py>> {
        if let Said::Evidence(values) = &self.said { self.matrix(py, values).map(Some) } else { Ok(None) }
    }

    /// Dirichlet parameters: (N, C) float32, or None.
    #[getter]
    fn dirichlet<'py>(&self, py: Python<'py>) -> Result<Matrix<'py>> {
        if let Said::Dirichlet(values) = &self.said { self.matrix(py, values).map(Some) } else { Ok(None) }
    }

    /// Probability of each class: (N, C) float32, or None.
    #[getter]
    fn probabilities<'py>(&self, py: Python<'py>) -> Result<Matrix<'py>> {
        match &self.said {
            Said::Probabilities(values) | Said::Opinion(values, _) => self.matrix(py, values).map(Some),
            _ => Ok(None),
        }
    }

    /// Uncertainty beside the probabilities: (N,) float32, or None.
    #[getter]
    fn uncertainty<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f32>>> {
        if let Said::Opinion(_, values) = &self.said { Some(PyArray1::from_slice(py, values)) } else { None }
    }

    /// Raw outputs of a network: (N, C) float32, or None.
    #[getter]
    fn logits<'py>(&self, py: Python<'py>) -> Result<Matrix<'py>> {
        if let Said::Logits(values, _) = &self.said { self.matrix(py, values).map(Some) } else { Ok(None) }
    }

    /// True class of each point, −1 where not known: (N,) int32, or None.
    #[getter]
    fn truth<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i32>>> {
        self.truth.as_ref().map(|truth| arrays::to_labels(py, truth))
    }

    /// Number of the frame in its dataset or drive, or None.
    #[getter]
    fn id(&self) -> Option<u64> {
        self.about.id
    }

    /// Name of the frame's files, or None.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.about.name.as_deref()
    }

    /// Column, row (pixels) and depth (metres) of each point in the image: (N, 3) float64, NaN outside; or None.
    #[getter]
    fn pixels<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyArray2<f64>>>> {
        self.about.pixels.as_ref().map(|pixels| arrays::to_rows(py, pixels.clone())).transpose()
    }

    /// File of the camera image, or None.
    #[getter]
    fn image(&self) -> Option<&PathBuf> {
        self.about.image.as_ref()
    }

    /// The camera image: (H, W, 3) uint8; None unless asked for.
    #[getter]
    fn picture<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, numpy::PyArray3<u8>>>> {
        let Some((width, height, values)) = &self.about.picture else { return Ok(None) };
        Ok(Some(PyArray1::from_slice(py, values).reshape([*height, *width, 3])?))
    }

    /// Intensity of each return as the sensor stores it: (N,) float32; simulated frames only.
    #[getter]
    fn intensity<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f32>>> {
        self.about.intensity.as_ref().map(|values| PyArray1::from_slice(py, values))
    }

    /// Whether each return is of something that moves: (N,) bool; simulated frames only.
    #[getter]
    fn moving<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<bool>>> {
        self.about.moving.as_ref().map(|values| PyArray1::from_slice(py, values))
    }

    /// What became of the places of the file while reading, by reason; datasets only.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyDict>>> {
        let Some(counts) = &self.about.counts else { return Ok(None) };
        let all = PyDict::new(py);
        all.set_item("slots", counts.slots)?;
        for (reason, count) in counts.by_reason() {
            all.set_item(reason, count)?;
        }
        Ok(Some(all))
    }

    fn __len__(&self) -> usize {
        self.points.len()
    }

    fn __repr__(&self) -> String {
        let name = self.about.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
        let truth = if self.truth.is_some() { ", with truth" } else { "" };
        format!("<e2bki.Frame{name}: {} points, {}{truth}>", self.points.len(), self.said.form())
    }
}
