//! The one error type of the crate. Every variant names the file and, for damage, the place in it.

use std::path::{Path, PathBuf};

/// Why a map could not be written, read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file that is no map of this program.
    #[error("{} is not an e2bki map: {what}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What gives it away.
        what: String,
    },
    /// A map written by a newer program.
    #[error("{} has format version {found}; this program reads up to {known}: use a newer e2bki", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// A map that is not as it was written.
    #[error("{} is damaged in {part} at byte {offset}: {what}; `e2bki recover` saves what can be saved", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which part: the header, the index, or a tile with its coordinates.
        part: String,
        /// Where in the file.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// A primitive that the format cannot hold without loss.
    #[error("the primitive with id {id} cannot be saved exactly: {what}")]
    Inexact {
        /// Its id.
        id: u64,
        /// What does not fit.
        what: String,
    },
    /// Something asked for that cannot be done.
    #[error("{0}")]
    Refused(String),
    /// Another program is writing to the map.
    #[error("{} is being written by another program ({holder}): let it end, or write elsewhere", path.display())]
    Locked {
        /// The map.
        path: PathBuf,
        /// Who it is, as far as known.
        holder: String,
    },
    /// Another program has changed the map since it was read.
    #[error("{} was changed by another program after it was read here; nothing was written: open it again", path.display())]
    Changed {
        /// The map.
        path: PathBuf,
    },
    /// The contents are refused by the map itself.
    #[error("{}: {source}", path.display())]
    Contents {
        /// The file.
        path: PathBuf,
        /// What the map said.
        source: e2bki::Error,
    },
    /// An error of the map.
    #[error(transparent)]
    Map(#[from] e2bki::Error),
}

/// Result of the crate's operations.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// For `map_err` on an operation on a file.
    pub(crate) fn io<'a>(doing: &'static str, path: &'a Path) -> impl Fn(std::io::Error) -> Self + 'a {
        move |source| Self::Io { doing, path: path.into(), source }
    }

    /// For `map_err` on what the map says of a file's contents.
    pub(crate) fn contents(path: &Path) -> impl Fn(e2bki::Error) -> Self + '_ {
        move |source| Self::Contents { path: path.into(), source }
    }
}
