//! Where the sensor was at a scan: by transforms or odometry of the running robot, interpolated to the scan's time.

use e2bki::Pose;
use e2bki_bag::wire::{Read, Wire};
use e2bki_bag::{BEYOND_S, Track, Transforms, Unknown, messages};

use crate::scan::Scan;

/// How long transforms are kept, seconds.
const KEEP_S: f64 = 30.0;

/// Frame that odometry speaks of where it does not say so.
const BODY: &str = "base_link";

/// What says where the sensor is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PoseSource {
    /// Transforms from the clouds' frame to this one.
    Tf(String),
    /// Odometry; transforms connect its frame with that of the clouds.
    Odometry,
}

/// All that is known of where things are.
#[derive(Debug)]
pub struct Poses {
    source: PoseSource,
    tree: Transforms,
    track: Option<Track>,
    /// Frame in which odometry is given.
    odometry_frame: Option<String>,
    /// Transforms that are no rigid motions.
    pub not_rigid: u64,
    /// How often a clock jumped back.
    pub jumps: u64,
}

impl Poses {
    /// Nothing is known yet.
    pub fn new(source: PoseSource) -> Self {
        let tree = Transforms::new(BEYOND_S);
        Self { source, tree, track: None, odometry_frame: None, not_rigid: 0, jumps: 0 }
    }

    /// Takes a message of `/tf` or `/tf_static` (`fixed`).
    pub fn transforms(&mut self, message: &[u8], fixed: bool) -> Read<()> {
        let (all, wrong) = messages::transforms(Wire::Cdr, message)?;
        self.not_rigid += wrong as u64;
        for transform in all {
            self.jumps += u64::from(self.tree.add_running(transform, fixed, KEEP_S));
        }
        Ok(())
    }

    /// Takes a `nav_msgs/Odometry`.
    pub fn odometry(&mut self, message: &[u8]) -> Read<()> {
        let told = messages::odometry(Wire::Cdr, message)?;
        let body = told.child.filter(|child| !child.is_empty()).unwrap_or_else(|| BODY.into());
        if self.track.as_ref().is_none_or(|track| track.body() != Some(&body)) {
            self.track = Some(Track::new(Some(body), BEYOND_S));
        }
        self.odometry_frame = Some(told.frame);
        if let Some(track) = &mut self.track {
            self.jumps += u64::from(track.add_running(told.stamp, told.pose, KEEP_S));
        }
        Ok(())
    }

    /// Frame of the map.
    pub fn world(&self) -> &str {
        match &self.source {
            PoseSource::Tf(frame) => frame,
            PoseSource::Odometry => self.odometry_frame.as_deref().unwrap_or("odom"),
        }
    }

    /// Whether what is still to come cannot change where the sensor was during a scan.
    pub fn settled(&self, scan: &Scan) -> bool {
        match (&self.source, &self.track) {
            (PoseSource::Tf(world), _) => self.tree.settled(world, &scan.frame, scan.end),
            (PoseSource::Odometry, Some(track)) => track.settled(&self.tree, &scan.frame, scan.end),
            (PoseSource::Odometry, None) => false,
        }
    }

    /// Where a frame was at a time.
    pub fn at(&self, sensor: &str, time: u64) -> Result<Pose, Unknown> {
        match (&self.source, &self.track) {
            (PoseSource::Tf(world), _) => self.tree.look_up(world, sensor, time),
            (PoseSource::Odometry, Some(track)) => track.at(&self.tree, sensor, time),
            (PoseSource::Odometry, None) => {
                Err(Unknown::Frame { frame: sensor.into(), known: "no odometry yet".into() })
            }
        }
    }

    /// Where a frame of the robot, such as a lidar's, is in another, such as a camera's.
    pub fn between(&self, to: &str, from: &str, time: u64) -> Result<Pose, Unknown> {
        self.tree.look_up(to, from, time)
    }

    /// Whether the sensor moves.
    pub fn moves(&self, sensor: &str) -> bool {
        self.source == PoseSource::Odometry || self.tree.moves(sensor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki_bag::Fields;
    use e2bki_bag::compose;
    use e2bki_bag::messages::{Number, TransformMessage};

    const S: u64 = 1_000_000_000;

    fn scan(stamp: u64) -> Scan {
        let fields = [("x", Number::F32), ("y", Number::F32), ("z", Number::F32), ("t", Number::U32)];
        // One point, measured 50 ms after the stamp.
        let point = [1.0_f32, 2.0, 3.0].map(f32::to_le_bytes).concat();
        let data = [&point[..], &50_000_000_u32.to_le_bytes()].concat();
        Scan::read(&compose::cloud(stamp, "lidar", &fields, 1, &data), 0).unwrap()
    }

    fn tf(stamp: u64, parent: &str, child: &str, x: f64) -> Vec<u8> {
        let pose = Pose::from_translation([x, 0.0, 0.0]).unwrap();
        compose::transforms(&[TransformMessage { stamp, parent: parent.into(), child: child.into(), pose }])
    }

    fn odometry(stamp: u64, child: &str, x: f64) -> Vec<u8> {
        let mut fields = Fields::default();
        fields.header(stamp, "odom").text(child);
        for value in [x, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0] {
            fields.f64(value);
        }
        fields.finish()
    }

    #[test]
    fn a_scan_waits_for_transforms_at_its_end_and_is_interpolated_to_its_stamp() {
        let mut poses = Poses::new(PoseSource::Tf("map".into()));
        poses.transforms(&tf(0, "base", "lidar", 0.5), true).unwrap();
        let (early, late) = (scan(S), scan(2 * S));
        assert!(early.end.abs_diff(S + 50_000_000) <= 1);
        assert!(!poses.settled(&early) && poses.at("lidar", S).is_err());
        for (stamp, x) in [(S / 2, 1.0), (S + 20_000_000, 2.04)] {
            poses.transforms(&tf(stamp, "map", "base", x), false).unwrap();
        }
        assert!(!poses.settled(&early), "its last points are later");
        poses.transforms(&tf(S + S / 2, "map", "base", 3.0), false).unwrap();
        assert!(poses.settled(&early) && !poses.settled(&late));
        assert!((poses.at("lidar", S).unwrap().translation()[0] - 2.5).abs() < 1e-9);
        assert_eq!((poses.world(), poses.moves("lidar"), poses.jumps), ("map", true, 0));
        assert!(poses.transforms(&[1, 2, 3], false).is_err());
        let mut twisted = tf(S + S / 2, "map", "base", 3.0);
        let end = twisted.len();
        twisted[end - 8..].copy_from_slice(&f64::NAN.to_le_bytes());
        poses.transforms(&twisted, false).unwrap();
        assert_eq!(poses.not_rigid, 1);
    }

    #[test]
    fn odometry_is_of_a_body_that_transforms_connect_with_the_sensor() {
        let mut poses = Poses::new(PoseSource::Odometry);
        assert!(!poses.settled(&scan(S)) && poses.at("lidar", S).is_err());
        poses.odometry(&odometry(0, "base", 1.0)).unwrap();
        poses.odometry(&odometry(2 * S, "base", 3.0)).unwrap();
        assert!(!poses.settled(&scan(S)), "nothing connects the two");
        poses.transforms(&tf(0, "base", "lidar", 0.5), true).unwrap();
        assert!(poses.settled(&scan(S)) && !poses.settled(&scan(2 * S)));
        assert_eq!(poses.at("lidar", S).unwrap().translation()[0], 2.5);
        assert_eq!(poses.world(), "odom");
        // Beyond the last pose by less than the tolerance, and by more.
        assert!(poses.at("lidar", 2 * S + 90_000_000).is_ok() && poses.at("lidar", 3 * S).is_err());
        // A recording that begins again.
        poses.odometry(&odometry(10 * S, "base", 0.0)).unwrap();
        poses.odometry(&odometry(0, "base", 0.0)).unwrap();
        assert_eq!(poses.jumps, 1);
    }
}
