//! How far mistakes are shared: the correlation between the errors of two points that a network saw in one cube and that
//! are of one true class, where both come from one frame, from two frames of one pass, and from two passes.

use e2bki_eval::LabelledFrame;
use rustc_hash::FxHashMap;

/// Side of the cubes, metres: that of the default's primitives.
const SIDE_M: f64 = 0.25;

/// Points of a true class in a cube, of one frame.
#[derive(Debug, Clone, Copy)]
struct Seen {
    pass: u32,
    frame: u32,
    points: f64,
    wrong: f64,
}

/// What a network said of the points of every cube and class.
#[derive(Default)]
pub(super) struct Errors {
    cubes: FxHashMap<([i32; 3], u32), Vec<Seen>>,
    frames: u32,
}

/// Correlations, where there are pairs to tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Correlations {
    pub(super) of_frame: Option<f64>,
    pub(super) of_pass: Option<f64>,
    pub(super) of_passes: Option<f64>,
}

impl Errors {
    /// Adds a frame of a pass.
    pub(super) fn add(&mut self, frame: &LabelledFrame, classes: usize, pass: u32) {
        self.frames += 1;
        for (i, (point, truth)) in frame.points.iter().zip(&frame.truth).enumerate() {
            if *truth as usize >= classes || !point.iter().all(|v| v.is_finite()) {
                continue;
            }
            let Some((said, _)) = frame.opinion(i, classes) else { continue };
            let place = frame.world_from_sensor.apply(point.map(f64::from));
            let seen = self.cubes.entry((place.map(|v| (v / SIDE_M).floor() as i32), *truth)).or_default();
            if seen.last().is_none_or(|last| last.frame != self.frames) {
                seen.push(Seen { pass, frame: self.frames, points: 0.0, wrong: 0.0 });
            }
            if let Some(last) = seen.last_mut() {
                last.points += 1.0;
                last.wrong += f64::from(u8::from(said != *truth as usize));
            }
        }
    }

    /// Covariances over variances. Every cube counts the same, and errors are about the mean of their class: a network that
    /// is wrong at one place and right at another of the same kind shares its mistakes there.
    pub(super) fn correlations(&self) -> Correlations {
        let mut means: FxHashMap<u32, (f64, f64)> = FxHashMap::default();
        // In the order of their places: sums are the same every time.
        let mut cubes: Vec<_> = self.cubes.iter().collect();
        cubes.sort_unstable_by_key(|(key, _)| **key);
        for ((_, class), seen) in &cubes {
            let (wrong, points) = seen.iter().fold((0.0, 0.0), |(w, p), s| (w + s.wrong, p + s.points));
            let mean = means.entry(*class).or_default();
            (mean.0, mean.1) = (mean.0 + wrong / points, mean.1 + 1.0);
        }
        let mut sums = [(0.0, 0.0); 3];
        for ((_, class), seen) in cubes {
            let Some((sum, count)) = means.get(class) else { continue };
            let mean = sum / count;
            for (sum, covariance) in sums.iter_mut().zip(covariances(seen, mean)) {
                if let Some(covariance) = covariance {
                    (sum.0, sum.1) = (sum.0 + covariance, sum.1 + mean * (1.0 - mean));
                }
            }
        }
        let [of_frame, of_pass, of_passes] = sums.map(|(sum, variance)| (variance > 0.0).then(|| sum / variance));
        Correlations { of_frame, of_pass, of_passes }
    }
}

/// Mean product of two errors less their mean: of points of one frame, of two frames of a pass, of two passes.
fn covariances(seen: &[Seen], mean: f64) -> [Option<f64>; 3] {
    let of = |s: &Seen| s.wrong - s.points * mean;
    let (mut frame, mut pass, mut passes) = ((0.0, 0.0), (0.0, 0.0), (0.0, 0.0));
    for (i, a) in seen.iter().enumerate() {
        let own = a.wrong * (1.0 - mean).powi(2) + (a.points - a.wrong) * mean * mean;
        frame = (frame.0 + of(a) * of(a) - own, frame.1 + a.points * (a.points - 1.0));
        for b in &seen[i + 1..] {
            let pairs = if a.pass == b.pass { &mut pass } else { &mut passes };
            *pairs = (pairs.0 + of(a) * of(b), pairs.1 + a.points * b.points);
        }
    }
    [frame, pass, passes].map(|(sum, pairs)| (pairs > 0.0).then(|| sum / pairs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::Pose;
    use e2bki_eval::Said;

    /// Frames of two points in each of many cubes; `wrong` says of cube, frame and point whether it is called wrongly.
    fn correlations(frames: u32, wrong: impl Fn(u32, u32, u32) -> bool) -> Correlations {
        let mut errors = Errors::default();
        for frame in 0..frames {
            let points = (0..800).map(|i| [0.25 * (i / 2) as f32 + 0.1, 0.1, 0.1]).collect();
            let said = (0..800).map(|i| u32::from(wrong(i / 2, frame, i % 2))).collect();
            let frame_of = |points: Vec<[f32; 3]>, said| LabelledFrame {
                said: Said::Labels(said),
                truth: vec![0; points.len()],
                points,
                world_from_sensor: Pose::IDENTITY,
            };
            errors.add(&frame_of(points, said), 2, frame / 2);
        }
        errors.correlations()
    }

    fn coin(a: u32, b: u32, c: u32) -> bool {
        let mut rng = e2bki::cluster::Rng::new(u64::from(a) << 32 | u64::from(b) << 8 | u64::from(c));
        rng.uniform() < 0.4
    }

    #[test]
    fn mistakes_are_shared_as_far_as_they_are_made_together() {
        let near = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 0.12;
        let place = correlations(4, |cube, _, _| coin(cube, 7, 7));
        assert!(near(place.of_frame, 1.0) && near(place.of_pass, 1.0) && near(place.of_passes, 1.0), "{place:?}");
        let frame = correlations(4, |cube, frame, _| coin(cube, frame, 7));
        assert!(near(frame.of_frame, 1.0) && near(frame.of_pass, 0.0) && near(frame.of_passes, 0.0), "{frame:?}");
        let pass = correlations(4, |cube, frame, _| coin(cube, frame / 2, 7));
        assert!(near(pass.of_frame, 1.0) && near(pass.of_pass, 1.0) && near(pass.of_passes, 0.0), "{pass:?}");
        let point = correlations(4, coin);
        assert!(near(point.of_frame, 0.0) && near(point.of_pass, 0.0) && near(point.of_passes, 0.0), "{point:?}");
        assert_eq!(correlations(1, coin).of_pass, None);
    }
}
