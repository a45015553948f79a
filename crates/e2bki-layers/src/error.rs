//! The one error type of the crate.

use std::path::PathBuf;

/// Why layers or a way could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A description of a robot that cannot be used.
    #[error("{origin}: {what}")]
    Robot {
        /// The file, or what stands for it.
        origin: String,
        /// What is wrong, and what is allowed.
        what: String,
    },
    /// A file that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Classes whose cost nobody has said. Whoever can be told to take them for obstacles adds how.
    #[error(
        "nobody has said what driving on {0} costs: add `cost = 0` to 99 or `traversable = false` to the class table, or a line \
         under [costs] to the robot's file"
    )]
    UnknownCosts(String),
    /// Something asked for that cannot be done.
    #[error("{0}")]
    Refused(String),
    /// An error of the map.
    #[error(transparent)]
    Map(#[from] e2bki::Error),
    /// An error while writing.
    #[error(transparent)]
    Store(#[from] e2bki_store::Error),
}

/// Result of the crate's operations.
pub type Result<T> = std::result::Result<T, Error>;
