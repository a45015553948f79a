//! The formats, and how to tell them apart.

use std::path::Path;
use std::str::FromStr;

use crate::error::{Error, Result};

/// On-disk layout of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// RELLIS-3D.
    Rellis3d,
    /// KITTI-360.
    Kitti360,
    /// SemanticKITTI.
    SemanticKitti,
    /// `frames/` with clouds of any kind, `poses.txt` and perhaps `e2bki.toml`.
    Folder,
    /// Like PandaSet: `lidar/` with one cloud per frame in world coordinates and `lidar/poses.json`.
    PandaSet,
    /// A recording of a robot: MCAP, a folder of rosbag2, SQLite (db3) or a bag of ROS 1.
    Bag,
}

const NAMES: [(&str, Format); 6] = [
    ("rellis3d", Format::Rellis3d),
    ("kitti360", Format::Kitti360),
    ("semantickitti", Format::SemanticKitti),
    ("folder", Format::Folder),
    ("pandaset", Format::PandaSet),
    ("bag", Format::Bag),
];

/// Folder of a sequence of RELLIS-3D.
const RELLIS_SCANS: &str = "os1_cloud_node_kitti_bin";
/// How far below its dataset a folder may lie to be told of it.
const DEEPEST_PART: usize = 4;

impl Format {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// Detects the layout of a folder, or that a file is a recording.
    pub fn detect(dir: &Path) -> Result<Self> {
        if !dir.exists() {
            return Err(Error::Missing(format!("{} does not exist", dir.display())));
        }
        // A file is a recording or nothing: opening it says what else it may be.
        if !dir.is_dir() {
            return Ok(Self::Bag);
        }
        Self::of(dir).ok_or_else(|| {
            Error::Missing(format!(
                "{} is not laid out as any known dataset. Looked for: Rellis-3D/ or {RELLIS_SCANS}/ (rellis3d); data_3d_raw/ \
                 (kitti360); sequences/ or velodyne/ (semantickitti); lidar/poses.json (pandaset); frames/ or e2bki.toml (folder); \
                 metadata.yaml, .mcap, .db3 or .bag files (a recording). {}",
                dir.display(),
                Self::whole_around(dir).unwrap_or_else(|| "Where it is one of these, --format of `map`, `inspect` and `train` says so".into())
            ))
        })
    }

    /// Layout of a folder.
    fn of(dir: &Path) -> Option<Self> {
        let has = |parts: &[&str]| parts.iter().any(|part| dir.join(part).exists());
        let inner = |part: &str| -> bool {
            crate::files::list(dir).unwrap_or_default().iter().take(1000).any(|p| p.join(part).is_dir())
        };
        if has(&["e2bki.toml"]) {
            Some(Self::Folder)
        } else if has(&["Rellis-3D", RELLIS_SCANS]) || inner(RELLIS_SCANS) {
            Some(Self::Rellis3d)
        } else if has(&["data_3d_raw"]) {
            Some(Self::Kitti360)
        } else if has(&["sequences", "dataset/sequences", "velodyne"]) || inner("velodyne") {
            Some(Self::SemanticKitti)
        } else if has(&["lidar/poses.json"]) {
            Some(Self::PandaSet)
        } else if has(&["frames"]) {
            Some(Self::Folder)
        } else {
            e2bki_bag::Kind::detect(dir).map(|_| Self::Bag)
        }
    }

    /// Says which dataset a folder is a part of, where that can be seen.
    fn whole_around(dir: &Path) -> Option<String> {
        let here = dir.canonicalize().ok()?;
        here.ancestors().skip(1).take(DEEPEST_PART).find_map(|above| match Self::of(above)? {
            format @ (Self::Rellis3d | Self::Kitti360 | Self::SemanticKitti) => {
                Some(format!("It is a part of {} ({}): give that folder", above.display(), format.name()))
            }
            _ => None,
        })
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        NAMES.iter().find(|(name, _)| *name == text).map(|(_, format)| *format).ok_or_else(|| {
            let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            Error::Request(format!("unknown format `{text}`; known: {}", known.join(", ")))
        })
    }
}

/// Part of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// To train on.
    Train,
    /// To choose parameters on.
    Validation,
    /// To test on.
    Test,
}

impl Split {
    /// As files are named.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "val",
            Self::Test => "test",
        }
    }
}

impl FromStr for Split {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "train" => Ok(Self::Train),
            "val" | "validation" => Ok(Self::Validation),
            "test" => Ok(Self::Test),
            _ => Err(Error::Request(format!("unknown split `{text}`; known: train, val, test"))),
        }
    }
}
