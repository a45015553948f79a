//! What sensors send.

use crate::messages::{CameraInfo, Number, TransformMessage};
use crate::tf::Quaternion;
use crate::write::Fields;

/// A cloud of one row: named numbers of every point, packed in their order, and the bytes of all points.
pub fn cloud(stamp: u64, frame: &str, named: &[(&str, Number)], count: usize, data: &[u8]) -> Vec<u8> {
    let mut fields = Fields::default();
    fields.header(stamp, frame).u32(1).u32(count as u32).u32(named.len() as u32);
    let mut offset = 0;
    for (name, number) in named {
        fields.text(name).u32(offset).u8(number.code()).u32(1);
        offset += number.size() as u32;
    }
    fields.u8(0).u32(offset).u32(offset * count as u32).bytes(data).u8(1);
    fields.finish()
}

/// Transforms.
pub fn transforms(all: &[TransformMessage]) -> Vec<u8> {
    let mut fields = Fields::default();
    fields.u32(all.len() as u32);
    for transform in all {
        fields.header(transform.stamp, &transform.parent).text(&transform.child);
        super::pose(
            &mut fields,
            transform.pose.translation(),
            Quaternion::of_matrix(transform.pose.rotation()).values(),
        );
    }
    fields.finish()
}

/// An image: width and height, its encoding, and its rows without padding.
pub fn image(stamp: u64, frame: &str, [width, height]: [usize; 2], encoding: &str, data: &[u8]) -> Vec<u8> {
    let mut fields = Fields::default();
    let step = data.len() / height.max(1);
    fields.header(stamp, frame).u32(height as u32).u32(width as u32).text(encoding).u8(0).u32(step as u32).bytes(data);
    fields.finish()
}

/// A JPEG (`jpeg`) or PNG (`png`) file as a message.
pub fn compressed_image(stamp: u64, frame: &str, format: &str, file: &[u8]) -> Vec<u8> {
    let mut fields = Fields::default();
    fields.header(stamp, frame).text(format).bytes(file);
    fields.finish()
}

/// A calibration.
pub fn camera_info(stamp: u64, info: &CameraInfo) -> Vec<u8> {
    let mut fields = Fields::default();
    fields.header(stamp, &info.frame).u32(info.size[1] as u32).u32(info.size[0] as u32).text(&info.model);
    fields.u32(info.distortion.len() as u32);
    let unrectified = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    for value in info.distortion.iter().chain(&info.k).chain(&unrectified).chain(&info.p) {
        fields.f64(*value);
    }
    // Binning and the region of interest: none.
    for _ in 0..6 {
        fields.u32(0);
    }
    fields.u8(0);
    fields.finish()
}

/// What the ids of labels mean: a class for each, from 0 on.
pub fn label_info<'a>(stamp: u64, frame: &str, names: impl ExactSizeIterator<Item = &'a str>) -> Vec<u8> {
    let mut fields = Fields::default();
    fields.header(stamp, frame).u32(names.len() as u32);
    for (id, name) in (0..).zip(names) {
        fields.u16(id).text(name);
    }
    fields.f32(0.0);
    fields.finish()
}

/// Any bytes, as `std_msgs/UInt8MultiArray` has them.
pub fn byte_array(bytes: &[u8]) -> Vec<u8> {
    let mut fields = Fields::default();
    // No dimensions, no offset.
    fields.u32(0).u32(0).bytes(bytes);
    fields.finish()
}
