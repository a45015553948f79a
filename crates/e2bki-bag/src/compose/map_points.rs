//! Points of a map, as voxels and primitives are sent: place, colour for viewers, class, its probability, uncertainty.

use crate::messages::Number;

/// Fields of every point.
const FIELDS: [(&str, Number); 7] = [
    ("x", Number::F32),
    ("y", Number::F32),
    ("z", Number::F32),
    ("rgb", Number::U32),
    ("class", Number::U16),
    ("p", Number::F32),
    ("u", Number::F32),
];

/// Bytes of a point.
pub const MAP_POINT_BYTES: usize = 26;

/// A point of a map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapPoint {
    /// Place in the frame of the message, metres.
    pub place: [f64; 3],
    /// Red, green, blue.
    pub color: [u8; 3],
    /// Most likely class.
    pub class: usize,
    /// Its probability.
    pub p: f64,
    /// Uncertainty.
    pub u: f64,
}

impl MapPoint {
    /// The point as it is sent.
    pub fn bytes(&self) -> [u8; MAP_POINT_BYTES] {
        let mut bytes = [0; MAP_POINT_BYTES];
        for axis in 0..3 {
            bytes[4 * axis..][..4].copy_from_slice(&(self.place[axis] as f32).to_le_bytes());
        }
        let [r, g, b] = self.color;
        bytes[12..16].copy_from_slice(&[b, g, r, 0]);
        bytes[16..18].copy_from_slice(&(self.class as u16).to_le_bytes());
        bytes[18..22].copy_from_slice(&(self.p as f32).to_le_bytes());
        bytes[22..].copy_from_slice(&(self.u as f32).to_le_bytes());
        bytes
    }
}

/// A cloud of points of a map, one after another in `points`.
pub fn map_points(stamp: u64, frame: &str, points: &[u8]) -> Vec<u8> {
    super::cloud(stamp, frame, &FIELDS, points.len() / MAP_POINT_BYTES, points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::Cloud;
    use crate::wire::Wire;

    #[test]
    fn points_are_read_as_they_were_sent() {
        let point = MapPoint { place: [1.0, -2.0, 0.5], color: [1, 2, 3], class: 300, p: 0.75, u: 0.125 };
        assert_eq!(FIELDS.iter().map(|(_, number)| number.size()).sum::<usize>(), MAP_POINT_BYTES);
        let message = map_points(7, "map", &[point.bytes(), point.bytes()].concat());
        let cloud = Cloud::read(Wire::Cdr, &message).unwrap();
        assert_eq!((cloud.len(), cloud.header.stamp, cloud.header.frame), (2, 7, "map"));
        let value = |name: &str| cloud.column(cloud.field(&[name]).unwrap()).nth(1).unwrap();
        assert_eq!(["x", "y", "z", "class", "p", "u"].map(value), [1.0, -2.0, 0.5, 300.0, 0.75, 0.125]);
        assert_eq!(value("rgb"), f64::from(0x01_02_03));
    }
}
