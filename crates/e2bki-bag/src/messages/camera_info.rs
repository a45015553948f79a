//! `sensor_msgs/CameraInfo`.

use super::Header;
use crate::wire::{Broken, Read, Reader, Wire};

/// Intrinsics of a camera.
#[derive(Debug, Clone, PartialEq)]
pub struct CameraInfo {
    /// Name of the camera's frame.
    pub frame: String,
    /// Width and height, pixels.
    pub size: [usize; 2],
    /// Name of the distortion model: `plumb_bob`, `rational_polynomial`, `equidistant`, ….
    pub model: String,
    /// Its coefficients.
    pub distortion: Vec<f64>,
    /// Intrinsic matrix of the raw image, by rows.
    pub k: [f64; 9],
    /// Projection matrix of the rectified image, by rows.
    pub p: [f64; 12],
}

impl CameraInfo {
    /// Reads a message.
    pub fn read(wire: Wire, message: &[u8]) -> Read<Self> {
        let mut fields = Reader::new(wire, message)?;
        let header = Header::read(&mut fields)?;
        let (height, width) = (fields.u32()? as usize, fields.u32()? as usize);
        let model = fields.text()?.to_string();
        let distortion = fields.list(8, |f| f.f64())?;
        let k: [f64; 9] = fields.f64s()?;
        fields.f64s::<9>()?; // rectification
        let p: [f64; 12] = fields.f64s()?;
        let finite = k.iter().chain(&p).chain(&distortion).all(|v| v.is_finite());
        if !finite || k[0] <= 0.0 || k[4] <= 0.0 || width == 0 || height == 0 {
            return Err(Broken("the camera is not calibrated: its matrix K has no focal length".into()));
        }
        Ok(Self { frame: header.frame.to_string(), size: [width, height], model, distortion, k, p })
    }
}
