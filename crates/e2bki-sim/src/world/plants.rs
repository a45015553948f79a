//! Where plants and things stand off-road: scattered on jittered grids, thicker where the forest is.
//! Each grid point has its own random stream, so neighbouring tiles agree on what stands near their border.

use super::offroad::Offroad;
use super::{RouteWindow, props, tree, vehicles};
use crate::maths::{Stream, Vec3, fractal2, hash2, hash3, noise2, vec3};
use crate::scene::{SCENE_TILE_M, Solid, TileKey};

/// Spacing of places for objects along the trail, metres.
const PLACE_PITCH_M: f64 = 11.0;
/// Length of a stretch that is fenced or not, metres.
const FENCE_PITCH_M: f64 = 36.0;

/// Calls `place(random, x, y)` for each jittered grid point within `margin` of a tile.
pub(super) fn scatter(seed: u64, key: TileKey, pitch: f64, margin: f64, mut place: impl FnMut(&mut Stream, f64, f64)) {
    let [x0, y0] = key.corner();
    let range = |c: f64| (((c - margin) / pitch).floor() as i64, ((c + SCENE_TILE_M + margin) / pitch).floor() as i64);
    let ((i0, i1), (j0, j1)) = (range(x0), range(y0));
    for j in j0..=j1 {
        for i in i0..=i1 {
            let mut random = Stream::new(hash2(seed, i, j));
            let x = (i as f64 + random.unit()) * pitch;
            let y = (j as f64 + random.unit()) * pitch;
            place(&mut random, x, y);
        }
    }
}

impl Offroad {
    /// Solids that may reach into a tile.
    pub(super) fn solids(&self, key: TileKey, window: &RouteWindow) -> Vec<Solid> {
        let mut out = Vec::new();
        self.plants(key, window, &mut out);
        self.objects(key, window, &mut out);
        self.fences(key, window, &mut out);
        out
    }

    fn base(&self, x: f64, y: f64, lateral: f64) -> Vec3 {
        vec3(x, y, self.dry_height(x, y, lateral))
    }

    fn plants(&self, key: TileKey, window: &RouteWindow, out: &mut Vec<Solid>) {
        let s = self.seed;
        let wood = |x: f64, y: f64| fractal2(s ^ 0x71, x / 55.0, y / 55.0) + 1.6 * (self.profile.forest - 0.5);
        scatter(s ^ 0x72, key, 5.2, 5.0, |random, x, y| {
            let chance = (0.16 + 0.7 * wood(x, y)).clamp(0.03, 0.75);
            let fix = window.locate(x, y);
            let clear = fix.lateral.abs() - self.half_width(x);
            if !random.chance(chance) || clear < 1.3 {
                return;
            }
            let base = self.base(x, y, fix.lateral);
            let firs = noise2(s ^ 0x73, x / 90.0, y / 90.0) > 0.15;
            if random.chance(if firs { 0.8 } else { 0.15 }) && clear > 2.5 {
                tree::conifer(random, base, out);
            } else {
                tree::broadleaf(random, base, self.season, out);
            }
        });
        scatter(s ^ 0x74, key, 3.8, 1.5, |random, x, y| {
            let fix = window.locate(x, y);
            let clear = fix.lateral.abs() - self.half_width(x);
            if random.chance((0.14 + 0.22 * wood(x, y)).clamp(0.03, 0.4)) && clear > 0.9 {
                let largest = random.range(1.0, 1.9);
                let size = random.range(0.5, largest).min(clear);
                tree::bush(random, self.base(x, y, fix.lateral), size, out);
            }
        });
        scatter(s ^ 0x75, key, 1.3, 0.5, |random, x, y| {
            let fix = window.locate(x, y);
            let clear = fix.lateral.abs() - self.half_width(x);
            if (0.4..16.0).contains(&clear) && random.chance(0.32) {
                tree::tuft(random, self.base(x, y, fix.lateral), out);
            }
        });
    }

    fn objects(&self, key: TileKey, window: &RouteWindow, out: &mut Vec<Solid>) {
        let Some((from, to)) = window.along_range(key.corner(), SCENE_TILE_M, 14.0) else { return };
        for k in (from / PLACE_PITCH_M).floor() as i64..=(to / PLACE_PITCH_M).ceil() as i64 {
            for side in [-1.0, 1.0] {
                let mut random = Stream::new(hash3(self.seed ^ 0x76, k, side as i64, 0));
                if !random.chance(self.profile.objects) {
                    continue;
                }
                let along = (k as f64 + random.unit()) * PLACE_PITCH_M;
                let half = self.half_width(window.at(along).x);
                let kind = random.below(10);
                let clear = if kind == 9 { random.range(3.0, 7.0) } else { random.range(0.9, 4.0) };
                let lateral = side * (half + clear);
                let [x, y] = window.place(along, lateral);
                let base = self.base(x, y, lateral);
                let heading = window.at(along).heading;
                match kind {
                    0..=2 => props::pole(&mut random, base, out),
                    3..=5 => props::barrels(&mut random, base, out),
                    6..=7 => props::sign(&mut random, base, heading, out),
                    8 => props::crates(&mut random, base, out),
                    _ => {
                        let turn = heading + random.range(-0.5, 0.5);
                        out.extend(vehicles::car(&mut random, base, turn));
                    }
                }
            }
        }
    }

    fn fences(&self, key: TileKey, window: &RouteWindow, out: &mut Vec<Solid>) {
        let Some((from, to)) = window.along_range(key.corner(), SCENE_TILE_M, 12.0) else { return };
        for k in (from / FENCE_PITCH_M).floor() as i64..=(to / FENCE_PITCH_M).ceil() as i64 {
            for side in [-1.0, 1.0] {
                let mut random = Stream::new(hash3(self.seed ^ 0x77, k, side as i64, 0));
                if !random.chance(0.45 * self.profile.objects) {
                    continue;
                }
                let metal = random.chance(0.4);
                let away = random.range(3.0, 5.5);
                for post in 0..12 {
                    let place = |n: i64| {
                        let along = k as f64 * FENCE_PITCH_M + n as f64 * 3.0;
                        let lateral = side * away;
                        let [x, y] = window.place(along, lateral);
                        self.base(x, y, lateral)
                    };
                    props::fence(place(post), place(post + 1), metal, out);
                }
            }
        }
    }
}
