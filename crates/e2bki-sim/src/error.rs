//! Errors of the simulator: each names the thing that is wrong and what to do about it.
//! Command-line programs print them as they are.

use std::path::{Path, PathBuf};

/// Why a simulation could not be set up or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name on the command line or in a configuration is not known.
    #[error("unknown {what} '{given}': use one of {known}")]
    UnknownName {
        /// Kind of name ("world", "sensor", …).
        what: &'static str,
        /// The value given.
        given: String,
        /// The names that exist.
        known: &'static str,
    },
    /// A drive of no frames was asked for.
    #[error("0 frames asked for: give at least 1")]
    NoFrames,
    /// A number lies outside its range.
    #[error("{what} is {given}: give a value from {low} to {high}")]
    OutOfRange {
        /// Which number.
        what: &'static str,
        /// The value given.
        given: f64,
        /// Smallest allowed value.
        low: f64,
        /// Largest allowed value.
        high: f64,
    },
    /// The output folder holds something this program did not write.
    #[error("{} is not empty and was not written by this program ({found} is in it): choose an empty or new folder", .path.display())]
    ForeignFolder {
        /// The folder.
        path: PathBuf,
        /// One of the things found in it.
        found: String,
    },
    /// The output folder holds a drive made with other settings.
    #[error("{} holds a simulated drive with other settings ({difference}): choose another folder, or repeat the settings to resume", .path.display())]
    OtherDrive {
        /// The folder.
        path: PathBuf,
        /// The difference.
        difference: String,
    },
    /// A file of ours does not read as it should.
    #[error("{} is damaged ({reason}): delete it and run again", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}; check that the folder is writable and the disk is not full", .path.display())]
    Io {
        /// "write", "create", …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// An image could not be encoded.
    #[error("cannot encode {}: {source}", .path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// The encoder's reason.
        source: image::ImageError,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_path_buf();
        move |source| Error::Io { action, path, source }
    }
}
