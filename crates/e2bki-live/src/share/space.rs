//! What a robot counted of free space in a region, as bytes: exact, and the same bytes for the same counts.

use e2bki::free::Counters;

use super::bytes::{Read, Reader, Unreadable};

/// The counts of a region.
pub(super) fn encode(counters: &Counters) -> Vec<u8> {
    counters.to_bytes()
}

/// Counts, checked: those of this region, in the one form that they have.
pub(super) fn decode(bytes: &[u8], region: [i32; 3]) -> Read<Counters> {
    let counters = Counters::from_bytes(bytes).ok().filter(|counters| counters.is_of_region(region));
    counters.ok_or(Unreadable("counts of free space are none that a map could hold"))
}

/// Frames that counts say they are of, without reading all of them.
pub(super) fn frames(bytes: &[u8]) -> Option<u64> {
    // After the version.
    Reader(bytes.get(1..)?).count().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::Pose;
    use e2bki::free::{Sensor, Settings, Sight};

    #[test]
    fn counts_come_back_and_say_their_frames() {
        let sensor = Sensor::uniform(16, 15.0, -15.0, 90).unwrap();
        let at = |i: usize| {
            let (elevation, azimuth) = (sensor.elevations()[i % 16], 0.0698 * (i / 16) as f32);
            [6.0 * elevation.cos() * azimuth.cos(), 6.0 * elevation.cos() * azimuth.sin(), 6.0 * elevation.sin()]
        };
        let points: Vec<[f32; 3]> = (0..16 * 90).map(at).collect();
        let mut counters = Counters::default();
        for k in 0..200 {
            let pose = Pose::from_translation([0.01 * f64::from(k), 0.0, 0.0]).unwrap();
            let sight = Sight::new(&sensor, &points, None, &pose, &Settings::default()).unwrap();
            counters.add(&sight.at_time(f64::from(k))).unwrap();
        }
        let part = counters.in_region([0, 0, 0]);
        let bytes = encode(&part);
        assert!(part.frames() > 127 && frames(&bytes) == Some(part.frames()));
        assert_eq!(decode(&bytes, [0, 0, 0]), Ok(part));
        assert!(decode(&bytes, [0, 0, 1]).is_err() && decode(&encode(&counters), [0, 0, 0]).is_err());
        assert_eq!(decode(&encode(&Counters::default()), [5, 0, 0]), Ok(Counters::default()));
    }
}
