//! Arguments that name a dataset.

use std::ops::Range;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use e2bki_data::{ClassTable, Dataset, GroundTruth, OpenOptions, SemanticsSource};

use crate::network::RuntimeArguments;

/// The dataset, the part of it to read, and how to read it.
#[derive(Args, Clone)]
pub(crate) struct DataArguments {
    /// Folder of the dataset (or of one sequence), or a recording: .mcap, rosbag2 folder, .db3 or ROS 1 .bag
    pub(crate) dir: PathBuf,
    /// Layout: rellis3d, kitti360, semantickitti, folder, pandaset or bag [default: detected]
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Sequence [default: the first]
    #[arg(long, value_name = "NAME")]
    sequence: Option<String>,
    /// Only frames of one part of the dataset: train, val or test
    #[arg(long, value_name = "PART")]
    split: Option<String>,
    /// Classes: offroad7, urban11, urban11-strict, semantickitti19 or a TOML file [default: the usual one of the format]
    #[arg(long, value_name = "NAME|FILE")]
    classes: Option<String>,
    /// Label ids (or channels) of the semantics: rellis3d, kitti360, semantickitti, cityscapes, classes [default: detected]
    #[arg(long, value_name = "NAME")]
    semantic_ids: Option<String>,
    /// Drop points that nearer ones within this many pixels hide from the camera
    #[arg(long, value_name = "PIXELS", num_args = 0..=1, require_equals = true, default_missing_value = "5")]
    occlusion: Option<usize>,
    /// Drop points outside the camera image, whatever the source of the semantics
    #[arg(long)]
    only_in_image: bool,
    /// Do not compensate the motion during a LiDAR revolution (KITTI-360, clouds whose points have times)
    #[arg(long)]
    no_deskew: bool,
    /// Ignore lens distortion
    #[arg(long)]
    no_distortion: bool,
    /// Recordings: topic of the clouds [default: the one with the most data]
    #[arg(long, value_name = "TOPIC")]
    topic: Option<String>,
    /// Recordings: topic of the camera images [default: the first, with its camera_info]
    #[arg(long, value_name = "TOPIC")]
    image: Option<String>,
    /// Recordings: poses from tf, tf:FRAME, a topic (Odometry, PoseStamped, Path), a file (TUM, KITTI), or none for a
    /// sensor that stands still [default: tf, else a topic]
    #[arg(long, value_name = "TOPIC|FILE")]
    poses: Option<String>,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArguments,
}

impl DataArguments {
    /// An option that was given and says how to read a dataset: one that is simulated is not read.
    pub(crate) fn of_reading(&self) -> Option<&'static str> {
        let given = [
            ("--format", self.format.is_some()),
            ("--sequence", self.sequence.is_some()),
            ("--split", self.split.is_some()),
            ("--classes", self.classes.is_some()),
            ("--semantic-ids", self.semantic_ids.is_some()),
            ("--occlusion", self.occlusion.is_some()),
            ("--only-in-image", self.only_in_image),
            ("--no-deskew", self.no_deskew),
            ("--no-distortion", self.no_distortion),
            ("--topic", self.topic.is_some()),
            ("--image", self.image.is_some()),
            ("--poses", self.poses.is_some()),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }

    /// Options to open it with.
    pub(crate) fn options(&self, semantics: SemanticsSource, ground_truth: GroundTruth) -> Result<OpenOptions> {
        if self.occlusion == Some(0) {
            bail!("--occlusion takes a number of pixels, 1 or more");
        }
        Ok(OpenOptions {
            only_with_truth: false,
            format: self.format.as_deref().map(str::parse).transpose()?,
            sequence: self.sequence.clone(),
            split: self.split.as_deref().map(str::parse).transpose()?,
            classes: self.classes.as_deref().map(ClassTable::open).transpose()?,
            semantics,
            network: None,
            semantic_ids: self.semantic_ids.clone(),
            ground_truth,
            only_in_image: self.only_in_image,
            occlusion_window: self.occlusion,
            deskew: self.no_deskew.then_some(false),
            no_distortion: self.no_distortion,
            topic: self.topic.clone(),
            image_topic: self.image.clone(),
            poses: self.poses.clone(),
            pictures: false,
        })
    }

    /// Opens it.
    pub(crate) fn open(&self, options: &OpenOptions) -> Result<Dataset> {
        Ok(Dataset::open(&self.dir, options)?)
    }
}

/// A range of frame numbers: `A..B` without B, `A..`, `..B`, or one frame `A`.
pub(crate) fn range(text: &str) -> Result<Range<u64>> {
    let bad = || format!("--frames takes A..B (frame numbers, B excluded), A.., ..B or A; got `{text}`");
    let number = |part: &str| part.trim().parse::<u64>().with_context(bad);
    let range = match text.split_once("..") {
        None => number(text)?..number(text)?.saturating_add(1),
        Some((from, to)) => {
            let from = if from.trim().is_empty() { 0 } else { number(from)? };
            let to = if to.trim().is_empty() { u64::MAX } else { number(to)? };
            from..to
        }
    };
    if range.is_empty() {
        bail!("--frames {text} is empty");
    }
    Ok(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_frames() {
        assert_eq!(range("3..7").unwrap(), 3..7);
        assert_eq!(range("3..").unwrap(), 3..u64::MAX);
        assert_eq!(range("..7").unwrap(), 0..7);
        assert_eq!(range("4").unwrap(), 4..5);
        for bad in ["7..3", "a..b", "", "..0"] {
            assert!(range(bad).is_err(), "{bad}");
        }
    }
}
