//! The error of this crate: it names the file, where known the line, and what would be right.

use std::path::{Path, PathBuf};

/// Why data could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A file whose contents are not what they should be.
    #[error("{}{}: {}", path.display(), line_text(flaw), flaw.what)]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        flaw: Flaw,
    },
    /// Something that should be there is not.
    #[error("{0}")]
    Missing(String),
    /// A request that cannot be met.
    #[error("{0}")]
    Request(String),
    /// A table of classes that cannot be used.
    #[error("class table {name}: {what}")]
    Classes {
        /// Its name or file.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// The mapping library refused a value.
    #[error(transparent)]
    Library(#[from] e2bki::Error),
}

impl From<e2bki_bag::Error> for Error {
    fn from(error: e2bki_bag::Error) -> Self {
        match error {
            e2bki_bag::Error::Io { action, path, source } => Self::Io { action, path, source },
            e2bki_bag::Error::Malformed { path, what } | e2bki_bag::Error::Unsupported { path, what } => {
                Flaw::new(what).of(&path)
            }
            other => Self::Missing(other.to_string()),
        }
    }
}

/// What is wrong with the bytes of a file; parsers do not know its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", line.map_or(String::new(), |n| format!("line {n}: ")))]
pub struct Flaw {
    /// Line, counted from 1, in text files.
    pub line: Option<usize>,
    /// What was found and what is expected.
    pub what: String,
}

impl Flaw {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { line: None, what: what.into() }
    }

    pub(crate) fn at_line(line: usize, what: impl Into<String>) -> Self {
        Self { line: Some(line), what: what.into() }
    }

    /// The error for a flaw in this file.
    pub(crate) fn of(self, path: &Path) -> Error {
        Error::Malformed { path: path.to_path_buf(), flaw: self }
    }
}

fn line_text(flaw: &Flaw) -> String {
    flaw.line.map_or(String::new(), |line| format!(", line {line}"))
}

/// Result of this crate's operations.
pub type Result<T> = std::result::Result<T, Error>;
