//! SemanticKITTI: scans, labels with instances in the high bits, poses of camera 0 in its first frame's coordinates.

use std::ffi::OsString;
use std::path::Path;

use e2bki::Pose;

use super::{Entry, Layout, Split, sequences};
use crate::camera::Camera;
use crate::classes::ClassTable;
use crate::dataset::{CloudForm, OpenOptions};
use crate::error::{Error, Flaw, Result};
use crate::files;
use crate::parse::{self, Keyed, PoseRows};

/// Size of the images of most sequences, where there is no image to look at.
const SIZE: [usize; 2] = [1241, 376];

/// The dataset's division by sequences.
fn split_of(sequence: &str) -> Option<Split> {
    match sequence.parse::<u32>().ok()? {
        8 => Some(Split::Validation),
        0..=10 => Some(Split::Train),
        11..=21 => Some(Split::Test),
        _ => None,
    }
}

pub(super) fn open(dir: &Path, options: &OpenOptions) -> Result<Layout> {
    let mut notes = Vec::new();
    let (root, parent, found) = sequences::locate(dir, &["sequences", "dataset/sequences", ""], "velodyne")?;
    let of_split: Vec<OsString> = match options.split {
        Some(split) => found.iter().filter(|name| split_of(&files::text_of(name)) == Some(split)).cloned().collect(),
        None => found.clone(),
    };
    let sequence = sequences::choose(&of_split, options.sequence.as_deref(), dir, &mut notes)?;
    let folder = parent.join(&sequence);
    let calib_path = folder.join("calib.txt");
    let calib = Keyed::parse(&files::text(&calib_path)?);
    let flaw = |flaw: Flaw| flaw.of(&calib_path);
    let camera_from_lidar = parse::rigid(&calib.numbers::<12>("Tr").map_err(flaw)?).map_err(flaw)?;
    let lidar_from_camera = camera_from_lidar.inverse();
    let poses_path = folder.join("poses.txt");
    let PoseRows::ByLine(poses) = files::parse_text(&poses_path, parse::pose_rows)? else {
        return Err(Flaw::at_line(1, "12 numbers per line expected").of(&poses_path));
    };
    let pictures = ["image_2", "image_3"].into_iter().find(|name| folder.join(name).is_dir());
    let (mut entries, mut without_pose) = (Vec::new(), Vec::new());
    for cloud in files::list_with(&folder.join("velodyne"), &["bin"])? {
        let name = files::stem(&cloud);
        let Some(id) = files::number(&name) else { continue };
        let Some(pose) = usize::try_from(id).ok().and_then(|line| poses.get(line)) else {
            without_pose.push(id);
            continue;
        };
        let there = |path: std::path::PathBuf| path.is_file().then(|| path.into());
        entries.push(Entry {
            id,
            pose: lidar_pose(pose, &camera_from_lidar, &lidar_from_camera)?,
            labels: there(folder.join("labels").join(files::with_ending(&name, "label"))),
            image: pictures.and_then(|p| there(folder.join(p).join(files::with_ending(&name, "png")))),
            image_labels: None,
            deskew: None,
            stamp_ns: None,
            cloud: cloud.into(),
            name,
        });
    }
    entries.sort_by_key(|e| e.id);
    let image = entries.iter().find_map(|e| e.image.as_ref()?.path());
    let size = image.map(|path| files::parse(path, parse::picture_size)).transpose()?;
    if size.is_none() {
        notes.push(format!("no images: the camera is taken to be {}×{}", SIZE[0], SIZE[1]));
    }
    let key = if pictures == Some("image_3") { "P3" } else { "P2" };
    let camera = calib
        .numbers::<12>(key)
        .and_then(|p| Camera::from_projection(p, size.unwrap_or(SIZE), &camera_from_lidar))
        .map_err(|flaw| flaw.of(&calib_path).to_string());
    Ok(Layout {
        recording: None,
        scan_places: "looked for velodyne/*.bin".into(),
        truth_places: "labels/*.label".into(),
        root,
        folder,
        sequence: files::text_of(&sequence).into_owned(),
        sequences: sequences::shown(&found),
        entries,
        without_pose,
        camera,
        cloud: CloudForm::KITTI,
        ids: "semantickitti".into(),
        classes: Some(ClassTable::open("semantickitti19")?),
        accumulated: None,
        labels_in_cloud: false,
        notes,
    })
}

/// Tr⁻¹ · T · Tr: the LiDAR's pose in coordinates of the first LiDAR frame.
fn lidar_pose(camera: &Pose, camera_from_lidar: &Pose, lidar_from_camera: &Pose) -> Result<Pose> {
    lidar_from_camera.after(&camera.after(camera_from_lidar)?).map_err(Error::Library)
}
