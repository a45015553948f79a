//! The error of this crate: it names the file or field, what is wrong and what would be right.

use std::path::PathBuf;

/// Why a network could not be trained, read or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
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
    /// A network file that cannot be used.
    #[error("{name}: {what}")]
    Model {
        /// The file.
        name: String,
        /// What is wrong with it.
        what: String,
    },
    /// A request that cannot be met.
    #[error("{0}")]
    Request(String),
    /// Training went astray.
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
        /// The checkpoint before.
        last_good: Option<PathBuf>,
    },
    /// The dataset could not be read.
    #[error(transparent)]
    Data(#[from] e2bki_data::DataError),
}

impl SegmentError {
    pub(crate) fn model(name: impl std::fmt::Display, what: impl std::fmt::Display) -> Self {
        Self::Model { name: name.to_string(), what: what.to_string() }
    }

    pub(crate) fn io(action: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }
}

/// Result of this crate's operations.
pub type Result<T> = std::result::Result<T, SegmentError>;
