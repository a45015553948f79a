//! The latent field that decides where errors fall: smooth in viewing direction (new every frame), smooth in the
//! world (the same every frame, so some mistakes repeat), and a little noise of its own.

use crate::maths::{Stream, Vec3, mix, noise3, normal_from, vec3};

const DIRECTION_COARSE: f64 = 13.0;
const DIRECTION_FINE: f64 = 45.0;
const PLACE_M: f64 = 2.6;

/// A field whose values are uniform in (0, 1) by construction: a rank among samples taken at set-up.
#[derive(Debug, Clone)]
pub(super) struct ErrorField {
    seed: u64,
    ranks: Vec<f64>,
}

impl ErrorField {
    pub(super) fn new(seed: u64) -> ErrorField {
        let mut random = Stream::new(seed);
        let mut ranks: Vec<f64> = (0..8192)
            .map(|k| {
                let d = vec3(random.normal(), random.normal(), random.normal()).unit();
                let place = vec3(random.range(0.0, 4e3), random.range(0.0, 4e3), random.range(0.0, 50.0));
                raw(seed, k, d, place, random.bits())
            })
            .collect();
        ranks.sort_by(f64::total_cmp);
        ErrorField { seed, ranks }
    }

    /// Value for one observation of frame `frame`.
    pub(super) fn value(&self, frame: u64, direction: Vec3, place: Vec3, own: u64) -> f64 {
        let z = raw(self.seed, frame, direction, place, own);
        let rank = self.ranks.partition_point(|r| *r < z) as f64;
        (rank + 0.5) / (self.ranks.len() as f64 + 1.0)
    }
}

fn raw(seed: u64, frame: u64, d: Vec3, p: Vec3, own: u64) -> f64 {
    let s = mix(seed ^ mix(frame));
    let at = |seed: u64, v: Vec3, k: f64| noise3(seed, v.x * k, v.y * k, v.z * k);
    0.75 * at(s, d, DIRECTION_COARSE)
        + 0.40 * at(s ^ 1, d, DIRECTION_FINE)
        + 0.80 * at(seed ^ 2, p, 1.0 / PLACE_M)
        + 0.05 * normal_from(own)
}
