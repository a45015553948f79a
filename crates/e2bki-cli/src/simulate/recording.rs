//! A simulated drive as a recording: what a robot with a LiDAR, a camera and a perfect network would have recorded.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use e2bki::Pose;
use e2bki_bag::messages::{CameraInfo, Number, TransformMessage};
use e2bki_bag::{BagWriter, compose, schemas};
use e2bki_sim::{Drive, START_NS, SimFrame, SimImage, Summary};
use image::ExtendedColorType;
use image::codecs::jpeg::JpegEncoder;

// Frames of the tree of transforms.
const WORLD: &str = "map";
const LIDAR: &str = "lidar";
const CAMERA: &str = "camera_optical";

/// Quality of the pictures.
const JPEG_QUALITY: u8 = 92;

/// Id of points and pixels without a class.
const NO_CLASS: u16 = u16::MAX;

/// Writes a drive as one MCAP file, which is there when it is whole.
pub(super) fn write(
    drive: &Drive,
    frames: usize,
    images: bool,
    out: &Path,
    progress: impl Fn(usize, usize),
) -> Result<Summary> {
    if frames == 0 {
        return Err(e2bki_sim::Error::NoFrames.into());
    }
    if out.exists() {
        bail!("{} is there already; choose another --out, or remove it", out.display());
    }
    let part = PathBuf::from(format!("{}.part", out.display()));
    let mut bag = BagWriter::create(&part)?;
    let result = fill(&mut bag, drive, frames, images, progress);
    let result = result.and_then(|summary| bag.finish().map(|()| summary).map_err(Into::into));
    let result = result.and_then(|summary| {
        std::fs::rename(&part, out).with_context(|| format!("cannot write {}", out.display()))?;
        Ok(summary)
    });
    if result.is_err() {
        // Best effort: the first error is the one to report.
        std::fs::remove_file(&part).ok();
    }
    result
}

fn fill(
    bag: &mut BagWriter,
    drive: &Drive,
    frames: usize,
    images: bool,
    progress: impl Fn(usize, usize),
) -> Result<Summary> {
    let names = drive.classes().iter().map(|class| class.name);
    let info = compose::label_info(START_NS, LIDAR, names);
    bag.write("/label_info", schemas::LABEL_INFO, true, START_NS, &info)?;
    let lidar_from_camera = Pose::from_matrix(drive.rig().reported_sensor_from_camera.to_matrix())?;
    let fixed = moved(START_NS, LIDAR, CAMERA, lidar_from_camera);
    bag.write("/tf_static", schemas::TRANSFORMS, true, START_NS, &compose::transforms(&[fixed]))?;
    let mut summary = Summary::default();
    for index in 0..frames {
        let stamp = drive.stamp_ns(index);
        let frame = drive.frame(index);
        let tf = compose::transforms(&[moved(stamp, WORLD, LIDAR, printed(&frame)?)]);
        bag.write("/tf", schemas::TRANSFORMS, false, stamp, &tf)?;
        if images {
            picture(bag, drive, &drive.image(index), stamp)?;
        }
        bag.write("/points", schemas::POINT_CLOUD, false, stamp, &cloud(&frame, stamp))?;
        summary.points += frame.points.len();
        summary.written += 1;
        progress(index + 1, frames);
    }
    Ok(summary)
}

fn moved(stamp: u64, parent: &str, child: &str, pose: Pose) -> TransformMessage {
    TransformMessage { stamp, parent: parent.into(), child: child.into(), pose }
}

/// The pose to the ten decimals of the other formats' files: the same drive makes the same map.
fn printed(frame: &SimFrame) -> Result<Pose> {
    let mut matrix = frame.world_from_sensor;
    for value in matrix.as_flattened_mut() {
        *value = format!("{value:.10}").parse()?;
    }
    Ok(Pose::from_matrix(matrix)?)
}

fn cloud(frame: &SimFrame, stamp: u64) -> Vec<u8> {
    let fields = [
        ("x", Number::F32),
        ("y", Number::F32),
        ("z", Number::F32),
        ("intensity", Number::F32),
        ("label", Number::U16),
    ];
    let mut data = Vec::with_capacity(frame.points.len() * 18);
    for (k, point) in frame.points.iter().enumerate() {
        for value in point.iter().chain([&frame.intensity[k]]) {
            data.extend(value.to_le_bytes());
        }
        data.extend(id(frame.labels[k]).to_le_bytes());
    }
    compose::cloud(stamp, LIDAR, &fields, frame.points.len(), &data)
}

fn id(label: u8) -> u16 {
    if label == e2bki_sim::VOID { NO_CLASS } else { u16::from(label) }
}

fn picture(bag: &mut BagWriter, drive: &Drive, image: &SimImage, stamp: u64) -> Result<()> {
    let (size, camera) = ([image.width, image.height], &drive.rig().camera);
    let [fx, fy] = camera.focal;
    // Image coordinates of ROS are whole numbers at the centres of pixels.
    let [cx, cy] = camera.center.map(|c| c - camera.pixel_center);
    let lens = &camera.distortion;
    let info = CameraInfo {
        frame: CAMERA.into(),
        size,
        model: "plumb_bob".into(),
        distortion: vec![lens.k1, lens.k2, lens.p1, lens.p2, lens.k3],
        k: [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
        p: [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    };
    bag.write("/camera/camera_info", schemas::CAMERA_INFO, false, stamp, &compose::camera_info(stamp, &info))?;
    let mut file = Cursor::new(Vec::new());
    JpegEncoder::new_with_quality(&mut file, JPEG_QUALITY)
        .encode(image.rgb.as_flattened(), size[0] as u32, size[1] as u32, ExtendedColorType::Rgb8)
        .context("cannot encode a picture")?;
    let sent = compose::compressed_image(stamp, CAMERA, "jpeg", &file.into_inner());
    bag.write("/camera/image_raw/compressed", schemas::COMPRESSED_IMAGE, false, stamp, &sent)?;
    let labels: Vec<u8> = image.labels.iter().flat_map(|label| id(*label).to_le_bytes()).collect();
    let sent = compose::image(stamp, CAMERA, size, "mono16", &labels);
    Ok(bag.write("/camera/labels", schemas::IMAGE, false, stamp, &sent)?)
}
