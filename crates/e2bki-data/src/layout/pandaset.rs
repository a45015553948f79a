//! Like PandaSet: one cloud per frame in world coordinates, and the LiDAR's poses in JSON.
//! PandaSet's own `.pkl.gz` frames are Python objects; they must be saved as arrays first.

use std::path::Path;

use super::folder::CLOUDS;
use super::folder_toml::FolderToml;
use super::{Entry, Layout, sequences};
use crate::dataset::{CloudForm, OpenOptions};
use crate::error::{Error, Result};
use crate::files;
use crate::parse;

pub(super) fn open(dir: &Path, options: &OpenOptions) -> Result<Layout> {
    if options.split.is_some() {
        return Err(Error::Request("this layout has no division into train, val and test".into()));
    }
    let lidar = dir.join("lidar");
    let clouds = files::list_with(&lidar, &CLOUDS)?;
    if clouds.is_empty() && !files::list_with(&lidar, &["gz"])?.is_empty() {
        return Err(Error::Missing(format!(
            "{} holds Python objects (.pkl.gz), which cannot be read here. Save each as an array: \
             numpy.save(f\"{{name}}.npy\", pandas.read_pickle(f\"{{name}}.pkl.gz\")[[\"x\", \"y\", \"z\"]].values)",
            lidar.display()
        )));
    }
    let poses = files::parse_text(&lidar.join("poses.json"), parse::pandaset_poses)?;
    let toml = FolderToml::read(dir)?;
    let labels = dir.join("annotations/semseg");
    let images = dir.join("camera/front_camera");
    let (mut entries, mut without_pose) = (Vec::new(), Vec::new());
    for (i, cloud) in clouds.into_iter().enumerate() {
        let name = files::stem(&cloud);
        let id = files::number(&name).unwrap_or(i as u64);
        let Some(pose) = usize::try_from(id).ok().and_then(|line| poses.get(line)) else {
            without_pose.push(id);
            continue;
        };
        let there = |path: std::path::PathBuf| path.is_file().then(|| path.into());
        entries.push(Entry {
            id,
            pose: *pose,
            labels: there(labels.join(files::with_ending(&name, "npy"))),
            image: there(images.join(files::with_ending(&name, "jpg"))),
            image_labels: None,
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
        cloud: CloudForm { bin_fields: toml.bin_fields.unwrap_or(4), scale: toml.units.metres(), world: true },
        ids: toml.ids.clone().unwrap_or_else(|| "classes".into()),
        classes: toml.class_table(dir)?,
        accumulated: None,
        labels_in_cloud: false,
        scan_places: format!("looked for {}/*.{}", lidar.display(), CLOUDS.join("|")),
        truth_places: format!("{}/*.npy", labels.display()),
        notes: vec!["points are in world coordinates; they are moved into the sensor's frame".into()],
    })
}
