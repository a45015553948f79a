//! The error of this crate: it names the file or field, what is wrong and what would be right.

use std::path::PathBuf;

/// Errors of training, reading and running networks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file system error.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A network file that cannot be used.
    #[error("{name}: {what}")]
    Model {
        /// The file.
        name: String,
        /// The problem.
        what: String,
    },
    /// An invalid request.
    #[error("{0}")]
    Request(String),
    /// Training diverged.
    #[error(
        "the loss is not a number in epoch {epoch}, step {step}; {}; try a smaller learning rate",
        last_good.as_ref().map_or_else(
            || "no checkpoint was written before".to_string(),
            |path| format!("the last good checkpoint is {}", path.display())
        )
    )]
    Diverged {
        /// Epoch, counted from 1.
        epoch: usize,
        /// Step in the epoch, counted from 1.
        step: usize,
        /// The last checkpoint before that.
        last_good: Option<PathBuf>,
    },
    /// The dataset could not be read.
    #[error(transparent)]
    Data(#[from] e2bki_data::Error),
}

impl Error {
    pub(crate) fn model(name: impl std::fmt::Display, what: impl std::fmt::Display) -> Self {
        Self::Model { name: name.to_string(), what: what.to_string() }
    }

    pub(crate) fn io(action: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }
}

/// Result of this crate's operations.
pub type Result<T> = std::result::Result<T, Error>;
