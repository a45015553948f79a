//! `Classes`: names and colours.

use std::collections::BTreeMap;

use e2bki::ClassSet;
use e2bki_data::ClassTable;
use numpy::PyArray2;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::arrays;
use crate::errors::{Failure, Result};

/// What classes are pickled as: names, colours, costs, and what can move.
type Parts<'py> = (Vec<String>, Bound<'py, PyArray2<u8>>, BTreeMap<String, u8>, Vec<String>);

/// Names and colours of the classes, in the order of their ids 0, 1, 2, …
///
/// Classes(names, *, colors=None, costs=None, movable=None)
///     names: sequence of str; colors: array (C, 3) of 0 … 255, or None for colours spread around the colour circle; costs:
///     {name: cost of driving there, 0 … 99, or 100 for an obstacle}; movable: names of classes whose things can move, told
///     from the names if not given.
///
/// Wherever classes are asked for, a list of names does too.
#[pyclass(name = "Classes", module = "e2bki", frozen, eq, from_py_object)]
#[derive(Clone, PartialEq)]
pub(crate) struct PyClasses(pub(crate) ClassSet);

#[pymethods]
impl PyClasses {
    #[new]
    #[pyo3(signature = (names, *, colors = None, costs = None, movable = None))]
    fn new(
        names: &Bound<'_, PyAny>,
        colors: Option<&Bound<'_, PyAny>>,
        costs: Option<BTreeMap<String, u8>>,
        movable: Option<Vec<String>>,
    ) -> Result<Self> {
        let mut classes = class_set(names)?;
        if let Some(colors) = colors {
            let colors = arrays::rows_f64::<3>(colors, "colors")?;
            if colors.len() != classes.len() {
                return Err(Failure::value(format!(
                    "`colors` has {} rows for {} classes",
                    colors.len(),
                    classes.len()
                )));
            }
            if let Some(bad) = colors.iter().flatten().find(|v| !(0.0..=255.0).contains(*v)) {
                return Err(Failure::value(format!("`colors` holds {bad}; allowed: 0 to 255")));
            }
            let kept = Self(classes.clone());
            let colored = classes.names().iter().cloned().zip(colors.iter().map(|color| color.map(|v| v as u8)));
            classes = ClassSet::new(colored)?.with_movable(&kept.movable())?.with_costs(kept.costs())?;
        }
        if let Some(movable) = movable {
            classes = classes.with_movable(&movable)?;
        }
        Ok(Self(classes.with_costs(costs.unwrap_or_default())?))
    }

    /// named(name) -> Classes
    ///
    /// The classes of a table that comes with the package (see `e2bki.data.class_tables`) or of a TOML file.
    #[staticmethod]
    fn named(name: &str) -> Result<Self> {
        Ok(Self(ClassTable::open(name)?.classes().clone()))
    }

    /// Names by id.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.names().to_vec()
    }

    /// Display colours by id: (C, 3) uint8, red, green, blue.
    #[getter]
    fn colors<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray2<u8>>> {
        arrays::to_rows(py, self.0.colors().to_vec())
    }

    /// What driving on a class costs, 0 to 100 (an obstacle); only the classes of which that is known.
    #[getter]
    fn costs(&self) -> BTreeMap<String, u8> {
        let names = self.0.names().iter().enumerate();
        names.filter_map(|(class, name)| Some((name.clone(), self.0.cost(class)?))).collect()
    }

    /// Classes whose things can move.
    #[getter]
    fn movable(&self) -> Vec<String> {
        let names = self.0.names().iter().enumerate();
        names.filter(|(class, _)| self.0.is_movable(*class)).map(|(_, name)| name.clone()).collect()
    }

    /// find(name) -> int | None
    ///
    /// Id of the class of that name.
    fn find(&self, name: &str) -> Option<usize> {
        self.0.find(name)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<String> {
        let len = self.0.len() as isize;
        let place = if index < 0 { index + len } else { index };
        let name = usize::try_from(place).ok().and_then(|place| self.0.names().get(place));
        name.cloned().ok_or_else(|| PyIndexError::new_err(format!("there are {len} classes; {index} is none of them")))
    }

    fn __repr__(&self) -> String {
        format!("Classes({:?})", self.0.names())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<(Bound<'py, PyAny>, Parts<'py>)> {
        let py = slf.py();
        let rebuild = py.import("e2bki")?.getattr("_classes")?;
        let classes = slf.get();
        Ok((rebuild, (classes.names(), classes.colors(py)?, classes.costs(), classes.movable())))
    }
}

/// Classes, or a sequence of names.
pub(crate) fn class_set(value: &Bound<'_, PyAny>) -> Result<ClassSet> {
    if let Ok(classes) = value.cast::<PyClasses>() {
        return Ok(classes.get().0.clone());
    }
    let names = (!value.is_instance_of::<PyString>()).then(|| value.extract::<Vec<String>>().ok()).flatten();
    let names = names.ok_or_else(|| {
        let kind = value.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
        Failure::kind(format!("classes are given as e2bki.Classes or as a sequence of names, not as {kind}"))
    })?;
    Ok(ClassSet::from_names(names)?)
}
