//! The error of this crate.

/// Why a live map does not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The network refused.
    #[error("{0}")]
    Network(String),
    /// The map refused a frame, a save or a reset.
    #[error("{0}")]
    Map(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// An error of a map.
    pub fn map(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Map(error.into())
    }
}

/// Result of this crate's operations.
pub type Result<T> = std::result::Result<T, Error>;
