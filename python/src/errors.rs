//! Errors of all crates as Python exceptions that carry their message.

use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};

pyo3::create_exception!(
    e2bki,
    Error,
    PyValueError,
    "Something that cannot be done as asked. The message names what is at fault and what is allowed; maps are unchanged."
);
pyo3::create_exception!(
    e2bki,
    DamagedMapError,
    Error,
    "A map file that is not as it was written; see `e2bki.recover`."
);

/// A message of the libraries, which name options as the program has them, with the arguments of this package: `--semantic-ids`
/// is `semantic_ids`. Cargo's `--features` stays.
pub(crate) fn in_python(message: &str) -> String {
    let mut parts = message.split("--");
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(part.len());
        let (option, rest) = part.split_at(end);
        match option {
            "" | "features" => out.extend(["--", option]),
            "region" => out += "`e2bki.load(path, region=...)`",
            _ => out.extend(["`", &option.replace('-', "_"), "`"]),
        }
        out += rest;
    }
    out
}

/// Any error on its way to Python.
pub(crate) struct Failure(PyErr);

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// A value that cannot be used.
    pub(crate) fn value(message: impl Into<String>) -> Self {
        Self(Error::new_err(message.into()))
    }

    /// A value of the wrong type.
    pub(crate) fn kind(message: impl Into<String>) -> Self {
        Self(PyTypeError::new_err(message.into()))
    }

    /// What the operating system said: Python makes it a `FileNotFoundError` and the like.
    fn system(source: &std::io::Error, message: String) -> Self {
        Self(match source.raw_os_error() {
            Some(code) => PyOSError::new_err((code, message)),
            None => PyOSError::new_err(message),
        })
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

/// Errors of which only the message matters.
macro_rules! from_messages {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::value(in_python(&error.to_string()))
            }
        }
    )*};
}

from_messages!(e2bki::Error, e2bki_eval::Error, serde_json::Error);

/// Errors that may hold what the operating system said.
macro_rules! from_system {
    ($($library:ident :: $error:ident :: $variant:ident),*) => {$(
        impl From<$library::$error> for Failure {
            fn from(error: $library::$error) -> Self {
                let message = in_python(&error.to_string());
                match &error {
                    $library::$error::$variant { source, .. } => Self::system(source, message),
                    _ => Self::value(message),
                }
            }
        }
    )*};
}

from_system!(e2bki_data::Error::Io, e2bki_sim::Error::Io, e2bki_view::Error::Bind);

impl From<e2bki_layers::Error> for Failure {
    fn from(error: e2bki_layers::Error) -> Self {
        match error {
            e2bki_layers::Error::Store(error) => error.into(),
            e2bki_layers::Error::Read { ref source, .. } => Self::system(source, error.to_string()),
            e2bki_layers::Error::UnknownCosts(_) => {
                Self::value(format!("{error}, or take them for obstacles with unknown=\"lethal\""))
            }
            other => Self::value(in_python(&other.to_string())),
        }
    }
}

impl From<e2bki_store::Error> for Failure {
    fn from(error: e2bki_store::Error) -> Self {
        let message = in_python(&error.to_string());
        match &error {
            e2bki_store::Error::Io { source, .. } => Self::system(source, message),
            e2bki_store::Error::Damaged { .. } => Self(DamagedMapError::new_err(message)),
            _ => Self::value(message),
        }
    }
}

impl From<e2bki_fleet::Error> for Failure {
    fn from(error: e2bki_fleet::Error) -> Self {
        match error {
            e2bki_fleet::Error::Map(error) => error.into(),
            error @ e2bki_fleet::Error::Damaged { .. } => Self(DamagedMapError::new_err(in_python(&error.to_string()))),
            error => Self::value(in_python(&error.to_string())),
        }
    }
}
