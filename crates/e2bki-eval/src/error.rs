//! Errors of an evaluation.

use std::path::PathBuf;

/// An evaluation that could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A map refused a frame or a query.
    #[error(transparent)]
    Map(#[from] e2bki::Error),
    /// A frame could not be had.
    #[error("frame {index}: {why}")]
    Frame {
        /// Number of the frame.
        index: usize,
        /// The cause.
        why: String,
    },
    /// A figure could not be drawn.
    #[error("cannot draw the figure `{title}`: {why}")]
    Figure {
        /// Title of the figure.
        title: String,
        /// The cause.
        why: String,
    },
    /// A file could not be written.
    #[error("cannot write {}: {why}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        why: String,
    },
}

/// Result of an evaluation.
pub type Result<T> = std::result::Result<T, Error>;
