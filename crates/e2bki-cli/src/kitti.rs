//! Scans of a SemanticKITTI sequence folder with a network's predictions (or the labels).

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use e2bki::{ClassSet, Pose};
use e2bki_eval::{LabelledFrame, Said};

/// The 19 classes, each with the raw ids that mean it.
const CLASSES: [(&str, &[u32]); 19] = [
    ("car", &[10, 252]),
    ("bicycle", &[11]),
    ("motorcycle", &[15]),
    ("truck", &[18, 258]),
    ("other-vehicle", &[13, 16, 20, 256, 257, 259]),
    ("person", &[30, 254]),
    ("bicyclist", &[31, 253]),
    ("motorcyclist", &[32, 255]),
    ("road", &[40, 60]),
    ("parking", &[44]),
    ("sidewalk", &[48]),
    ("other-ground", &[49]),
    ("building", &[50]),
    ("fence", &[51]),
    ("vegetation", &[70]),
    ("trunk", &[71]),
    ("terrain", &[72]),
    ("pole", &[80]),
    ("traffic-sign", &[81]),
];

/// A sequence folder whose scans are read one at a time.
pub(crate) struct Sequence {
    folder: PathBuf,
    poses: Vec<Pose>,
    /// Where what a network said is read from: `predictions`, or `labels` where there are none.
    said_by: &'static str,
    labelled: bool,
}

impl Sequence {
    /// Reads calibration and poses. Without the folder `labels` there is no ground truth.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let calibration = folder.join("calib.txt");
        let tr = numbers(&calibration, Some("Tr:"))?;
        let Some(tr) = tr.first() else { bail!("{}: no line `Tr:`", calibration.display()) };
        let poses = numbers(&folder.join("poses.txt"), None)?;
        let scan = |i: usize| folder.join("velodyne").join(format!("{i:06}.bin"));
        // Published pose files cover whole sequences, folders may hold less.
        let count = (0..poses.len()).take_while(|i| scan(*i).is_file()).count();
        if count == 0 {
            bail!("{} holds no scans: {} is missing", folder.display(), scan(0).display());
        }
        let poses = poses.iter().take(count).map(|pose| lidar_pose(tr, pose)).collect::<Result<Vec<_>>>()?;
        let labelled = folder.join("labels").is_dir();
        let said_by = if folder.join("predictions").is_dir() { "predictions" } else { "labels" };
        if !labelled && said_by == "labels" {
            bail!("{} has neither `predictions` nor `labels`: nothing says what the points are", folder.display());
        }
        Ok(Self { folder: folder.into(), poses, said_by, labelled })
    }

    /// Number of scans.
    pub(crate) fn len(&self) -> usize {
        self.poses.len()
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The 19 classes.
    pub(crate) fn classes(&self) -> Result<ClassSet> {
        Ok(ClassSet::from_names(CLASSES.map(|(name, _)| name))?)
    }

    /// Bytes of all scans together: another folder in the same place is noticed.
    pub(crate) fn bytes(&self) -> Result<u64> {
        let size = |i: usize| -> Result<u64> {
            let path = self.folder.join("velodyne").join(format!("{i:06}.bin"));
            Ok(std::fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?.len())
        };
        (0..self.len()).map(size).sum()
    }

    /// A scan: points within 50 m, with the pose of the LiDAR in coordinates of the first.
    pub(crate) fn frame(&self, index: usize) -> Result<LabelledFrame> {
        let Some(pose) = self.poses.get(index) else { bail!("{} has no scan {index}", self.folder.display()) };
        let scan = self.folder.join("velodyne").join(format!("{index:06}.bin"));
        let values: Vec<f32> = words(&scan, 16)?.iter().map(|w| f32::from_le_bytes(*w)).collect();
        let ids = |kind: &str| -> Result<Vec<u32>> {
            let file = self.folder.join(kind).join(format!("{index:06}.label"));
            let ids: Vec<u32> = words(&file, 4)?.iter().map(|w| u32::from_le_bytes(*w) & 0xffff).collect();
            if ids.len() * 4 != values.len() {
                bail!("{} has {} labels for {} points", file.display(), ids.len(), values.len() / 4);
            }
            Ok(ids)
        };
        let said = ids(self.said_by)?;
        let truth = if self.labelled { ids("labels")? } else { vec![u32::MAX; said.len()] };
        let near = |k: &usize| {
            let p = &values[4 * k..4 * k + 3];
            p[0] * p[0] + p[1] * p[1] + p[2] * p[2] < 2500.0
        };
        let kept: Vec<usize> = (0..said.len()).filter(near).collect();
        let class = |id: u32| CLASSES.iter().position(|(_, ids)| ids.contains(&id)).map_or(u32::MAX, |c| c as u32);
        Ok(LabelledFrame {
            points: kept.iter().map(|k| [values[4 * k], values[4 * k + 1], values[4 * k + 2]]).collect(),
            said: Said::Labels(kept.iter().map(|k| class(said[*k])).collect()),
            world_from_sensor: *pose,
            truth: kept.iter().map(|k| class(truth[*k])).collect(),
        })
    }
}

/// Tr⁻¹ · T · Tr: the LiDAR's pose from the camera's.
fn lidar_pose(tr: &[f64], camera: &[f64]) -> Result<Pose> {
    let pose =
        |v: &[f64]| Pose::new([[v[0], v[1], v[2]], [v[4], v[5], v[6]], [v[8], v[9], v[10]]], [v[3], v[7], v[11]]);
    let tr = pose(tr)?;
    Ok(tr.inverse().after(&pose(camera)?.after(&tr)?)?)
}

/// Lines of twelve numbers, optionally only those with a prefix.
fn numbers(path: &Path, prefix: Option<&str>) -> Result<Vec<Vec<f64>>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut rows = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = match prefix {
            Some(prefix) => match line.strip_prefix(prefix) {
                Some(rest) => rest,
                None => continue,
            },
            None => line,
        };
        let row: Vec<f64> = line.split_whitespace().filter_map(|token| token.parse().ok()).collect();
        if row.len() != 12 {
            bail!("{}, line {}: 12 numbers expected", path.display(), i + 1);
        }
        rows.push(row);
    }
    Ok(rows)
}

/// A file as 4-byte words; its size must be a multiple of a record.
fn words(path: &Path, record: usize) -> Result<Vec<[u8; 4]>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.len() % record != 0 {
        bail!("{}: {} bytes is not a multiple of {record}; the file is cut short", path.display(), bytes.len());
    }
    Ok(bytes.as_chunks::<4>().0.to_vec())
}
