//! What the submaps of a map added, kept beside the map's file in a folder of its own name with `.submaps` appended.
//!
//! ```text
//! street.e2bki                          the map, which needs nothing of the rest
//! street.e2bki.submaps/
//!     000000-5f0c….part                 what a submap added, as it was inserted, under a name made of its hash
//!     000000-77a1….free                 what its frames saw and saw through, if the map has free space
//!     1d2e….manifest                    the submaps of the map whose tiles have this hash: poses, trust, files
//! ```
//!
//! Parts come first, then the manifest, then the map is renamed into place, then what no manifest needs is removed: a
//! program that is killed leaves a map and the submaps of that map, whichever map it is.

mod columns;
mod files;
mod listing;
mod part;
mod spilled;

pub(crate) use files::{Beside, has_submaps, map_hash, restore_if_kept};
pub use files::{load_with_submaps, submaps_folder};
pub use listing::{Listed, list_submaps};
pub(crate) use spilled::Spilled;
