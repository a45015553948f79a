//! Learned confusion: what a source means by what it says, its evidence shared out over the classes it mixes up.

use rayon::prelude::*;

use crate::input::EvidentialPoints;
use crate::maths::argmax;

impl EvidentialPoints {
    /// Gives every class its share of the evidence for each class that was said. The sum of a point's odds stays, and
    /// with it its uncertainty; labels follow.
    pub(super) fn apply_confusion(&mut self, confusion: &[Vec<f32>]) {
        if confusion.is_empty() {
            return;
        }
        let classes = self.classes;
        let mut labels = vec![0_u16; self.odds.len() / classes];
        let rows = self.odds.par_chunks_mut(classes).zip(&mut labels).with_min_len(1024);
        rows.for_each_init(
            || vec![0.0; classes],
            |said, (odds, label)| {
                said.copy_from_slice(odds);
                odds.fill(0.0);
                for (said, shares) in said.iter().zip(confusion).filter(|(said, _)| **said > 0.0) {
                    odds.iter_mut().zip(shares).for_each(|(odds, share)| *odds += said * share);
                }
                *label = argmax(odds) as u16;
            },
        );
        self.relabel(labels);
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Confusion;
    use crate::{Config, EvidentialPoints, Frame, Pose, Semantics};

    fn points(semantics: Semantics<'_>, config: &Config) -> crate::Result<EvidentialPoints> {
        let points = [[2.0, 0.1, 0.1], [2.1, 0.1, 0.1], [9.0, 0.1, 0.1]];
        let frame = Frame { points: &points, semantics, world_from_sensor: Pose::IDENTITY, scan: None };
        Ok(EvidentialPoints::from_frame(&frame, 3, config)?.0)
    }

    #[test]
    fn evidence_is_shared_out_and_none_is_lost() {
        let rows = vec![vec![0.2, 0.8, 0.0], vec![0.0, 1.0, 0.0], vec![0.5, 0.0, 0.5]];
        let plain = Config::default().with(|c| c.input.context = 0.0);
        let learned = plain.clone().with(|c| c.input.confusion = Confusion::new(rows.clone()));
        let evidence = [6.0, 1.0, 0.5, 0.0, 3.0, 0.0, 1.0, 1.0, 7.0];
        for semantics in [Semantics::Evidence(&evidence), Semantics::Labels(&[0, 0, 2])] {
            let (a, b) = (points(semantics, &plain).unwrap(), points(semantics, &learned).unwrap());
            for i in 0..3 {
                let meant = |t: usize| (0..3).map(|k| a.odds(i)[k] * rows[k][t]).sum::<f32>();
                assert!((0..3).all(|t| (b.odds(i)[t] - meant(t)).abs() < 1e-5));
                assert!((a.uncertainty(i) - b.uncertainty(i)).abs() < 1e-6);
            }
            assert_eq!((a.label[0], b.label[0]), (0, 1), "a class that is mostly another one");
        }
    }

    #[test]
    fn a_confusion_of_other_classes_is_refused() {
        let config =
            Config::default().with(|c| c.input.confusion = Confusion::new(vec![vec![1.0, 0.0], vec![0.0, 1.0]]));
        let message = points(Semantics::Labels(&[0, 1, 2]), &config).unwrap_err().to_string();
        assert!(message.contains("confusion") && message.contains("3 × 3"), "{message}");
    }
}
