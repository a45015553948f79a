//! A frame with owned arrays: what the sensor saw, what a network said of it, and what is true.

use e2bki::{Frame, LogitKind, Pose, Semantics};

/// Semantics of each point, as a network gave them.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// Evidence of every class, one row per point.
    Evidence(Vec<f32>),
    /// Probability of every class, one row per point.
    Probabilities(Vec<f32>),
    /// Raw outputs of a network, one row per point.
    Logits(Vec<f32>, LogitKind),
    /// One class per point; an id that is no class means unlabelled.
    Labels(Vec<u32>),
}

/// A frame of labelled points.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledFrame {
    /// Points in the sensor's coordinates, metres.
    pub points: Vec<[f32; 3]>,
    /// Their semantics, as a network gave them.
    pub said: Said,
    /// True class of each point; an id that is no class where it is not known.
    pub truth: Vec<u32>,
    /// Pose of the sensor in the world.
    pub world_from_sensor: Pose,
}

impl LabelledFrame {
    /// The frame as a map takes it.
    pub fn borrow(&self) -> Frame<'_> {
        let semantics = match &self.said {
            Said::Evidence(values) => Semantics::Evidence(values),
            Said::Probabilities(values) => Semantics::Probabilities(values),
            Said::Logits(values, kind) => Semantics::Logits { values, kind: *kind },
            Said::Labels(labels) => Semantics::Labels(labels),
        };
        Frame { points: &self.points, semantics, world_from_sensor: self.world_from_sensor, scan: None }
    }

    /// The points whose class is known: where they are in the world, and their class.
    pub(crate) fn labelled_places(&self, classes: usize) -> impl Iterator<Item = ([f64; 3], usize)> {
        let known = move |(point, class): &(&[f32; 3], &u32)| {
            (**class as usize) < classes && point.iter().all(|v| v.is_finite())
        };
        let placed =
            |(point, class): (&[f32; 3], &u32)| (self.world_from_sensor.apply(point.map(f64::from)), *class as usize);
        self.points.iter().zip(&self.truth).filter(known).map(placed)
    }

    /// The frame with only those points whose numbers pass.
    pub fn filtered(&self, classes: usize, mut keep: impl FnMut(usize) -> bool) -> Self {
        let kept: Vec<usize> = (0..self.points.len()).filter(|i| keep(*i)).collect();
        let rows = |values: &[f32]| -> Vec<f32> {
            kept.iter().filter_map(|i| values.get(i * classes..(i + 1) * classes)).flatten().copied().collect()
        };
        let column = |values: &[u32]| -> Vec<u32> { kept.iter().filter_map(|i| values.get(*i)).copied().collect() };
        Self {
            points: kept.iter().map(|i| self.points[*i]).collect(),
            said: match &self.said {
                Said::Evidence(values) => Said::Evidence(rows(values)),
                Said::Probabilities(values) => Said::Probabilities(rows(values)),
                Said::Logits(values, kind) => Said::Logits(rows(values), *kind),
                Said::Labels(labels) => Said::Labels(column(labels)),
            },
            truth: column(&self.truth),
            world_from_sensor: self.world_from_sensor,
        }
    }

    /// The class the network gives a point, and how sure it is: 1 − C/Σα of evidence, the probability itself (of
    /// logits, by softmax), or 1 of a hard label. Nothing where it has no opinion.
    pub fn opinion(&self, point: usize, classes: usize) -> Option<(usize, f64)> {
        let row = |values: &'_ [f32]| values.get(point * classes..(point + 1) * classes).map(<[f32]>::to_vec);
        let first_largest = |row: &[f32]| (0..row.len()).fold(0, |best, c| if row[c] > row[best] { c } else { best });
        match &self.said {
            Said::Evidence(values) => {
                let row = row(values)?;
                let sum: f64 = row.iter().map(|v| f64::from(v.max(0.0))).sum();
                let sure = sum / (sum + classes as f64);
                sure.is_finite().then(|| (first_largest(&row), sure))
            }
            Said::Probabilities(values) => {
                let row = row(values)?;
                let label = first_largest(&row);
                let sure = f64::from(row[label]);
                sure.is_finite().then(|| (label, sure.clamp(0.0, 1.0)))
            }
            Said::Logits(values, _) => {
                let row = row(values)?;
                let label = first_largest(&row);
                let total: f64 = row.iter().map(|v| f64::from(v - row[label]).exp()).sum();
                total.is_finite().then(|| (label, 1.0 / total))
            }
            Said::Labels(labels) => labels.get(point).map(|l| *l as usize).filter(|l| *l < classes).map(|l| (l, 1.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(said: Said) -> LabelledFrame {
        let points = vec![[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [3.0, 0.0, 0.0]];
        LabelledFrame { points, said, truth: vec![0, 1, 9], world_from_sensor: Pose::IDENTITY }
    }

    #[test]
    fn opinions_follow_the_form_of_the_semantics() {
        let evidence = frame(Said::Evidence(vec![6.0, 0.0, 1.0, 1.0, f32::NAN, 0.0]));
        assert_eq!(evidence.opinion(0, 2), Some((0, 0.75)));
        assert_eq!(evidence.opinion(1, 2), Some((0, 0.5)));
        assert_eq!(evidence.opinion(7, 2), None);
        let sure = frame(Said::Probabilities(vec![0.25, 0.75, 0.5, 0.5, 1.0, 0.0]));
        assert_eq!(sure.opinion(0, 2), Some((1, 0.75)));
        let labels = frame(Said::Labels(vec![1, 7, 0]));
        assert_eq!((labels.opinion(0, 2), labels.opinion(1, 2)), (Some((1, 1.0)), None));
    }

    #[test]
    fn filtering_keeps_rows_together() {
        let frame = frame(Said::Evidence(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).filtered(2, |i| i != 1);
        assert_eq!(frame.said, Said::Evidence(vec![1.0, 2.0, 5.0, 6.0]));
        assert_eq!((frame.points.len(), frame.truth), (2, vec![0, 9]));
    }
}
