//! The one error type of the library. Every variant names the field at fault, what was found and what is allowed.

/// Why the library refused. The map is unchanged whenever an error is returned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A configuration key that does not exist.
    #[error("unknown configuration key `{key}`; did you mean `{nearest}`?")]
    UnknownKey {
        /// The key as written.
        key: String,
        /// The known key closest in spelling.
        nearest: String,
    },
    /// A configuration value of the wrong type or outside its range.
    #[error("configuration key `{key}` is {found}; allowed: {allowed}")]
    BadValue {
        /// The key.
        key: String,
        /// The value as found.
        found: String,
        /// What would be accepted.
        allowed: String,
    },
    /// Text that is not TOML at all.
    #[error("the configuration is not valid TOML: {0}")]
    Syntax(String),
    /// A preset that does not exist.
    #[error("unknown preset `{name}`; known presets: {known}")]
    UnknownPreset {
        /// The name as written.
        name: String,
        /// The presets there are.
        known: String,
    },
    /// A class table that cannot be used.
    #[error("class set: {0}")]
    Classes(String),
    /// Arrays whose lengths do not fit each other.
    #[error("frame field `{field}` has {found} values, but {expected} are needed ({why})")]
    Length {
        /// The array at fault.
        field: &'static str,
        /// Its length.
        found: usize,
        /// The length that fits.
        expected: usize,
        /// Where the expected length comes from.
        why: String,
    },
    /// A pose that is not a rigid motion, or lies outside the world's limits.
    #[error("frame field `world_from_sensor` is not usable: {0}")]
    Pose(String),
    /// Maps that cannot be merged.
    #[error("the maps cannot be merged: {0}")]
    Merge(String),
    /// A kept primitive that cannot be put back.
    #[error("the primitive with id {id} cannot be part of this map: {what}")]
    State {
        /// Its id.
        id: u64,
        /// What is wrong with it.
        what: String,
    },
    /// An argument of a query or view out of range.
    #[error("argument `{name}` is {found}; allowed: {allowed}")]
    Argument {
        /// The argument.
        name: &'static str,
        /// The value as found.
        found: String,
        /// What would be accepted.
        allowed: String,
    },
    /// A submap that is not there or cannot be used.
    #[error("submap {id}: {what}")]
    Submap {
        /// Its id.
        id: u32,
        /// What is wrong.
        what: String,
    },
    /// Something this mode of operation does not offer.
    #[error("{0}")]
    Unsupported(String),
}

/// Result of the library's operations.
pub type Result<T> = std::result::Result<T, Error>;
