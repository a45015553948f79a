//! `Config`: the parameters, checked by the library's own table of them.

use e2bki::Config;
use e2bki::config::{Field, PRESETS, fields};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString};

use crate::errors::{Failure, Result};

/// Parameters of a map.
///
/// Config(*, preset="default", **parameters)
///     preset: "default", "paper-rellis" or "paper-urban"; parameters: see `Config.fields()`.
///
/// Keywords and attributes have no records: `kernel.length_scale` of a configuration file is
/// `Config(length_scale=0.2)`. Files with and without records are read.
///
/// Every parameter is an attribute. A configuration never changes; `replace` makes another.
#[pyclass(name = "Config", module = "e2bki", frozen, eq, from_py_object)]
#[derive(Clone, PartialEq)]
pub(crate) struct PyConfig(pub(crate) Config);

#[pymethods]
impl PyConfig {
    #[new]
    #[pyo3(signature = (*, preset = "default", **parameters))]
    fn new(preset: &str, parameters: Option<&Bound<'_, PyDict>>) -> Result<Self> {
        let start = Config::preset(preset)?;
        Ok(Self(changed(&start, parameters)?))
    }

    /// from_toml(text) -> Config
    ///
    /// Reads the text of a configuration file.
    #[staticmethod]
    fn from_toml(text: &str) -> Result<Self> {
        Ok(Self(Config::from_toml(text)?))
    }

    /// to_toml() -> str
    ///
    /// The text of a configuration file, with a comment on every parameter.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    /// replace(**parameters) -> Config
    ///
    /// The same configuration with some parameters changed.
    #[pyo3(signature = (**parameters))]
    fn replace(&self, parameters: Option<&Bound<'_, PyDict>>) -> Result<Self> {
        Ok(Self(changed(&self.0, parameters)?))
    }

    /// to_dict() -> dict
    ///
    /// All parameters by name.
    fn to_dict<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for field in fields() {
            all.set_item(field.flat, value_of(py, field, &self.0)?)?;
        }
        Ok(all)
    }

    /// fields() -> list[dict]
    ///
    /// What there is to set: `name` (the keyword), `key` (in configuration files, with its record), `symbol` (the
    /// paper's), `unit`, `about`, `allowed`, `default`.
    #[staticmethod]
    fn fields(py: Python<'_>) -> Result<Vec<Bound<'_, PyDict>>> {
        let usual = Config::default();
        let mut all = Vec::new();
        for field in fields() {
            let entry = PyDict::new(py);
            entry.set_item("name", field.flat)?;
            entry.set_item("key", field.key)?;
            entry.set_item("symbol", field.symbol)?;
            entry.set_item("unit", field.unit)?;
            entry.set_item("about", field.about)?;
            entry.set_item("allowed", field.allowed())?;
            entry.set_item("default", value_of(py, field, &usual)?)?;
            all.push(entry);
        }
        Ok(all)
    }

    /// presets() -> dict[str, str]
    ///
    /// Names of the presets, with what they are for.
    #[staticmethod]
    fn presets(py: Python<'_>) -> Result<Bound<'_, PyDict>> {
        let all = PyDict::new(py);
        for (name, about) in PRESETS {
            all.set_item(name, about)?;
        }
        Ok(all)
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> Result<Bound<'py, PyAny>> {
        match fields().iter().find(|field| field.flat == name) {
            Some(field) => value_of(py, field, &self.0),
            None => Err(PyAttributeError::new_err(format!("a configuration has no parameter `{name}`")).into()),
        }
    }

    fn __dir__(&self) -> Vec<&'static str> {
        let methods = ["from_toml", "to_toml", "replace", "to_dict", "fields", "presets"];
        fields().iter().map(|field| field.flat).chain(methods).collect()
    }

    fn __repr__(&self) -> String {
        let usual = Config::default();
        let differs = |field: &&Field| field.value(&self.0) != field.value(&usual);
        let python = |text: String| match text.as_str() {
            "true" => "True".into(),
            "false" => "False".into(),
            "inf" => "float('inf')".into(),
            _ => text,
        };
        let shown = fields().iter().filter(differs).map(|f| format!("{}={}", f.flat, python(f.value(&self.0))));
        format!("Config({})", shown.collect::<Vec<_>>().join(", "))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("from_toml")?, (slf.get().to_toml(),)))
    }
}

/// The configuration, or the usual one.
pub(crate) fn config_or_default(config: Option<PyConfig>) -> Config {
    config.map_or_else(Config::default, |config| config.0)
}

/// A configuration with parameters changed all at once, as if they stood in a file: some limit each other.
fn changed(start: &Config, parameters: Option<&Bound<'_, PyDict>>) -> Result<Config> {
    let Some(parameters) = parameters else { return Ok(start.clone()) };
    let mut table = start.to_flat_toml().parse::<toml::Table>().map_err(|e| Failure::value(e.to_string()))?;
    for (key, value) in parameters {
        let key: String = key.extract()?;
        let value = toml_value(&key, &value)?;
        table.insert(key, value);
    }
    // What a map file leaves out is not what the default has.
    Ok(Config::from_flat_toml(&table.to_string())?)
}

fn toml_value(key: &str, value: &Bound<'_, PyAny>) -> Result<toml::Value> {
    if value.is_instance_of::<PyString>() {
        return Ok(toml::Value::String(value.extract()?));
    }
    // Before numbers: True is a 1 to Python.
    if value.is_instance_of::<PyBool>() {
        return Ok(toml::Value::Boolean(value.extract()?));
    }
    // NumPy's arrays are no sequences to Python, but they can become lists.
    let listed = if value.hasattr("tolist")? { value.call_method0("tolist")? } else { value.clone() };
    if let Ok(numbers) = listed.extract::<Vec<f64>>() {
        return Ok(toml::Value::Array(numbers.into_iter().map(toml::Value::Float).collect()));
    }
    if let Ok(rows) = listed.extract::<Vec<Vec<f64>>>() {
        let row = |row: Vec<f64>| toml::Value::Array(row.into_iter().map(toml::Value::Float).collect());
        return Ok(toml::Value::Array(rows.into_iter().map(row).collect()));
    }
    if value.is_instance_of::<PyInt>() || value.hasattr("__index__")? {
        // Beyond 64 bits it is out of every range; as a float the message can still show it.
        return match value.extract::<i64>() {
            Ok(whole) => Ok(toml::Value::Integer(whole)),
            Err(_) => Ok(toml::Value::Float(value.extract::<f64>().unwrap_or(f64::INFINITY))),
        };
    }
    // NumPy's own truth values are not numbers to Python, but their type's name tells.
    if let Ok(flag) = value.extract::<bool>() {
        return Ok(toml::Value::Boolean(flag));
    }
    match value.extract::<f64>() {
        Ok(number) => Ok(toml::Value::Float(number)),
        Err(_) => {
            let kind = value.get_type().name()?.to_string();
            Err(Failure::kind(format!("configuration key `{key}` cannot be a value of type {kind}")))
        }
    }
}

/// A parameter's value as Python has it.
fn value_of<'py>(py: Python<'py>, field: &Field, config: &Config) -> Result<Bound<'py, PyAny>> {
    let text = field.value(config);
    if field.key == "input.confusion" {
        return Ok(config.input.confusion.rows().to_vec().into_bound_py_any(py)?);
    }
    let factors = match field.key {
        "input.class_weights" => Some(&config.input.class_weights),
        "kernel.class_reach" => Some(&config.kernel.class_reach),
        _ => None,
    };
    if let Some(factors) = factors {
        return Ok(factors.of_classes().to_vec().into_bound_py_any(py)?);
    }
    Ok(match text.as_str() {
        "true" | "false" => (text == "true").into_bound_py_any(py)?,
        _ if text.starts_with('"') => text.trim_matches('"').into_bound_py_any(py)?,
        _ => match text.parse::<u64>() {
            Ok(whole) => whole.into_bound_py_any(py)?,
            Err(_) => text.parse::<f64>().unwrap_or(f64::NAN).into_bound_py_any(py)?,
        },
    })
}
