//! The error of this crate: it names the file and what would be right.

use std::path::{Path, PathBuf};

/// Why a bag could not be read or written.
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
    #[error("{}: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        what: String,
    },
    /// A bag of a kind that this program does not read, with a way out.
    #[error("{}: {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        what: String,
    },
}

impl Error {
    pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(std::io::Error) -> Self + 'a {
        move |source| Self::Io { action, path: path.into(), source }
    }

    pub(crate) fn malformed(path: &Path, what: impl Into<String>) -> Self {
        Self::Malformed { path: path.into(), what: what.into() }
    }
}

/// Result of this crate's operations.
pub type Result<T> = std::result::Result<T, Error>;
