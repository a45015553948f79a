//! Simulated frames, kept in the experiment's folder: many experiments see the same drives, and simulating takes longer
//! than mapping. A file that is not whole is simulated again.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use e2bki::Pose;
use e2bki_eval::{LabelledFrame, Said};

use super::state::key;

/// Frames of one drive in a folder.
pub(super) struct FrameCache {
    folder: PathBuf,
    classes: usize,
}

impl FrameCache {
    /// The frames of a drive of that identity.
    pub(super) fn open(out: &Path, identity: &str, classes: usize) -> Result<Self> {
        let folder = out.join(format!("frames-{}", key(&[identity])));
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self { folder, classes })
    }

    fn path(&self, index: usize) -> PathBuf {
        self.folder.join(format!("{index:06}.bin"))
    }

    /// A frame, if it is there and whole.
    pub(super) fn get(&self, index: usize) -> Option<LabelledFrame> {
        decode(&std::fs::read(self.path(index)).ok()?, self.classes)
    }

    /// Keeps a frame; it appears whole or not at all.
    pub(super) fn put(&self, index: usize, frame: &LabelledFrame) -> Result<()> {
        let Some(bytes) = encode(frame) else { return Ok(()) };
        let (path, unfinished) = (self.path(index), self.path(index).with_extension("part"));
        let failed = || format!("cannot write {}", path.display());
        std::fs::write(&unfinished, bytes).with_context(failed)?;
        std::fs::rename(&unfinished, &path).with_context(failed)
    }
}

/// Pose (12 × f64), then for every point its place, evidence (f32) and true class (u32), all little-endian.
fn encode(frame: &LabelledFrame) -> Option<Vec<u8>> {
    let Said::Evidence(evidence) = &frame.said else { return None };
    let mut bytes = Vec::new();
    let pose = frame.world_from_sensor;
    pose.rotation().iter().flatten().chain(&pose.translation()).for_each(|v| bytes.extend(v.to_le_bytes()));
    frame.points.iter().flatten().chain(evidence).for_each(|v| bytes.extend(v.to_le_bytes()));
    frame.truth.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
    Some(bytes)
}

fn decode(bytes: &[u8], classes: usize) -> Option<LabelledFrame> {
    let (head, body) = bytes.split_at_checked(96)?;
    let pose: Vec<f64> = head.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    let words = body.as_chunks::<4>().0;
    let per_point = 4 + classes;
    if words.len() * 4 != body.len() || words.len() % per_point != 0 {
        return None;
    }
    let count = words.len() / per_point;
    let floats = |from: usize, to: usize| words[from..to].iter().map(|b| f32::from_le_bytes(*b));
    let places: Vec<f32> = floats(0, 3 * count).collect();
    let row = |i: usize| [pose[3 * i], pose[3 * i + 1], pose[3 * i + 2]];
    Some(LabelledFrame {
        points: places.as_chunks::<3>().0.to_vec(),
        said: Said::Evidence(floats(3 * count, (3 + classes) * count).collect()),
        truth: words[(3 + classes) * count..].iter().map(|b| u32::from_le_bytes(*b)).collect(),
        world_from_sensor: Pose::new([row(0), row(1), row(2)], row(3)).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_as_it_was_and_half_a_frame_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let cache = FrameCache::open(folder.path(), "drive", 2).unwrap();
        let frame = LabelledFrame {
            points: vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]],
            said: Said::Evidence(vec![0.5, 9.0, 3.0, 0.25]),
            truth: vec![1, 255],
            world_from_sensor: Pose::new([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [7.0, 8.0, 9.0])
                .unwrap(),
        };
        cache.put(3, &frame).unwrap();
        assert_eq!(cache.get(3), Some(frame));
        assert_eq!(cache.get(4), None);
        let file = cache.path(3);
        let bytes = std::fs::read(&file).unwrap();
        for length in [0, 50, 96 + 5, bytes.len() - 4] {
            std::fs::write(&file, &bytes[..length]).unwrap();
            assert_eq!(cache.get(3), None, "{length} bytes");
        }
    }
}
