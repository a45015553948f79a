//! Messages that say where something is: transforms, odometry, poses.

use e2bki::Pose;

use super::{Header, stamp};
use crate::tf::Quaternion;
use crate::wire::{Broken, Read, Reader, Wire};

/// A transform from `/tf` or `/tf_static`.
#[derive(Debug, Clone, PartialEq)]
pub struct TransformMessage {
    /// Nanoseconds since 1970.
    pub stamp: u64,
    /// Frame in which the child is placed.
    pub parent: String,
    /// Frame that is placed.
    pub child: String,
    /// The motion: parent from child.
    pub pose: Pose,
}

/// A pose with its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Stamped {
    /// Nanoseconds since 1970.
    pub stamp: u64,
    /// Frame in which the pose is given.
    pub frame: String,
    /// Frame whose pose it is, where the message says so.
    pub child: Option<String>,
    /// The pose.
    pub pose: Pose,
}

/// Position and quaternion.
fn rigid(fields: &mut Reader<'_>) -> Read<Pose> {
    let [x, y, z] = fields.f64s()?;
    let [qx, qy, qz, qw] = fields.f64s()?;
    let quaternion = Quaternion::new([qx, qy, qz, qw]);
    let quaternion = quaternion.ok_or_else(|| Broken(format!("{qx} {qy} {qz} {qw} is no rotation")))?;
    Pose::new(quaternion.matrix(), [x, y, z]).map_err(|e| Broken(e.to_string()))
}

/// Transforms of a `tf2_msgs/TFMessage`. Those that are no rigid motions are left out and counted.
pub fn transforms(wire: Wire, message: &[u8]) -> Read<(Vec<TransformMessage>, usize)> {
    let mut fields = Reader::new(wire, message)?;
    let mut wrong = 0;
    let all = fields.list(60, |f| {
        let header = Header::read(f)?;
        let child = f.text()?;
        let at = f.clone();
        let pose = rigid(f);
        if pose.is_err() {
            // The numbers are all there, or the next line fails; only their values are wrong.
            *f = at;
            f.f64s::<7>()?;
            wrong += 1;
        }
        let child = child.strip_prefix('/').unwrap_or(child).to_string();
        let made = |pose| TransformMessage { stamp: header.stamp, parent: header.frame.to_string(), child, pose };
        Ok(pose.ok().map(made))
    })?;
    Ok((all.into_iter().flatten().collect(), wrong))
}

fn stamped(fields: &mut Reader<'_>, child: bool) -> Read<Stamped> {
    let header = Header::read(fields)?;
    let child = if child { Some(fields.text()?).map(|c| c.strip_prefix('/').unwrap_or(c).to_string()) } else { None };
    Ok(Stamped { stamp: header.stamp, frame: header.frame.to_string(), child, pose: rigid(fields)? })
}

/// A `nav_msgs/Odometry`.
pub fn odometry(wire: Wire, message: &[u8]) -> Read<Stamped> {
    stamped(&mut Reader::new(wire, message)?, true)
}

/// A `geometry_msgs/PoseStamped`.
pub fn pose(wire: Wire, message: &[u8]) -> Read<Stamped> {
    stamped(&mut Reader::new(wire, message)?, false)
}

/// A `geometry_msgs/PoseWithCovarianceStamped`.
pub fn pose_with_covariance(wire: Wire, message: &[u8]) -> Read<Stamped> {
    pose(wire, message)
}

/// The poses of a `nav_msgs/Path`.
pub fn path(wire: Wire, message: &[u8]) -> Read<Vec<Stamped>> {
    let mut fields = Reader::new(wire, message)?;
    if wire == Wire::Ros1 {
        fields.u32()?;
    }
    stamp(&mut fields)?;
    fields.text()?;
    fields.list(60, |f| stamped(f, false))
}

/// The time of a `rosgraph_msgs/Clock`, nanoseconds.
pub fn clock(wire: Wire, message: &[u8]) -> Read<u64> {
    stamp(&mut Reader::new(wire, message)?)
}
