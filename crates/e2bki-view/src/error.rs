//! The one error type of the crate.

use std::net::IpAddr;

/// Why nothing can be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No port to listen at.
    #[error("cannot listen at {host}, ports {first} to {last}: {source}; give another --port or --host")]
    Bind {
        /// The address asked for.
        host: IpAddr,
        /// First port that was tried.
        first: u16,
        /// Last port that was tried.
        last: u16,
        /// What the system said of the last.
        source: std::io::Error,
    },
    /// The system gave no thread, no event loop or no random numbers.
    #[error("cannot start the viewer: {0}")]
    Start(String),
    /// A picture of a report could not be encoded.
    #[error("cannot encode the picture `{name}`: {source}")]
    Picture {
        /// Its heading.
        name: String,
        /// What the encoder said.
        source: image::ImageError,
    },
    /// An error of the map.
    #[error(transparent)]
    Map(#[from] e2bki::Error),
}

/// Result of the crate's operations.
pub type Result<T> = std::result::Result<T, Error>;
