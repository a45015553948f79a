//! RELLIS-3D: organised OS1 scans with zeros for missing returns, poses of the LiDAR by line, camera behind a lens.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use e2bki::Pose;

use super::{Entry, Layout, Split, sequences};
use crate::camera::{Brown, Camera};
use crate::classes::ClassTable;
use crate::dataset::{CloudForm, OpenOptions};
use crate::error::{Error, Result};
use crate::files;
use crate::parse::{self, PoseRows};

const SCANS: &str = "os1_cloud_node_kitti_bin";
const LABELS: &str = "os1_cloud_node_semantickitti_label_id";
const IMAGES: &str = "pylon_camera_node";
const IMAGE_LABELS: &str = "pylon_camera_node_label_id";

/// k1, k2, p1, p2, k3 of the camera, the same for all sequences; the dataset's files do not hold them.
const LENS: [f64; 5] = [-0.134313, -0.025905, 0.002181, 0.00084, 0.0];

/// Size of the original images.
const SIZE: [usize; 2] = [1920, 1200];

pub(super) fn open(dir: &Path, options: &OpenOptions) -> Result<Layout> {
    let mut notes = Vec::new();
    let (root, parent, found) = sequences::locate(dir, &["Rellis-3D", ""], SCANS)?;
    let sequence = sequences::choose(&found, options.sequence.as_deref(), dir, &mut notes)?;
    let folder = parent.join(&sequence);
    let numbered = |name: &str, extensions: &[&str]| -> Result<Vec<(u64, PathBuf)>> {
        let files = files::list_with(&folder.join(name), extensions)?;
        Ok(files.into_iter().filter_map(|path| Some((files::number(&files::stem(&path))?, path))).collect())
    };
    let find = |of: &[(u64, PathBuf)], id: u64| of.iter().find(|(n, _)| *n == id).map(|(_, path)| path.clone().into());
    let labels = numbered(LABELS, &["label"])?;
    let images = numbered(IMAGES, &["jpg", "png"])?;
    let image_labels = numbered(IMAGE_LABELS, &["png"])?;
    let poses = poses(&folder, &mut notes)?;
    let wanted = match options.split {
        Some(split) => Some(listed(&parent, &files::text_of(&sequence), split)?),
        None => None,
    };
    let (mut entries, mut without_pose) = (Vec::new(), Vec::new());
    for (id, cloud) in numbered(SCANS, &["bin"])? {
        if wanted.as_ref().is_some_and(|wanted| !wanted.contains(&id)) {
            continue;
        }
        let pose = match &poses {
            None => Pose::IDENTITY,
            Some(poses) => match usize::try_from(id).ok().and_then(|line| poses.get(line)) {
                Some(pose) => *pose,
                None => {
                    without_pose.push(id);
                    continue;
                }
            },
        };
        entries.push(Entry {
            id,
            name: files::stem(&cloud),
            cloud: cloud.into(),
            pose,
            labels: find(&labels, id),
            image: find(&images, id),
            image_labels: find(&image_labels, id),
            deskew: None,
            stamp_ns: None,
        });
    }
    entries.sort_by_key(|e| e.id);
    let size = images.first().or(image_labels.first()).map(|(_, path)| files::parse(path, parse::picture_size));
    let camera = camera(&root, &folder, &sequence, size.transpose()?.unwrap_or(SIZE));
    Ok(Layout {
        recording: None,
        camera: camera.map_err(|error| format!("RELLIS-3D camera: {error}")),
        scan_places: format!("looked for {SCANS}/*.bin"),
        truth_places: format!("{LABELS}/*.label, {IMAGE_LABELS}/*.png"),
        root,
        folder,
        sequence: files::text_of(&sequence).into_owned(),
        sequences: sequences::shown(&found),
        entries,
        without_pose,
        cloud: CloudForm::KITTI,
        ids: "rellis3d".into(),
        classes: Some(ClassTable::open("offroad7")?),
        accumulated: None,
        labels_in_cloud: false,
        notes,
    })
}

/// One pose per frame number; nothing where there is no file.
fn poses(folder: &Path, notes: &mut Vec<String>) -> Result<Option<Vec<Pose>>> {
    let path = folder.join("poses.txt");
    if !path.is_file() {
        notes.push(format!("{} does not exist: every frame is taken to be at the origin", path.display()));
        return Ok(None);
    }
    match files::parse_text(&path, parse::pose_rows)? {
        PoseRows::ByLine(poses) => Ok(Some(poses)),
        _ => Err(Error::Missing(format!("{}: 12 numbers per line expected", path.display()))),
    }
}

/// Frame numbers of a part, from the lists beside the sequences.
fn listed(parent: &Path, sequence: &str, split: Split) -> Result<BTreeSet<u64>> {
    let text = files::text(&parent.join(format!("pt_{}.lst", split.name())))?;
    let own = |line: &str| {
        let scan = line.split_whitespace().next()?;
        let name = scan.strip_prefix(sequence)?.strip_prefix('/')?;
        files::number_in(name.rsplit('/').next()?)
    };
    Ok(text.lines().filter_map(own).collect())
}

fn camera(root: &Path, folder: &Path, sequence: &OsStr, size: [usize; 2]) -> Result<Camera> {
    let info = calibration(root, folder, sequence, "Rellis_3D_cam_intrinsic", "camera_info.txt")?;
    let [fx, fy, cx, cy] = files::parse_text(&info, parse::numbers::<4>)?;
    let path = calibration(root, folder, sequence, "Rellis_3D_cam2lidar", "transforms.yaml")?;
    let key = "os1_cloud_node-pylon_camera_node";
    let sensor_from_camera = files::parse_text(&path, |text| parse::transform(text, key))?;
    Ok(Camera {
        size,
        focal: [fx, fy],
        center: [cx, cy],
        lens: Brown::new(LENS).into(),
        camera_from_sensor: sensor_from_camera.inverse(),
        pixel_center: 0.5,
    })
}

/// A calibration file: beside the scans, or in its own download `<prefix>…/<any>/<sequence>/`.
fn calibration(root: &Path, folder: &Path, sequence: &OsStr, prefix: &str, file: &str) -> Result<PathBuf> {
    let beside = folder.join(file);
    if beside.is_file() {
        return Ok(beside);
    }
    for download in files::folders(root)?.iter().filter(|name| files::text_of(name).starts_with(prefix)) {
        for inner in files::folders(&root.join(download))? {
            let path = root.join(download).join(inner).join(sequence).join(file);
            if path.is_file() {
                return Ok(path);
            }
        }
    }
    Err(Error::Missing(format!(
        "{file} not found; looked for {} and {}",
        beside.display(),
        root.join(format!("{prefix}*/*")).join(sequence).join(file).display()
    )))
}
