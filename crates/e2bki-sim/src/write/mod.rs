//! Writes drives in the on-disk layouts of real datasets.
//! Frames are written to a temporary name and renamed, so a file that exists is complete and a stopped run resumes.

mod files;
mod format;
mod ids;
mod kitti360;
mod layout;
mod manifest;
mod options;
mod ply;
mod rellis3d;
mod semantickitti;
mod simulate;
mod text;

pub use format::Format;
pub use options::{Sequence, SimulateOptions};
pub use simulate::{Summary, simulate};
