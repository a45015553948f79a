//! The messages in recordings of robots.

use e2bki::Pose;
use e2bki_bag::messages::{self, CameraInfo, Cloud, CompressedImage, Image, Number, TransformMessage};
use e2bki_bag::wire::Wire;
use e2bki_bag::{Transforms, compose};

/// Any bytes as messages of every type but clouds and transforms, in both serialisations.
pub(crate) fn cdr(data: &[u8]) {
    for wire in [Wire::Cdr, Wire::Ros1] {
        if let Ok(image) = Image::read(wire, data) {
            if let Ok(colors) = image.rgb() {
                assert_eq!(colors.len(), image.width * image.height * 3);
            }
            if let Ok(labels) = image.labels() {
                assert_eq!(labels.len(), image.width * image.height);
            }
            if let Ok(values) = image.floats() {
                assert_eq!(Some(values.len()), image.float_channels().map(|c| c * image.width * image.height));
            }
        }
        CompressedImage::read(wire, data).ok();
        CameraInfo::read(wire, data).ok();
        messages::header(wire, data).ok();
        messages::label_info(wire, data).ok();
        messages::odometry(wire, data).ok();
        messages::pose(wire, data).ok();
        messages::path(wire, data).ok();
    }
}

/// Any bytes as a cloud.
pub(crate) fn cloud(data: &[u8]) {
    for wire in [Wire::Cdr, Wire::Ros1] {
        let Ok(cloud) = Cloud::read(wire, data) else { continue };
        for field in &cloud.fields {
            // To the last point: all of them lie within the message. Points of no bytes may be any number.
            assert_eq!(cloud.column(field).count(), cloud.len());
        }
        if let Ok(fields) = cloud.decode() {
            assert_eq!(fields.points.len(), cloud.len());
            assert!(fields.labels.is_none_or(|labels| labels.len() == cloud.len()));
            assert!(fields.times.is_none_or(|times| times.iter().all(|t| t.abs() <= 1.0)));
        }
    }
}

/// Any bytes as transforms, and questions to the tree of them.
pub(crate) fn transforms(data: &[u8]) {
    for wire in [Wire::Cdr, Wire::Ros1] {
        let Ok((all, _)) = messages::transforms(wire, data) else { continue };
        let mut tree = Transforms::new(0.1);
        let stamps: Vec<u64> = all.iter().map(|transform| transform.stamp).collect();
        for (k, transform) in all.into_iter().enumerate() {
            tree.add(transform, k % 3 == 0);
        }
        let frames: Vec<String> = tree.frames().iter().map(ToString::to_string).collect();
        for (frame, stamp) in frames.iter().take(8).zip(stamps.iter().cycle()) {
            let root = tree.root_of(frame).to_string();
            tree.look_up(&root, frame, stamp.saturating_add(7)).ok();
            tree.look_up(frame, &frames[0], *stamp).ok();
            tree.moves(frame);
        }
    }
}

pub(crate) fn example_cloud() -> Vec<u8> {
    let fields =
        [("x", Number::F32), ("y", Number::F32), ("z", Number::F32), ("t", Number::U32), ("label", Number::U16)];
    let data: Vec<u8> = (0..22 * 5).map(|i| (i * 7) as u8).collect();
    compose::cloud(1_700_000_000_000_000_000, "lidar", &fields, 5, &data)
}

pub(crate) fn example_transforms() -> Vec<u8> {
    let edge = |k: u64, parent: &str, child: &str| TransformMessage {
        stamp: 1_700_000_000_000_000_000 + k,
        parent: parent.into(),
        child: child.into(),
        pose: Pose::from_translation([k as f64, 0.0, 1.0]).unwrap_or_else(|e| panic!("{e}")),
    };
    compose::transforms(&[
        edge(0, "map", "odom"),
        edge(0, "odom", "base"),
        edge(5, "odom", "base"),
        edge(0, "base", "lidar"),
    ])
}

/// Messages to begin with.
pub(crate) fn seeds(target: &str) -> Vec<Vec<u8>> {
    let stamp = 1_700_000_000_000_000_000;
    match target {
        "cloud" => vec![example_cloud()],
        "transforms" => vec![example_transforms()],
        "cdr" => vec![
            compose::image(stamp, "camera", [4, 2], "rgb8", &[9; 24]),
            compose::image(stamp, "camera", [2, 2], "32FC2", &[0; 32]),
            compose::compressed_image(stamp, "camera", "png", &[1, 2, 3]),
            compose::label_info(stamp, "lidar", ["road", "tree"].into_iter()),
            example_transforms(),
        ],
        other => crate::recordings::seeds(other),
    }
}
