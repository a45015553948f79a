//! Pose files: KITTI (12 numbers a line), TUM (time, position, quaternion), KITTI-360 (frame number and 12 or 16
//! numbers), g2o (vertices), PandaSet (JSON). A line that is not right is named.

use std::collections::BTreeMap;

use e2bki::Pose;

use super::Parsed;
use super::g2o::{g2o_poses, is_g2o};
use super::keyed::row;
use super::transforms::{from_quaternion, rigid};
use crate::error::Flaw;

/// Poses of a file, by what its lines say of the frame they belong to.
#[derive(Debug, Clone, PartialEq)]
pub enum PoseRows {
    /// One pose per frame, in order.
    ByLine(Vec<Pose>),
    /// Poses with a frame number each; frames may lack one.
    ByFrame(BTreeMap<u64, Pose>),
    /// Poses with a time each, in order of the file.
    ByTime(Vec<(f64, Pose)>),
}

/// Poses with a frame number each: 13 or 17 numbers a line.
pub fn indexed_poses(text: &str) -> Parsed<BTreeMap<u64, Pose>> {
    match pose_rows(text)? {
        PoseRows::ByFrame(poses) => Ok(poses),
        _ => Err(Flaw::at_line(1, "a frame number and 12 or 16 numbers expected")),
    }
}

/// Poses in whichever of the forms the first line has; `#` starts a comment line.
pub fn pose_rows(text: &str) -> Parsed<PoseRows> {
    let text = text.trim_end();
    if is_g2o(text) {
        return g2o_poses(text).map(PoseRows::ByFrame);
    }
    let mut columns = None;
    let (mut by_line, mut by_frame, mut by_time) = (Vec::new(), BTreeMap::new(), Vec::new());
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with('#') {
            continue;
        }
        let bad = |what: String| Flaw::at_line(i + 1, what);
        if line.trim().is_empty() {
            return Err(bad("is blank, but poses belong to frames by their line".into()));
        }
        let values = row(line).map_err(bad)?;
        let expected = *columns.get_or_insert(values.len());
        if values.len() != expected {
            return Err(bad(format!("{expected} numbers expected as in the first line, {} found", values.len())));
        }
        let at_line = |flaw: Flaw| bad(flaw.what);
        match values.len() {
            12 => by_line.push(rigid(&values).map_err(at_line)?),
            13 | 17 => {
                let frame = values[0];
                if frame < 0.0 || frame.fract() != 0.0 || frame > 1e15 {
                    return Err(bad(format!("`{frame}` is not a frame number")));
                }
                let pose = rigid(&values[1..]).map_err(at_line)?;
                if by_frame.insert(frame as u64, pose).is_some() {
                    return Err(bad(format!("frame {frame} has a second pose")));
                }
            }
            8 => {
                let [time, x, y, z, qx, qy, qz, qw] = values[..] else { continue };
                by_time.push((time, from_quaternion([qw, qx, qy, qz], [x, y, z]).map_err(at_line)?));
            }
            other => {
                return Err(bad(format!(
                    "{other} numbers; a pose has 12 (KITTI), 8 (TUM: time x y z qx qy qz qw), or 13 or 17 with a frame number"
                )));
            }
        }
    }
    match columns {
        None => Err(Flaw::new("holds no poses")),
        Some(12) => Ok(PoseRows::ByLine(by_line)),
        Some(8) => Ok(PoseRows::ByTime(by_time)),
        Some(_) => Ok(PoseRows::ByFrame(by_frame)),
    }
}

#[derive(serde::Deserialize)]
struct PandaPose {
    position: PandaVector,
    heading: PandaQuaternion,
}

#[derive(serde::Deserialize)]
struct PandaVector {
    x: f64,
    y: f64,
    z: f64,
}

#[derive(serde::Deserialize)]
struct PandaQuaternion {
    w: f64,
    x: f64,
    y: f64,
    z: f64,
}

/// PandaSet's `poses.json`: a list of positions and headings.
pub fn pandaset_poses(text: &str) -> Parsed<Vec<Pose>> {
    let rows: Vec<PandaPose> =
        serde_json::from_str(text).map_err(|error| Flaw::at_line(error.line(), error.to_string()))?;
    let pose = |(i, p): (usize, &PandaPose)| {
        let q = [p.heading.w, p.heading.x, p.heading.y, p.heading.z];
        from_quaternion(q, [p.position.x, p.position.y, p.position.z])
            .map_err(|flaw| Flaw::new(format!("pose {i}: {}", flaw.what)))
    };
    rows.iter().enumerate().map(pose).collect()
}
