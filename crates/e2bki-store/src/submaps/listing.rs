//! The manifest: what is known of submaps without reading what they added.

use std::path::Path;

use e2bki::Pose;
use e2bki::submaps::{Placement, Submap, Trust};
use serde::{Deserialize, Serialize};

use super::files::{open_manifest, submaps_folder};
use super::part::pose_of;
use crate::error::Result;
use crate::file::MapFile;

/// Version of the manifest. Before 2 submaps were only moved as one piece.
pub(super) const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) version: u32,
    pub(super) next_id: u32,
    pub(super) submaps: Vec<Entry>,
}

/// A submap in the manifest. Poses are the bits of their numbers, since they must come back to the bit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) id: u32,
    pub(super) source: String,
    pub(super) file: String,
    pub(super) frames: u64,
    /// Numbers of the first and the last frame, where they are known.
    first_last: Option<(u64, u64)>,
    pub(super) rows: u64,
    low: [f64; 3],
    high: [f64; 3],
    anchor: [u64; 12],
    pose: [u64; 12],
    /// Corrected poses of its frames by their numbers in the submap, if they were corrected one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    corrected: Vec<(u32, [u64; 12])>,
    trust: f64,
    /// The file of what its frames saw and saw through, if the map has free space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) free: Option<String>,
}

impl Entry {
    pub(super) fn new(submap: &Submap, file: String, free: Option<String>) -> Self {
        let part = submap.part();
        let (low, high) = part.extent().unwrap_or_default();
        let bits = |pose: Pose| -> [u64; 12] {
            let (rotation, translation) = (pose.rotation(), pose.translation());
            std::array::from_fn(|i| if i < 9 { rotation[i / 3][i % 3] } else { translation[i - 9] }.to_bits())
        };
        let frames = submap.frames();
        Self {
            id: submap.id(),
            source: submap.source().into(),
            file,
            frames: submap.frame_count(),
            first_last: frames.first().zip(frames.last()).map(|(first, last)| (first.number, last.number)),
            rows: part.len() as u64,
            low,
            high,
            anchor: bits(submap.anchor()),
            pose: bits(submap.pose()),
            corrected: submap.placement().frames.iter().map(|(number, pose)| (*number, bits(*pose))).collect(),
            trust: submap.trust().factor(),
            free,
        }
    }

    /// Anchor, where it is, and trust.
    pub(super) fn placed(&self) -> e2bki::Result<(Pose, Placement, Trust)> {
        let pose = |bits: &[u64; 12]| pose_of(&bits.map(f64::from_bits));
        let frames = self.corrected.iter().map(|(number, bits)| Ok((*number, pose(bits)?)));
        let placement = Placement { pose: pose(&self.pose)?, frames: frames.collect::<e2bki::Result<_>>()? };
        Ok((pose(&self.anchor)?, placement, Trust::new(self.trust)?))
    }
}

/// A submap of a saved map.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// Its number in the map.
    pub id: u32,
    /// The name of its drive.
    pub source: String,
    /// Number of its frames.
    pub frames: u64,
    /// Numbers of its first and last frame, where they are known.
    pub first_last: Option<(u64, u64)>,
    /// Sums that it added: one for every cube and class.
    pub rows: u64,
    /// Bytes of its file.
    pub bytes: u64,
    /// The box around what it added, as it was inserted: low and high corner, metres.
    pub extent: ([f64; 3], [f64; 3]),
    /// The pose that its first frame was inserted with.
    pub anchor: Pose,
    /// The pose of its first frame by the latest correction.
    pub pose: Pose,
    /// How much of its evidence counts.
    pub trust: Trust,
}

/// The submaps of a saved map, without loading what they added.
pub fn list_submaps(path: impl AsRef<Path>) -> Result<Vec<Listed>> {
    let path = path.as_ref();
    let (manifest, name) = open_manifest(path, &MapFile::open(path)?)?;
    let folder = submaps_folder(path);
    let listed = |entry: &Entry| {
        let (anchor, placement, trust) = entry.placed().map_err(crate::Error::contents(&name))?;
        Ok(Listed {
            id: entry.id,
            source: entry.source.clone(),
            frames: entry.frames,
            first_last: entry.first_last,
            rows: entry.rows,
            bytes: std::fs::metadata(folder.join(&entry.file)).map_or(0, |about| about.len()),
            extent: (entry.low, entry.high),
            anchor,
            pose: placement.pose,
            trust,
        })
    };
    manifest.submaps.iter().map(listed).collect()
}
