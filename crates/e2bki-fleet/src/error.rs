//! The one error type of the crate.

/// Why something could not be done with a fleet's store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store, or the way to it, failed.
    #[error("{store}: cannot {doing} {object}: {source}")]
    Store {
        /// Where the store is.
        store: String,
        /// What was tried.
        doing: &'static str,
        /// On which object.
        object: String,
        /// What was said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An object that is not what it must be.
    #[error("{store}: {object} is damaged: {what}")]
    Damaged {
        /// Where the store is.
        store: String,
        /// Which object.
        object: String,
        /// What is wrong with it.
        what: String,
    },
    /// Something asked for that cannot be done.
    #[error("{0}")]
    Refused(String),
    /// Another program committed first, again and again.
    #[error("{store}: other programs committed first {times} times; try again later")]
    Raced {
        /// Where the store is.
        store: String,
        /// How often it was tried.
        times: usize,
    },
    /// A map file.
    #[error(transparent)]
    Map(#[from] e2bki_store::Error),
    /// The map itself.
    #[error(transparent)]
    Engine(#[from] e2bki::Error),
}

/// Result of the crate's operations.
pub type Result<T> = std::result::Result<T, Error>;
