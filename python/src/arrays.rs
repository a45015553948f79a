//! Arrays in and out.
//!
//! What comes in is copied once, while Python waits: another thread may then change the array at will. What goes out is
//! handed over without a copy.

use e2bki::Pose;
use numpy::{Element, PyArray1, PyArray2, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyModule;

use crate::errors::{Failure, Result};

/// Values of an array that is contiguous, aligned and of one of the two types.
enum Values<'a> {
    Single(&'a [f32]),
    Double(&'a [f64]),
}

fn numpy(py: Python<'_>) -> Result<&Bound<'_, PyModule>> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    Ok(NUMPY.get_or_try_init(py, || py.import("numpy").map(Bound::unbind))?.bind(py))
}

/// The value as an array of numbers of an allowed kind, in order and aligned; anything NumPy makes an array of will do.
fn array<'py>(value: &Bound<'py, PyAny>, name: &str, kinds: &str, wanted: &str) -> Result<Bound<'py, PyAny>> {
    let numpy = numpy(value.py())?;
    let array = numpy.call_method1("asarray", (value,))?;
    let dtype = array.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    // An empty list is an array of floating point to NumPy.
    if !kinds.contains(&kind) && array.getattr("size")?.extract::<usize>()? > 0 {
        return Err(Failure::kind(format!("`{name}` must be an array of {wanted}; got dtype {dtype}")));
    }
    Ok(numpy.call_method1("require", (array, value.py().None(), ("C", "A")))?)
}

/// Lends the values of an array of numbers after its shape was found good.
fn with_numbers<R>(
    value: &Bound<'_, PyAny>,
    name: &str,
    check: impl FnOnce(&[usize]) -> Result<()>,
    take: impl FnOnce(Values<'_>) -> R,
) -> Result<R> {
    let array = array(value, name, "fiu", "numbers (float32 or float64)")?;
    check(&array.getattr("shape")?.extract::<Vec<usize>>()?)?;
    if let Ok(single) = array.cast::<PyArrayDyn<f32>>() {
        let lent = single.try_readonly().map_err(|e| Failure::value(format!("`{name}`: {e}")))?;
        return Ok(take(Values::Single(lent.as_slice().map_err(|e| Failure::value(format!("`{name}`: {e}")))?)));
    }
    let double = numpy(value.py())?.call_method1("require", (array, "float64", ("C", "A")))?;
    let double = double.cast::<PyArrayDyn<f64>>().map_err(PyErr::from)?;
    let lent = double.try_readonly().map_err(|e| Failure::value(format!("`{name}`: {e}")))?;
    Ok(take(Values::Double(lent.as_slice().map_err(|e| Failure::value(format!("`{name}`: {e}")))?)))
}

fn wrong_shape(name: &str, wanted: &str, shape: &[usize]) -> Failure {
    let found: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let comma = if found.len() == 1 { "," } else { "" };
    Failure::value(format!("`{name}` must have the shape {wanted}; got ({}{comma})", found.join(", ")))
}

/// Rows of D numbers in single precision.
pub(crate) fn rows_f32<const D: usize>(value: &Bound<'_, PyAny>, name: &str) -> Result<Vec<[f32; D]>> {
    with_numbers(value, name, rows_of::<D>(name), |values| match values {
        Values::Single(v) => v.as_chunks().0.to_vec(),
        Values::Double(v) => v.as_chunks().0.iter().map(|row| row.map(|x| x as f32)).collect(),
    })
}

/// Rows of D numbers in double precision.
pub(crate) fn rows_f64<const D: usize>(value: &Bound<'_, PyAny>, name: &str) -> Result<Vec<[f64; D]>> {
    with_numbers(value, name, rows_of::<D>(name), |values| match values {
        Values::Single(v) => v.as_chunks().0.iter().map(|row| row.map(f64::from)).collect(),
        Values::Double(v) => v.as_chunks().0.to_vec(),
    })
}

fn rows_of<const D: usize>(name: &str) -> impl FnOnce(&[usize]) -> Result<()> {
    move |shape| match shape {
        [_, d] if *d == D => Ok(()),
        other => Err(wrong_shape(name, &format!("(N, {D})"), other)),
    }
}

/// A matrix of N rows in single precision, row by row; the number of columns must be `columns` where given.
pub(crate) fn matrix_f32(
    value: &Bound<'_, PyAny>,
    name: &str,
    rows: usize,
    columns: Option<usize>,
) -> Result<Vec<f32>> {
    let check = |shape: &[usize]| match shape {
        [n, c] if *n == rows && columns.is_none_or(|columns| columns == *c) => Ok(()),
        other => {
            let wanted = match columns {
                Some(columns) => format!("({rows}, {columns}), points × classes"),
                None => format!("({rows}, C), points × classes"),
            };
            Err(wrong_shape(name, &wanted, other))
        }
    };
    with_numbers(value, name, check, |values| match values {
        Values::Single(v) => v.to_vec(),
        Values::Double(v) => v.iter().map(|x| *x as f32).collect(),
    })
}

/// Values of an array of three axes in single precision, with its shape.
pub(crate) fn cube_f32(value: &Bound<'_, PyAny>, name: &str, axes: &str) -> Result<(Vec<f32>, [usize; 3])> {
    let mut found = [0; 3];
    let check = |shape: &[usize]| match shape {
        [a, b, c] => {
            found = [*a, *b, *c];
            Ok(())
        }
        other => Err(wrong_shape(name, axes, other)),
    };
    let values = with_numbers(value, name, check, |values| match values {
        Values::Single(v) => v.to_vec(),
        Values::Double(v) => v.iter().map(|x| *x as f32).collect(),
    })?;
    Ok((values, found))
}

/// Numbers in a row in double precision; as many as `length` where given.
pub(crate) fn vector_f64(value: &Bound<'_, PyAny>, name: &str, length: Option<usize>) -> Result<Vec<f64>> {
    with_numbers(value, name, row_of(name, length), |values| match values {
        Values::Single(v) => v.iter().map(|x| f64::from(*x)).collect(),
        Values::Double(v) => v.to_vec(),
    })
}

/// Numbers in a row in single precision.
pub(crate) fn vector_f32(value: &Bound<'_, PyAny>, name: &str, length: usize) -> Result<Vec<f32>> {
    with_numbers(value, name, row_of(name, Some(length)), |values| match values {
        Values::Single(v) => v.to_vec(),
        Values::Double(v) => v.iter().map(|x| *x as f32).collect(),
    })
}

fn row_of(name: &str, length: Option<usize>) -> impl FnOnce(&[usize]) -> Result<()> {
    move |shape| match shape {
        [n] if length.is_none_or(|length| length == *n) => Ok(()),
        other => Err(wrong_shape(name, &length.map_or("(N,)".into(), |n| format!("({n},)")), other)),
    }
}

/// Class ids; what is negative or too large for an id is no class.
pub(crate) fn labels(value: &Bound<'_, PyAny>, name: &str, length: Option<usize>) -> Result<Vec<u32>> {
    let array = array(value, name, "iu", "whole numbers")?;
    row_of(name, length)(&array.getattr("shape")?.extract::<Vec<usize>>()?)?;
    let array = numpy(value.py())?.call_method1("require", (array, "int64", ("C", "A")))?;
    let array = array.cast::<PyArrayDyn<i64>>().map_err(PyErr::from)?;
    let lent = array.try_readonly().map_err(|e| Failure::value(format!("`{name}`: {e}")))?;
    let lent = lent.as_slice().map_err(|e| Failure::value(format!("`{name}`: {e}")))?;
    Ok(lent.iter().map(|v| u32::try_from(*v).unwrap_or(u32::MAX)).collect())
}

/// D numbers.
pub(crate) fn numbers<const D: usize>(value: &Bound<'_, PyAny>, name: &str) -> Result<[f64; D]> {
    let all = vector_f64(value, name, Some(D))?;
    all.try_into().map_err(|_| Failure::value(format!("`{name}` takes {D} numbers")))
}

/// A 4×4 rigid motion; the identity where nothing is given.
pub(crate) fn pose(value: Option<&Bound<'_, PyAny>>, name: &str) -> Result<Pose> {
    let Some(value) = value else { return Ok(Pose::IDENTITY) };
    let check = |shape: &[usize]| if shape == [4, 4] { Ok(()) } else { Err(wrong_shape(name, "(4, 4)", shape)) };
    let rows: Vec<[f64; 4]> = with_numbers(value, name, check, |values| match values {
        Values::Single(v) => v.as_chunks().0.iter().map(|row| row.map(f64::from)).collect(),
        Values::Double(v) => v.as_chunks().0.to_vec(),
    })?;
    let rows: [[f64; 4]; 4] = rows.try_into().map_err(|_| Failure::value(format!("`{name}` is not a 4×4 matrix")))?;
    Ok(Pose::from_matrix(rows)?)
}

/// Rows as a matrix.
pub(crate) fn to_rows<T: Element, const D: usize>(py: Python<'_>, rows: Vec<[T; D]>) -> Result<Bound<'_, PyArray2<T>>> {
    let shape = [rows.len(), D];
    to_matrix(py, rows.into_flattened(), shape)
}

/// Values, row by row, as a matrix.
pub(crate) fn to_matrix<T: Element>(
    py: Python<'_>,
    values: Vec<T>,
    shape: [usize; 2],
) -> Result<Bound<'_, PyArray2<T>>> {
    Ok(PyArray1::from_vec(py, values).reshape(shape)?)
}

/// A pose as a 4×4 matrix.
pub(crate) fn to_pose<'py>(py: Python<'py>, pose: &Pose) -> Result<Bound<'py, PyArray2<f64>>> {
    let (r, t) = (pose.rotation(), pose.translation());
    let mut rows: Vec<[f64; 4]> = (0..3).map(|i| [r[i][0], r[i][1], r[i][2], t[i]]).collect();
    rows.push([0.0, 0.0, 0.0, 1.0]);
    to_rows(py, rows)
}

/// Class ids with −1 for none.
pub(crate) fn to_labels<'py>(py: Python<'py>, labels: &[u32]) -> Bound<'py, PyArray1<i32>> {
    PyArray1::from_vec(py, labels.iter().map(|v| i32::try_from(*v).unwrap_or(-1)).collect())
}
