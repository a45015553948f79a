//! A plain folder: `frames/` with clouds of any kind, `poses.txt`, perhaps labels, images and `e2bki.toml`.

use std::path::{Path, PathBuf};

use e2bki::Pose;

use super::folder_toml::{Coordinates, Direction, FolderToml};
use super::{Entry, Layout, sequences};
use crate::dataset::{CloudForm, OpenOptions};
use crate::error::{Error, Result};
use crate::files;
use crate::item::Item;
use crate::parse::{self, PoseRows};

/// Largest difference of the times of a frame and its pose, seconds.
const SAME_TIME_S: f64 = 0.02;

/// Extensions of clouds.
pub(super) const CLOUDS: [&str; 5] = ["bin", "pcd", "ply", "npy", "las"];

pub(super) fn open(dir: &Path, options: &OpenOptions) -> Result<Layout> {
    if options.split.is_some() {
        return Err(Error::Request("a plain folder has no division into train, val and test".into()));
    }
    let toml = FolderToml::read(dir)?;
    let or = |given: &Option<String>, usual: &str| dir.join(given.as_deref().unwrap_or(usual));
    let frames = or(&toml.frames, "frames");
    let clouds = files::list_with(&frames, &CLOUDS)?;
    let mut notes = Vec::new();
    let poses = read_poses(&or(&toml.poses, "poses.txt"), toml.poses.is_some(), &mut notes)?;
    let assigned = assign(poses.as_ref(), &clouds, toml.poses_are);
    let labels = or(&toml.labels, "labels");
    let images = or(&toml.images, "images");
    let image_labels = or(&toml.image_labels, "image_labels");
    let labels_in_cloud = clouds.first().is_some_and(|p| has_labels(p));
    let (mut entries, mut without_pose) = (Vec::new(), Vec::new());
    for (i, (cloud, pose)) in clouds.into_iter().zip(assigned).enumerate() {
        let name = files::stem(&cloud);
        let digits = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        let id = if digits { files::number(&name) } else { None }.unwrap_or(i as u64);
        let Some(pose) = pose else {
            without_pose.push(id);
            continue;
        };
        let there = |folder: &Path, extensions: &[&str]| {
            extensions
                .iter()
                .map(|e| folder.join(files::with_ending(&name, e)))
                .find(|path| path.is_file())
                .map(Item::from)
        };
        entries.push(Entry {
            id,
            pose,
            labels: there(&labels, &["label", "npy"]),
            image: there(&images, &["png", "jpg", "jpeg"]),
            image_labels: there(&image_labels, &["png"]),
            deskew: None,
            stamp_ns: None,
            cloud: cloud.into(),
            name,
        });
    }
    Ok(Layout {
        recording: None,
        root: dir.to_path_buf(),
        folder: dir.to_path_buf(),
        sequence: files::text_of(&files::name(dir)).into_owned(),
        sequences: sequences::shown(&[files::name(dir)]),
        entries,
        without_pose,
        camera: toml.camera(dir),
        cloud: CloudForm {
            bin_fields: toml.bin_fields.unwrap_or(4),
            scale: toml.units.metres(),
            world: toml.coordinates == Coordinates::World,
        },
        ids: toml.ids.clone().unwrap_or_else(|| "classes".into()),
        classes: toml.class_table(dir)?,
        accumulated: None,
        labels_in_cloud,
        scan_places: format!("looked for {}/*.{}", frames.display(), CLOUDS.join("|")),
        truth_places: format!("{}/*.label|npy, {}/*.png", labels.display(), image_labels.display()),
        notes,
    })
}

fn read_poses(path: &Path, named: bool, notes: &mut Vec<String>) -> Result<Option<PoseRows>> {
    if !path.is_file() && !named {
        notes.push(format!("{} does not exist: every frame is taken to be at the origin", path.display()));
        return Ok(None);
    }
    files::parse_text(path, parse::pose_rows).map(Some)
}

/// The pose of each cloud, in their order.
fn assign(poses: Option<&PoseRows>, clouds: &[PathBuf], direction: Direction) -> Vec<Option<Pose>> {
    let turned = |pose: &Pose| if direction == Direction::SensorFromWorld { pose.inverse() } else { *pose };
    let stems: Vec<String> = clouds.iter().map(|p| files::text_of(&files::stem(p)).into_owned()).collect();
    let numbers: Option<Vec<u64>> = stems.iter().map(|s| s.parse().ok()).collect();
    let in_order = |poses: &[Pose]| (0..clouds.len()).map(|i| poses.get(i).map(turned)).collect();
    match poses {
        None => vec![Some(Pose::IDENTITY); clouds.len()],
        Some(PoseRows::ByLine(poses)) => match &numbers {
            // Fewer clouds than lines, with numbers for names: the line is the number, as in KITTI.
            Some(numbers) if poses.len() != clouds.len() => {
                numbers.iter().map(|n| usize::try_from(*n).ok().and_then(|n| poses.get(n)).map(turned)).collect()
            }
            _ => in_order(poses),
        },
        Some(PoseRows::ByFrame(poses)) => {
            let number = |(i, stem): (usize, &String)| files::number_in(stem).unwrap_or(i as u64);
            stems.iter().enumerate().map(|s| poses.get(&number(s)).map(turned)).collect()
        }
        Some(PoseRows::ByTime(poses)) => {
            let times: Option<Vec<f64>> = stems.iter().map(|s| s.parse().ok()).collect();
            let nearest = |time: f64| {
                let best = poses.iter().min_by(|a, b| (a.0 - time).abs().total_cmp(&(b.0 - time).abs()))?;
                ((best.0 - time).abs() <= SAME_TIME_S).then(|| turned(&best.1))
            };
            let by_time: Vec<Option<Pose>> = times.iter().flatten().map(|t| nearest(*t)).collect();
            if by_time.iter().any(Option::is_some) {
                return by_time;
            }
            in_order(&poses.iter().map(|(_, pose)| *pose).collect::<Vec<_>>())
        }
    }
}

/// Whether a cloud file holds labels of its points.
fn has_labels(path: &Path) -> bool {
    let Ok(bytes) = files::bytes(path) else { return false };
    match files::extension(path).to_ascii_lowercase().as_str() {
        "ply" => parse::ply(&bytes).is_ok_and(|t| t.labels().is_some()),
        "pcd" => parse::pcd(&bytes).is_ok_and(|t| t.labels().is_some()),
        "las" => true,
        _ => false,
    }
}
