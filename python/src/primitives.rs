//! `Primitives`: the Gaussians of a map as arrays.

use e2bki::{ClassSet, Mapper};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;

use crate::arrays;
use crate::classes::PyClasses;
use crate::errors::Result;

/// Values of all primitives, still in Rust.
#[derive(Default)]
pub(crate) struct Columns {
    id: Vec<u64>,
    mean: Vec<[f64; 3]>,
    covariance: Vec<[f64; 9]>,
    probability: Vec<f32>,
    log_evidence: Vec<f64>,
    uncertainty: Vec<f64>,
    ln_uncertainty: Vec<f64>,
    weight: Vec<f64>,
    range: Vec<f64>,
    label: Vec<i32>,
    reach: Vec<f64>,
    semi_axes: Vec<[f64; 3]>,
    axes: Vec<[f64; 9]>,
}

impl Columns {
    pub(crate) fn of(map: &Mapper) -> Self {
        let mut all = Self::default();
        for primitive in map.primitives() {
            let [xx, yy, zz, xy, xz, yz] = primitive.covariance();
            let ellipsoid = primitive.ellipsoid();
            let [a, b, c] = ellipsoid.axes;
            all.id.push(primitive.id());
            all.mean.push(primitive.mean());
            all.covariance.push([xx, xy, xz, xy, yy, yz, xz, yz, zz]);
            all.probability.extend(primitive.probability());
            all.log_evidence.extend(primitive.log_evidence());
            all.uncertainty.push(primitive.uncertainty());
            all.ln_uncertainty.push(primitive.ln_uncertainty());
            all.weight.push(primitive.weight());
            all.range.push(primitive.range());
            all.label.push(primitive.label() as i32);
            all.reach.push(primitive.reach());
            all.semi_axes.push(ellipsoid.semi_axes);
            all.axes.push([a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2]]);
        }
        all
    }
}

/// The Gaussian primitives of a map, oldest first, as arrays of J rows.
#[pyclass(name = "Primitives", module = "e2bki", frozen, get_all)]
pub(crate) struct PyPrimitives {
    /// Age order, never used twice in a map: (J,) uint64.
    id: Py<PyArray1<u64>>,
    /// Means, metres: (J, 3) float64.
    mean: Py<PyArray2<f64>>,
    /// Covariances, square metres: (J, 3, 3) float64.
    covariance: Py<PyArray3<f64>>,
    /// Probability of each class: (J, C) float32.
    probability: Py<PyArray2<f32>>,
    /// Log-evidence of each class, the additive semantics: (J, C) float64.
    log_evidence: Py<PyArray2<f64>>,
    /// Uncertainty: (J,) float64, 0 to 1.
    uncertainty: Py<PyArray1<f64>>,
    /// Logarithm of the uncertainty, which does not underflow: (J,) float64.
    ln_uncertainty: Py<PyArray1<f64>>,
    /// Number of points: (J,) float64.
    weight: Py<PyArray1<f64>>,
    /// Mean distance from the sensor, metres: (J,) float64.
    range: Py<PyArray1<f64>>,
    /// Most likely class: (J,) int32.
    label: Py<PyArray1<i32>>,
    /// Kernel reach, metres, 0 for a muted primitive: (J,) float64.
    reach: Py<PyArray1<f64>>,
    /// Half lengths of the ellipsoids, metres, ascending: (J, 3) float64.
    semi_axes: Py<PyArray2<f64>>,
    /// Unit axes of the ellipsoids, one per row: (J, 3, 3) float64.
    axes: Py<PyArray3<f64>>,
    /// The classes.
    classes: Py<PyClasses>,
}

impl PyPrimitives {
    pub(crate) fn new(py: Python<'_>, all: Columns, classes: ClassSet) -> Result<Self> {
        let (rows, c) = (all.id.len(), classes.len());
        let cube = |values: Vec<[f64; 9]>| -> PyResult<Py<PyArray3<f64>>> {
            Ok(PyArray1::from_vec(py, values.into_flattened()).reshape([rows, 3, 3])?.unbind())
        };
        Ok(Self {
            id: PyArray1::from_vec(py, all.id).unbind(),
            mean: arrays::to_rows(py, all.mean)?.unbind(),
            covariance: cube(all.covariance)?,
            probability: arrays::to_matrix(py, all.probability, [rows, c])?.unbind(),
            log_evidence: arrays::to_matrix(py, all.log_evidence, [rows, c])?.unbind(),
            uncertainty: PyArray1::from_vec(py, all.uncertainty).unbind(),
            ln_uncertainty: PyArray1::from_vec(py, all.ln_uncertainty).unbind(),
            weight: PyArray1::from_vec(py, all.weight).unbind(),
            range: PyArray1::from_vec(py, all.range).unbind(),
            label: PyArray1::from_vec(py, all.label).unbind(),
            reach: PyArray1::from_vec(py, all.reach).unbind(),
            semi_axes: arrays::to_rows(py, all.semi_axes)?.unbind(),
            axes: cube(all.axes)?,
            classes: Py::new(py, PyClasses(classes))?,
        })
    }

    fn len(&self, py: Python<'_>) -> PyResult<usize> {
        self.id.bind(py).as_any().len()
    }
}

#[pymethods]
impl PyPrimitives {
    /// to_pandas() -> pandas.DataFrame
    ///
    /// One row per primitive. Needs pandas.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("e2bki._tables")?.call_method1("to_pandas", (slf,))
    }

    /// to_arrow() -> pyarrow.Table
    ///
    /// One row per primitive. Needs pyarrow.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("e2bki._tables")?.call_method1("to_arrow", (slf,))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.len(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let classes = self.classes.get().0.len();
        Ok(format!("<e2bki.Primitives: {} Gaussians, {classes} classes>", self.len(py)?))
    }
}
