//! Poses of one frame in the world, by time: a topic of odometry, or a file.

use e2bki::Pose;

use crate::messages::TransformMessage;
use crate::tf::{Transforms, Unknown};

/// Names of the two ends.
const WORLD: &str = "world";
const BODY: &str = "body";

/// Poses of a frame of a tree of transforms, or of the sensor itself.
#[derive(Debug)]
pub struct Track {
    poses: Transforms,
    body: Option<String>,
}

impl Track {
    /// No poses yet. They are those of `body`, a frame that a tree of transforms connects with the sensor, or of the sensor
    /// itself; times may lie so far beyond the first and the last one, seconds.
    pub fn new(body: Option<String>, tolerance_s: f64) -> Self {
        Self { poses: Transforms::new(tolerance_s), body }
    }

    /// Takes a pose.
    pub fn add(&mut self, stamp: u64, pose: Pose) {
        self.poses.add(moved(stamp, pose), false);
    }

    /// Takes a pose of a running robot; see [`Transforms::add_running`].
    pub fn add_running(&mut self, stamp: u64, pose: Pose, keep_s: f64) -> bool {
        self.poses.add_running(moved(stamp, pose), false, keep_s)
    }

    /// The frame whose poses these are, where it is not the sensor.
    pub fn body(&self) -> Option<&str> {
        self.body.as_deref()
    }

    /// Where the sensor was at a time.
    pub fn at(&self, tree: &Transforms, sensor: &str, time: u64) -> Result<Pose, Unknown> {
        let world_from_body = self.poses.look_up(WORLD, BODY, time)?;
        let Some(body) = &self.body else { return Ok(world_from_body) };
        let body_from_sensor = tree.look_up(body, sensor, time)?;
        let pose = world_from_body.after(&body_from_sensor);
        pose.map_err(|_| Unknown::Unconnected(body.clone(), sensor.to_string()))
    }

    /// Whether what is still to come cannot change the answer for a time.
    pub fn settled(&self, tree: &Transforms, sensor: &str, time: u64) -> bool {
        let connected = self.body.as_ref().is_none_or(|body| tree.settled(body, sensor, time));
        connected && self.poses.settled(WORLD, BODY, time)
    }
}

fn moved(stamp: u64, pose: Pose) -> TransformMessage {
    TransformMessage { stamp, parent: WORLD.into(), child: BODY.into(), pose }
}
