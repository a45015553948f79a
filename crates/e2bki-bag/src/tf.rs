//! The tree of coordinate frames: where each was, by time.

mod running;

use std::collections::BTreeMap;

use e2bki::Pose;

use crate::messages::TransformMessage;

/// A rotation as a unit quaternion x, y, z, w.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quaternion([f64; 4]);

impl Quaternion {
    /// From four numbers, which are brought to length 1; nothing if they are no rotation.
    pub fn new(values: [f64; 4]) -> Option<Self> {
        let length = values.iter().map(|v| v * v).sum::<f64>().sqrt();
        (length.is_finite() && length > 1e-3).then(|| Self(values.map(|v| v / length)))
    }

    /// The rotation matrix, by rows.
    pub fn matrix(&self) -> [[f64; 3]; 3] {
        let [x, y, z, w] = self.0;
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
        ]
    }

    /// The quaternion of a rotation matrix.
    pub fn of_matrix(m: [[f64; 3]; 3]) -> Self {
        // The largest of the four squares is at least 1/4, so that nothing is divided by a small number.
        let squares = [
            1.0 + m[0][0] - m[1][1] - m[2][2],
            1.0 - m[0][0] + m[1][1] - m[2][2],
            1.0 - m[0][0] - m[1][1] + m[2][2],
            1.0 + m[0][0] + m[1][1] + m[2][2],
        ];
        let largest = (0..4).fold(0, |best, i| if squares[i] > squares[best] { i } else { best });
        let r = squares[largest].max(1e-12).sqrt();
        let s = 0.5 / r;
        let [xy, xz, yz] = [(m[0][1] + m[1][0]) * s, (m[0][2] + m[2][0]) * s, (m[1][2] + m[2][1]) * s];
        let [wx, wy, wz] = [(m[2][1] - m[1][2]) * s, (m[0][2] - m[2][0]) * s, (m[1][0] - m[0][1]) * s];
        let half = 0.5 * r;
        let values = match largest {
            0 => [half, xy, xz, wx],
            1 => [xy, half, yz, wy],
            2 => [xz, yz, half, wz],
            _ => [wx, wy, wz, half],
        };
        Self::new(values).unwrap_or(Self([0.0, 0.0, 0.0, 1.0]))
    }

    /// x, y, z, w.
    pub fn values(&self) -> [f64; 4] {
        self.0
    }

    /// A share of the shortest way to another, at constant speed.
    fn slerp(&self, other: &Self, share: f64) -> Self {
        let dot: f64 = (0..4).map(|i| self.0[i] * other.0[i]).sum();
        let (sign, dot) = if dot < 0.0 { (-1.0, -dot) } else { (1.0, dot) };
        let angle = dot.min(1.0).acos();
        let (a, b) = if angle < 1e-6 {
            (1.0 - share, share)
        } else {
            (((1.0 - share) * angle).sin() / angle.sin(), (share * angle).sin() / angle.sin())
        };
        Self::new(std::array::from_fn(|i| a * self.0[i] + sign * b * other.0[i])).unwrap_or(*self)
    }
}

/// The pose a share of the way from one to another: straight, and turning at constant speed.
pub fn interpolate(from: &Pose, to: &Pose, share: f64) -> Pose {
    let turn = Quaternion::of_matrix(from.rotation()).slerp(&Quaternion::of_matrix(to.rotation()), share);
    let (a, b) = (from.translation(), to.translation());
    let place = std::array::from_fn(|i| a[i] + share * (b[i] - a[i]));
    // Both ends are poses, and so is what lies between them.
    Pose::new(turn.matrix(), place).unwrap_or(*from)
}

/// Why a frame's place at a time is not known.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unknown {
    /// No transform ever named the frame.
    #[error("no transform names the frame `{frame}`; there are {known}")]
    Frame {
        /// The frame.
        frame: String,
        /// Frames that are named.
        known: String,
    },
    /// The frames are in different trees.
    #[error("`{0}` and `{1}` are not connected by transforms")]
    Unconnected(String, String),
    /// The time is before the first or after the last transform of a frame.
    #[error("no transform of `{frame}` within {away_s:.3} s of the wanted time")]
    Time {
        /// The frame.
        frame: String,
        /// How far the nearest one is away, seconds.
        away_s: f64,
    },
    /// The transforms before and after the time are too far apart to know what was between them.
    #[error("the transforms of `{frame}` before and after the wanted time are {gap_s:.1} s apart")]
    Gap {
        /// The frame.
        frame: String,
        /// How far they are apart, seconds.
        gap_s: f64,
    },
}

/// How far beyond the first and last transform or pose a scan may lie, seconds, for whoever has no better idea.
pub const BEYOND_S: f64 = 0.1;

/// Longest time between two transforms that is bridged, nanoseconds; longer where nothing moved.
const LONGEST_GAP_NS: u64 = 2_000_000_000;

#[derive(Debug, Default)]
struct Edge {
    parent: String,
    fixed: Option<Pose>,
    /// By time; a later message of the same time replaces an earlier one.
    moving: BTreeMap<u64, Pose>,
}

/// All transforms of a recording.
#[derive(Debug, Default)]
pub struct Transforms {
    edges: BTreeMap<String, Edge>,
    /// How far beyond the first and last transform a time may lie, nanoseconds.
    tolerance: u64,
    out_of_order: usize,
    moved_to_other_parents: usize,
}

impl Transforms {
    /// No transforms yet; times may lie so far beyond the first and the last one, seconds.
    pub fn new(tolerance_s: f64) -> Self {
        Self { tolerance: (tolerance_s * 1e9) as u64, ..Self::default() }
    }

    /// Takes a transform of `/tf`, or of `/tf_static` (`fixed`).
    pub fn add(&mut self, message: TransformMessage, fixed: bool) {
        let edge = self.edges.entry(message.child).or_default();
        if edge.parent != message.parent {
            self.moved_to_other_parents += usize::from(!edge.parent.is_empty());
            // A frame that was given another parent: what was known of it is of another tree.
            *edge = Edge { parent: message.parent, ..Edge::default() };
        }
        if fixed {
            edge.fixed = Some(message.pose);
        } else {
            let last = edge.moving.last_key_value().map_or(0, |(stamp, _)| *stamp);
            self.out_of_order += usize::from(message.stamp < last);
            edge.moving.insert(message.stamp, message.pose);
        }
    }

    /// Transforms that came after later ones of the same frame: delays, or a clock that jumped back.
    pub fn out_of_order(&self) -> usize {
        self.out_of_order
    }

    /// How often a frame was given another parent; what was known of it before is forgotten.
    pub fn moved_to_other_parents(&self) -> usize {
        self.moved_to_other_parents
    }

    /// Whether any transform between a frame and the root of its tree changes with time.
    pub fn moves(&self, frame: &str) -> bool {
        let moving =
            |name: &&str| self.edges.get(*name).is_some_and(|edge| edge.fixed.is_none() && edge.moving.len() > 1);
        self.names_to_root(frame).iter().any(moving)
    }

    /// Whether a transform names the frame.
    pub fn knows(&self, frame: &str) -> bool {
        self.edges.contains_key(frame) || self.edges.values().any(|edge| edge.parent == frame)
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// Names of all frames.
    pub fn frames(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.edges.iter().flat_map(|(child, edge)| [child.as_str(), edge.parent.as_str()]).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The frame at the root of the tree that holds another.
    pub fn root_of<'a>(&'a self, frame: &'a str) -> &'a str {
        let mut at = frame;
        // No tree is deeper than it has edges, so that a ring of frames ends too.
        for _ in 0..=self.edges.len() {
            match self.edges.get(at) {
                Some(edge) => at = &edge.parent,
                None => break,
            }
        }
        at
    }

    fn edge_at(&self, child: &str, edge: &Edge, time: u64) -> Result<Pose, Unknown> {
        if let Some(pose) = edge.fixed {
            return Ok(pose);
        }
        let (before, after) = (edge.moving.range(..=time).next_back(), edge.moving.range(time..).next());
        let late = |away: u64| Unknown::Time { frame: child.into(), away_s: away as f64 * 1e-9 };
        match (before, after) {
            (Some((a, from)), Some((b, to))) => {
                if b - a > LONGEST_GAP_NS && from != to {
                    return Err(Unknown::Gap { frame: child.into(), gap_s: (b - a) as f64 * 1e-9 });
                }
                Ok(if a == b { *from } else { interpolate(from, to, (time - a) as f64 / (b - a) as f64) })
            }
            (Some((at, pose)), None) | (None, Some((at, pose))) => {
                let away = at.abs_diff(time);
                if away <= self.tolerance { Ok(*pose) } else { Err(late(away)) }
            }
            (None, None) => Err(late(u64::MAX)),
        }
    }

    /// The motion from one frame to another at a time, nanoseconds: `target from source`.
    pub fn look_up(&self, target: &str, source: &str, time: u64) -> Result<Pose, Unknown> {
        for frame in [target, source] {
            if target != source && !self.knows(frame) {
                return Err(Unknown::Frame { frame: frame.into(), known: self.frames().join(", ") });
            }
        }
        // Only what lies between the two frames matters: a late transform above both is no obstacle.
        let (up, down) = (self.names_to_root(source), self.names_to_root(target));
        let Some(common) = up.iter().find(|name| down.contains(name)) else {
            return Err(Unknown::Unconnected(target.into(), source.into()));
        };
        let common_from_source = self.up_to(source, common, time)?;
        let common_from_target = self.up_to(target, common, time)?;
        let pose = common_from_target.inverse().after(&common_from_source);
        pose.map_err(|_| Unknown::Unconnected(target.into(), source.into()))
    }

    fn names_to_root<'a>(&'a self, frame: &'a str) -> Vec<&'a str> {
        let mut names = vec![frame];
        let mut at = frame;
        while let Some(edge) = self.edges.get(at).filter(|_| names.len() <= self.edges.len()) {
            at = &edge.parent;
            names.push(at);
        }
        names
    }

    fn up_to(&self, frame: &str, ancestor: &str, time: u64) -> Result<Pose, Unknown> {
        let (mut at, mut pose) = (frame, Pose::IDENTITY);
        while at != ancestor {
            let Some(edge) = self.edges.get(at) else { break };
            let step = self.edge_at(at, edge, time)?.after(&pose);
            pose = step.map_err(|_| Unknown::Unconnected(frame.into(), ancestor.into()))?;
            at = &edge.parent;
        }
        Ok(pose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(stamp: u64, parent: &str, child: &str, yaw: f64, x: f64) -> TransformMessage {
        let (s, c) = yaw.sin_cos();
        let pose = Pose::new([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [x, 0.0, 0.0]).unwrap();
        TransformMessage { stamp, parent: parent.into(), child: child.into(), pose }
    }

    fn close(a: &Pose, b: &Pose) -> bool {
        let flat =
            |p: &Pose| -> Vec<f64> { p.rotation().as_flattened().iter().copied().chain(p.translation()).collect() };
        flat(a).iter().zip(flat(b)).all(|(a, b)| (a - b).abs() < 1e-9)
    }

    #[test]
    fn transforms_are_interpolated_chained_and_inverted() {
        let mut tree = Transforms::new(0.05);
        tree.add(at(0, "base", "lidar", 0.0, 0.5), true);
        tree.add(at(0, "base", "camera", 1.0, 0.0), true);
        tree.add(at(2_000_000_000, "odom", "base", 1.0, 4.0), false);
        tree.add(at(1_000_000_000, "odom", "base", 0.0, 2.0), false);
        let half = tree.look_up("odom", "lidar", 1_500_000_000).unwrap();
        let base = at(0, "", "", 0.5, 3.0).pose;
        assert!(close(&half, &base.after(&at(0, "", "", 0.0, 0.5).pose).unwrap()));
        let back = tree.look_up("lidar", "odom", 1_500_000_000).unwrap();
        assert!(close(&back, &half.inverse()));
        // Two sensors on one body need no odometry, at whatever time.
        assert!(tree.look_up("camera", "lidar", 99_000_000_000).is_ok());
        assert!(tree.look_up("odom", "lidar", 2_040_000_000).is_ok());
        assert!(matches!(tree.look_up("odom", "lidar", 2_100_000_000), Err(Unknown::Time { .. })));
        assert!(matches!(tree.look_up("map", "lidar", 0), Err(Unknown::Frame { .. })));
        tree.add(at(5_000_000_000, "odom", "base", 1.0, 9.0), false);
        assert!(matches!(tree.look_up("odom", "lidar", 3_000_000_000), Err(Unknown::Gap { .. })));
        tree.add(at(1_500_000_000, "odom", "base", 0.5, 3.0), false);
        assert_eq!((tree.out_of_order(), tree.moves("lidar"), tree.moves("odom")), (2, true, false));
        tree.add(at(0, "elsewhere", "other", 0.0, 0.0), true);
        assert!(matches!(tree.look_up("other", "lidar", 0), Err(Unknown::Unconnected(..))));
        assert_eq!(tree.root_of("lidar"), "odom");
    }

    #[test]
    fn a_ring_of_frames_ends() {
        let mut tree = Transforms::new(0.0);
        for (parent, child) in [("a", "b"), ("b", "c"), ("c", "a")] {
            tree.add(at(0, parent, child, 0.0, 1.0), true);
        }
        tree.root_of("a");
        tree.look_up("a", "c", 0).ok();
        tree.add(at(0, "x", "y", 0.0, 1.0), true);
        assert!(tree.look_up("x", "c", 0).is_err());
    }

    #[test]
    fn quaternions_survive_matrices() {
        for k in 0..200 {
            let t = f64::from(k) * 0.37;
            let q = Quaternion::new([t.sin(), (2.0 * t).cos(), (3.0 * t).sin(), (0.7 * t).cos() - 0.5]).unwrap();
            let back = Quaternion::of_matrix(q.matrix());
            let dot: f64 = (0..4).map(|i| q.values()[i] * back.values()[i]).sum();
            assert!((dot.abs() - 1.0).abs() < 1e-9);
        }
        assert!(Quaternion::new([0.0; 4]).is_none() && Quaternion::new([f64::NAN, 0.0, 0.0, 1.0]).is_none());
    }
}
