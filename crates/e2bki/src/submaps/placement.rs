//! Where a submap is: moved as one piece, or along with its frames.

use super::part::Part;
use super::record::SubmapFrame;
use crate::error::Result;
use crate::pose::Pose;

/// Where a submap is by the latest correction.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    /// The pose of its first frame.
    pub pose: Pose,
    /// Corrected poses of its frames by their numbers in the submap, ascending, if they were corrected one by one. What
    /// was seen in between moves by what lies between their motions, so that drift within the submap is corrected too.
    pub frames: Vec<(u32, Pose)>,
    /// Whether what is moved from cubes to cubes is cut like anything else, as it was before version 3 of the files.
    pub cut: bool,
}

impl Placement {
    /// Moved as one piece, with its first frame there.
    pub fn rigid(pose: Pose) -> Self {
        Self { pose, frames: Vec::new(), cut: false }
    }

    /// Moved along with corrected frames, of which there is at least one: (number in the submap, corrected pose).
    pub(super) fn along(anchor: &Pose, inserted: &[SubmapFrame], frames: Vec<(u32, Pose)>) -> Result<Self> {
        let was = |number: u32| inserted.get(number as usize).map_or(*anchor, |frame| frame.world_from_sensor);
        // To the bit where nothing was corrected.
        if frames.iter().all(|(number, pose)| *pose == was(*number)) {
            return Ok(Self::rigid(*anchor));
        }
        let pose = match frames.first() {
            Some((number, pose)) => pose.after(&was(*number).inverse())?.after(anchor)?,
            None => *anchor,
        };
        Ok(Self { pose, frames, cut: false })
    }

    /// The same after a motion of the world.
    pub(super) fn moved(&self, motion: &Pose) -> Result<Self> {
        let frames = self.frames.iter().map(|(number, pose)| Ok((*number, motion.after(pose)?)));
        Ok(Self { pose: motion.after(&self.pose)?, frames: frames.collect::<Result<_>>()?, cut: false })
    }

    /// The motion of the whole, as far as it has one: that of the middle one of the corrected frames.
    pub(super) fn motion(&self, anchor: &Pose, inserted: &[SubmapFrame]) -> Result<Pose> {
        let middle = self.frames.get(self.frames.len() / 2);
        let known = middle.and_then(|(number, pose)| Some((inserted.get(*number as usize)?, pose)));
        match known {
            Some((frame, pose)) => pose.after(&frame.world_from_sensor.inverse()),
            None => self.pose.after(&anchor.inverse()),
        }
    }

    /// The motions by which a part is moved: of one piece where it does not know when it was seen.
    pub(super) fn motions(&self, anchor: &Pose, inserted: &[SubmapFrame], part: &Part) -> Result<Motions> {
        if !part.knows_frames() || self.frames.is_empty() {
            return Ok(Motions(vec![(0.0, self.motion(anchor, inserted)?)]));
        }
        let known =
            self.frames.iter().filter_map(|(number, pose)| Some((number, pose, inserted.get(*number as usize)?)));
        let motion = |(number, pose, frame): (&u32, &Pose, &SubmapFrame)| {
            Ok((f64::from(*number), pose.after(&frame.world_from_sensor.inverse())?))
        };
        let motions = known.map(motion).collect::<Result<Vec<_>>>()?;
        if motions.is_empty() { Ok(Motions(vec![(0.0, self.motion(anchor, inserted)?)])) } else { Ok(Motions(motions)) }
    }
}

/// Motions at numbers of frames, ascending; at least one.
#[derive(Debug, Clone)]
pub(super) struct Motions(Vec<(f64, Pose)>);

impl Motions {
    pub(super) fn all(&self) -> impl Iterator<Item = &Pose> {
        self.0.iter().map(|(_, motion)| motion)
    }

    /// The motions before and after a frame, which may lie between two frames, and the share of the second.
    pub(super) fn at(&self, frame: f64) -> (&Pose, &Pose, f64) {
        let after = self.0.partition_point(|(number, _)| *number <= frame).min(self.0.len() - 1);
        let before = after.saturating_sub(usize::from(self.0[after].0 > frame));
        let ((from, a), (to, b)) = (&self.0[before], &self.0[after]);
        (a, b, if to > from { ((frame - from) / (to - from)).clamp(0.0, 1.0) } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_frames_lies_their_mean() {
        let shift = |x: f64| Pose::from_translation([x, 0.0, 0.0]).unwrap();
        let motions = Motions(vec![(2.0, shift(1.0)), (4.0, shift(2.0)), (8.0, shift(6.0))]);
        let x = |frame: f64| {
            let (a, b, share) = motions.at(frame);
            a.translation()[0] * (1.0 - share) + b.translation()[0] * share
        };
        let found = [0.0, 2.0, 3.0, 4.0, 5.0, 8.0, 9.0].map(x);
        assert_eq!(found, [1.0, 1.0, 1.5, 2.0, 3.0, 6.0, 6.0]);
    }
}
