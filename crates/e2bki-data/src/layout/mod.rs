//! Layouts of datasets on disk: one file each, all with the same outcome.

mod accumulated;
mod bag;
mod folder;
mod folder_toml;
mod format;
mod kitti360;
mod pandaset;
mod rellis3d;
mod semantickitti;
mod sequences;
mod times;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use e2bki::Pose;

use crate::camera::{Camera, Deskew};
use crate::classes::ClassTable;
use crate::dataset::{CloudForm, OpenOptions};
use crate::error::Result;
use crate::item::Item;

pub use format::{Format, Split};

pub(crate) use accumulated::Accumulated;
pub(crate) use bag::Recording;

/// The files of a frame and where the sensor was.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) id: u64,
    pub(crate) name: OsString,
    pub(crate) cloud: Item,
    pub(crate) pose: Pose,
    /// Labels of the points.
    pub(crate) labels: Option<Item>,
    pub(crate) image: Option<Item>,
    /// Labels of the image's pixels.
    pub(crate) image_labels: Option<Item>,
    pub(crate) deskew: Option<Deskew>,
    /// When the scan was made, nanoseconds since 1970 or, as in KITTI, since the drive began.
    pub(crate) stamp_ns: Option<u64>,
}

/// Contents of a folder.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) root: PathBuf,
    /// The sequence's own folder.
    pub(crate) folder: PathBuf,
    pub(crate) sequence: String,
    pub(crate) sequences: Vec<String>,
    /// Frames in order of their numbers, those with a pose only.
    pub(crate) entries: Vec<Entry>,
    pub(crate) without_pose: Vec<u64>,
    /// The camera, or why there is none.
    pub(crate) camera: std::result::Result<Camera, String>,
    pub(crate) cloud: CloudForm,
    /// Name of the label ids.
    pub(crate) ids: String,
    /// The usual classes.
    pub(crate) classes: Option<ClassTable>,
    pub(crate) accumulated: Option<Accumulated>,
    pub(crate) labels_in_cloud: bool,
    /// Where scans and ground truth were looked for, for messages.
    pub(crate) scan_places: String,
    pub(crate) truth_places: String,
    pub(crate) notes: Vec<String>,
    /// Topics and motion, where it is a recording.
    pub(crate) recording: Option<Recording>,
}

/// Looks through a folder of a known format.
pub(crate) fn open(format: Format, dir: &Path, options: &OpenOptions) -> Result<Layout> {
    let mut layout = match format {
        Format::Rellis3d => rellis3d::open(dir, options),
        Format::Kitti360 => kitti360::open(dir, options),
        Format::SemanticKitti => semantickitti::open(dir, options),
        Format::Folder => folder::open(dir, options),
        Format::PandaSet => pandaset::open(dir, options),
        Format::Bag => bag::open(dir, options),
    }?;
    times::assign(format, &mut layout);
    Ok(layout)
}
