//! KITTI-360: raw turns of the LiDAR, sparse poses of the GPS/IMU joined by frame number, a rectified camera.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use e2bki::Pose;

use super::{Accumulated, Entry, Layout, Split, sequences};
use crate::camera::{Camera, Deskew, check_size};
use crate::classes::ClassTable;
use crate::dataset::{CloudForm, OpenOptions};
use crate::error::{Flaw, Result};
use crate::files;
use crate::item::Item;
use crate::parse::{self, Keyed};

pub(super) fn open(dir: &Path, options: &OpenOptions) -> Result<Layout> {
    let mut notes = Vec::new();
    let found = sequences::having(&dir.join("data_3d_raw"), "velodyne_points/data")?;
    let sequence = sequences::choose(&found, options.sequence.as_deref(), dir, &mut notes)?;
    let calibration = dir.join("calibration");
    let imu_from_velo = imu_from_velo(&calibration)?;
    let poses = files::parse_text(&dir.join("data_poses").join(&sequence).join("poses.txt"), parse::indexed_poses)?;
    let mut lidar = BTreeMap::new();
    for (frame, pose) in &poses {
        lidar.insert(*frame, pose.after(&imu_from_velo)?);
    }
    let wanted = match options.split {
        Some(split) => Some(listed(dir, &files::text_of(&sequence), split)?),
        None => None,
    };
    let scans = dir.join("data_3d_raw").join(&sequence).join("velodyne_points/data");
    let images = dir.join("data_2d_raw").join(&sequence).join("image_00/data_rect");
    let labels = dir.join("data_2d_semantics/train").join(&sequence).join("image_00/semantic");
    let (mut entries, mut without_pose) = (Vec::new(), Vec::new());
    for cloud in files::list_with(&scans, &["bin"])? {
        let name = files::stem(&cloud);
        let Some(id) = files::number(&name) else { continue };
        if wanted.as_ref().is_some_and(|wanted| !wanted.contains(&id)) {
            continue;
        }
        let Some(pose) = lidar.get(&id) else {
            without_pose.push(id);
            continue;
        };
        let there = |folder: &Path| {
            Some(folder.join(files::with_ending(&name, "png"))).filter(|path| path.is_file()).map(Item::from)
        };
        entries.push(Entry {
            id,
            pose: *pose,
            labels: None,
            image: there(&images),
            image_labels: there(&labels),
            deskew: deskew(&lidar, id)?,
            stamp_ns: None,
            cloud: cloud.into(),
            name,
        });
    }
    entries.sort_by_key(|e| e.id);
    if !without_pose.is_empty() {
        notes
            .push(format!("{} frames have no pose (the vehicle stood or crept); they are skipped", without_pose.len()));
    }
    let accumulated = Accumulated::find(&dir.join("data_3d_semantics/train").join(&sequence))?;
    Ok(Layout {
        recording: None,
        camera: camera(&calibration).map_err(|error| error.to_string()),
        root: dir.to_path_buf(),
        folder: dir.to_path_buf(),
        scan_places: format!("looked for {}/*.bin", scans.display()),
        truth_places: "data_2d_semantics/train/…/semantic/*.png, data_3d_semantics/train/…/static/*.ply".into(),
        sequence: files::text_of(&sequence).into_owned(),
        sequences: sequences::shown(&found),
        entries,
        without_pose,
        cloud: CloudForm::KITTI,
        ids: "kitti360".into(),
        classes: Some(ClassTable::open("urban11")?),
        accumulated,
        labels_in_cloud: false,
        notes,
    })
}

/// Camera-to-pose of camera 0 after LiDAR-to-camera.
fn imu_from_velo(calibration: &Path) -> Result<Pose> {
    let velo_from_camera = cam_to_velo(calibration)?;
    let path = calibration.join("calib_cam_to_pose.txt");
    let flaw = |flaw: Flaw| flaw.of(&path);
    let row = Keyed::parse(&files::text(&path)?).numbers::<12>("image_00").map_err(flaw)?;
    Ok(parse::rigid(&row).map_err(flaw)?.after(&velo_from_camera.inverse())?)
}

fn cam_to_velo(calibration: &Path) -> Result<Pose> {
    files::parse_text(&calibration.join("calib_cam_to_velo.txt"), |text| parse::rigid(&parse::numbers::<12>(text)?))
}

/// Rectified camera 0.
fn camera(calibration: &Path) -> Result<Camera> {
    let path = calibration.join("perspective.txt");
    let keyed = Keyed::parse(&files::text(&path)?);
    let flaw = |flaw: Flaw| flaw.of(&path);
    let p = keyed.numbers::<12>("P_rect_00").map_err(flaw)?;
    let [a, b, c, d, e, f, g, h, i] = keyed.numbers::<9>("R_rect_00").map_err(flaw)?;
    let [width, height] = keyed.numbers::<2>("S_rect_00").map_err(flaw)?;
    // What is too large for a whole number is too large for an image.
    let size = check_size([width as usize, height as usize])
        .map_err(|found| flaw(Flaw::new(format!("`S_rect_00`: {}", found.what))))?;
    let rectified_from_camera = parse::rigid(&[a, b, c, 0.0, d, e, f, 0.0, g, h, i, 0.0]).map_err(flaw)?;
    let rectified_from_velo = rectified_from_camera.after(&cam_to_velo(calibration)?.inverse())?;
    Camera::from_projection(p, size, &rectified_from_velo).map_err(flaw)
}

/// Motion during the turn of a frame, from the pose before, or after where there is none before.
fn deskew(poses: &BTreeMap<u64, Pose>, id: u64) -> Result<Option<Deskew>> {
    let before = id.checked_sub(1).and_then(|id| poses.get(&id));
    let after = id.checked_add(1).and_then(|id| poses.get(&id));
    Ok(match (before, poses.get(&id), after) {
        (Some(before), Some(now), _) => Some(Deskew::between(now, before)?),
        (None, Some(now), Some(after)) => Some(Deskew::between(after, now)?),
        _ => None,
    })
}

/// Frame numbers of a part, from the lists beside the labels.
fn listed(dir: &Path, sequence: &str, split: Split) -> Result<BTreeSet<u64>> {
    let path: PathBuf = dir.join(format!("data_2d_semantics/train/2013_05_28_drive_{}_frames.txt", split.name()));
    let own = |line: &str| {
        let image = line.split_whitespace().next()?;
        image.split('/').any(|part| part == sequence).then(|| files::number_in(image.rsplit('/').next()?))?
    };
    Ok(files::text(&path)?.lines().filter_map(own).collect())
}
