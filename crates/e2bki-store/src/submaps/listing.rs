//! The manifest: what is known of submaps without reading what they added.

use std::path::Path;

use e2bki::Pose;
use e2bki::submaps::{Placement, Submap, Trust};
use serde::{Deserialize, Serialize};

use super::files::{open_manifest, submaps_folder};
use super::part::pose_of;
use crate::error::Result;
use crate::file::MapFile;

/// Version of the manifest. Before 2 submaps were only moved as one piece; before 3 what was moved from cubes to cubes was cut
/// like anything else.
pub(super) const VERSION: u32 = 3;
const BEFORE_WHOLE_CUBES: u32 = 2;

#[derive(Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) version: u32,
    pub(super) next_id: u32,
    /// Names of the classes that evidence is of, since version 3.
    #[serde(default)]
    pub(super) classes: Vec<String>,
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
    /// Whether it was moved before version 3.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    trust: f64,
    /// The file of what its frames saw and saw through, if the map has free space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) free: Option<String>,
}

impl Manifest {
    /// A manifest as it is read: an older one says how its submaps were moved.
    pub(super) fn read(bytes: &[u8]) -> serde_json::Result<Self> {
        let mut manifest: Self = serde_json::from_slice(bytes)?;
        if manifest.version <= BEFORE_WHOLE_CUBES {
            manifest
                .submaps
                .iter_mut()
                .for_each(|entry| entry.cut = entry.pose != entry.anchor || !entry.corrected.is_empty());
        }
        Ok(manifest)
    }
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
            cut: submap.placement().cut,
            trust: submap.trust().factor(),
            free,
        }
    }

    /// Anchor, where it is, and trust.
    pub(super) fn placed(&self) -> e2bki::Result<(Pose, Placement, Trust)> {
        let pose = |bits: &[u64; 12]| pose_of(&bits.map(f64::from_bits));
        let frames = self.corrected.iter().map(|(number, bits)| Ok((*number, pose(bits)?)));
        let placement =
            Placement { pose: pose(&self.pose)?, frames: frames.collect::<e2bki::Result<_>>()?, cut: self.cut };
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

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::submaps::SubmapRule;
    use e2bki::{ClassSet, Config, Frame, Mapper, Semantics};

    #[test]
    fn what_an_older_program_moved_was_cut() {
        let mut map = Mapper::new(ClassSet::from_names(["a", "b"]).unwrap(), Config::default()).unwrap();
        map.keep_submaps(SubmapRule::Frames(1), "drive").unwrap();
        let at = |x: f64| Pose::from_translation([x, 0.0, 0.0]).unwrap();
        for x in [0.0, 5.0] {
            let (points, semantics) = (&[[2.0, 0.1, 0.1]], Semantics::Labels(&[1]));
            map.insert(&Frame { points, semantics, world_from_sensor: at(x), scan: None }).unwrap();
        }
        map.correct(&[(1, at(7.0))].into()).unwrap();
        let cuts = |version: u32| -> Vec<bool> {
            let submaps = map.submaps().unwrap().iter().map(|submap| Entry::new(submap, "x".into(), None)).collect();
            let manifest = Manifest { version, next_id: 2, classes: Vec::new(), submaps };
            let read = Manifest::read(&serde_json::to_vec(&manifest).unwrap()).unwrap();
            read.submaps.iter().map(|entry| entry.placed().unwrap().1.cut).collect()
        };
        assert_eq!(cuts(2), [false, true]);
        assert_eq!(cuts(VERSION), [false, false]);
    }
}
