//! The one error type of the crate.

use std::net::IpAddr;

/// Errors of the viewer and of reports.
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
        /// The system's error for the last port.
        source: std::io::Error,
    },
    /// No thread, event loop or random numbers from the system.
    #[error("cannot start the viewer: {0}")]
    Start(String),
    /// A picture of a report could not be encoded.
    #[error("cannot encode the picture `{name}`: {source}")]
    Picture {
        /// Its heading.
        name: String,
        /// The encoder's error.
        source: image::ImageError,
    },
    /// A tile of a city could not be read.
    #[error("{0}")]
    City(String),
    /// An error of the map.
    #[error(transparent)]
    Map(#[from] e2bki::Error),
    /// An error of the layers for planners.
    #[error(transparent)]
    Layers(#[from] e2bki_layers::Error),
}

/// Result of the crate's operations.
pub type Result<T> = std::result::Result<T, Error>;
