//! Pose graphs in g2o's text: only where its vertices are.

use std::collections::BTreeMap;

use e2bki::Pose;

use super::Parsed;
use super::keyed::row;
use super::transforms::from_quaternion;
use crate::error::Flaw;

/// What a line with a pose begins with.
const VERTEX: &str = "VERTEX_SE3:QUAT";

/// Whether a text is a pose graph.
pub(super) fn is_g2o(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(VERTEX))
}

/// The poses of the vertices by their numbers: `VERTEX_SE3:QUAT id x y z qx qy qz qw`. Edges and whatever else an
/// optimiser writes are passed over.
pub(super) fn g2o_poses(text: &str) -> Parsed<BTreeMap<u64, Pose>> {
    let mut poses = BTreeMap::new();
    for (i, line) in text.lines().enumerate() {
        let bad = |what: String| Flaw::at_line(i + 1, what);
        let mut words = line.split_whitespace();
        if words.next() != Some(VERTEX) {
            continue;
        }
        let number = words.next().and_then(|word| word.parse::<u64>().ok());
        let number = number.ok_or_else(|| bad("a vertex has no number".into()))?;
        let values = row(&words.collect::<Vec<&str>>().join(" ")).map_err(bad)?;
        let [x, y, z, qx, qy, qz, qw] = values[..] else {
            return Err(bad(format!("{} numbers after that of the vertex; x y z qx qy qz qw are 7", values.len())));
        };
        let pose = from_quaternion([qw, qx, qy, qz], [x, y, z]).map_err(|flaw| bad(flaw.what))?;
        if poses.insert(number, pose).is_some() {
            return Err(bad(format!("vertex {number} is there twice")));
        }
    }
    Ok(poses)
}

#[cfg(test)]
mod tests {
    use super::super::{PoseRows, pose_rows};

    #[test]
    fn vertices_are_poses_and_the_rest_is_passed_over() {
        let text = "# a graph\nVERTEX_SE3:QUAT 7 1 2 3 0 0 0 1\nFIX 7\n\
            VERTEX_SE3:QUAT 3 0 0 0 0 0 0.7071067811865476 0.7071067811865476\n\
            EDGE_SE3:QUAT 3 7 1 0 0 0 0 0 1 1 0 0 0 0 0 1 0 0 0 0 1 0 0 0 1 0 0 1 0 1\n";
        let PoseRows::ByFrame(poses) = pose_rows(text).unwrap() else { panic!("not by number") };
        assert_eq!(poses.keys().copied().collect::<Vec<_>>(), [3, 7]);
        assert_eq!(poses[&7].translation(), [1.0, 2.0, 3.0]);
        let turned = poses[&3].apply([1.0, 0.0, 0.0]);
        assert!((turned[1] - 1.0).abs() < 1e-12 && turned[0].abs() < 1e-12);
    }

    #[test]
    fn bad_vertices_are_named_by_their_line() {
        let good = "VERTEX_SE3:QUAT 0 0 0 0 0 0 0 1\n";
        for (bad, why) in [
            ("VERTEX_SE3:QUAT x 0 0 0 0 0 0 1", "no number"),
            ("VERTEX_SE3:QUAT 1 0 0 0 0 0 1", "are 7"),
            ("VERTEX_SE3:QUAT 1 0 0 nan 0 0 0 1", "not finite"),
            ("VERTEX_SE3:QUAT 1 0 0 0 0 0 0 0", "not a rotation"),
            ("VERTEX_SE3:QUAT 0 0 0 0 0 0 0 1", "twice"),
        ] {
            let flaw = pose_rows(&format!("{good}{bad}\n")).unwrap_err();
            assert!(flaw.to_string().contains(why), "{bad}: {flaw}");
            assert!(flaw.to_string().contains('2'), "{flaw}");
        }
    }
}
