//! The messages that a mapper needs, of ROS 2 and ROS 1 alike.

mod byte_array;
mod camera_info;
mod cloud;
mod image;
mod label_info;
mod poses;

pub use byte_array::byte_array;
pub use camera_info::CameraInfo;
pub use cloud::{Cloud, CloudFields, Field, Number};
pub use image::{CompressedImage, Image};
pub use label_info::label_info;
pub use poses::{Stamped, TransformMessage, clock, odometry, path, pose, pose_with_covariance, transforms};

use crate::wire::{Read, Reader, Wire};

/// Time and frame of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// Nanoseconds since 1970.
    pub stamp: u64,
    /// Name of the coordinate frame, without a leading slash.
    pub frame: &'a str,
}

/// The header of a message that begins with one.
pub fn header(wire: Wire, message: &[u8]) -> Read<Header<'_>> {
    Header::read(&mut Reader::new(wire, message)?)
}

impl<'a> Header<'a> {
    pub(crate) fn read(fields: &mut Reader<'a>) -> Read<Self> {
        if fields.wire() == Wire::Ros1 {
            fields.u32()?; // sequence number
        }
        let stamp = stamp(fields)?;
        // Some ROS 1 programs write a slash that others leave out.
        let frame = fields.text()?;
        Ok(Self { stamp, frame: frame.strip_prefix('/').unwrap_or(frame) })
    }
}

/// A time. Negative ones, which nothing was recorded at, count as 0.
pub(crate) fn stamp(fields: &mut Reader<'_>) -> Read<u64> {
    let (seconds, nanoseconds) = (fields.i32()?, fields.u32()?);
    // ROS 1 has unsigned seconds, which differ beyond the year 2038 only.
    let seconds = if fields.wire() == Wire::Ros1 { u64::from(seconds as u32) } else { seconds.max(0) as u64 };
    Ok(seconds * 1_000_000_000 + u64::from(nanoseconds))
}
