//! Off-road ground: rolling relief, a trail of changing surface, puddles in dug hollows, dirt and grass.
//! Slow changes along the trail are functions of world x; edges are made ragged at the point of the hit.

use super::{OffroadProfile, RouteWindow, Season};
use crate::maths::{Stream, Vec3, fractal2, hash2, noise1, noise2, smoothstep};
use crate::scene::{GroundNode, GroundSample, Material, SCENE_TILE_M, TileKey};

/// Spacing of possible puddles along the trail, metres.
const PUDDLE_PITCH_M: f64 = 12.0;

/// An off-road landscape.
pub(super) struct Offroad {
    pub seed: u64,
    pub profile: OffroadProfile,
    pub season: Season,
}

/// A hollow with water in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Puddle {
    center: [f64; 2],
    radii: [f64; 2],
    turn: [f64; 2],
    level: f64,
    depth: f64,
}

impl Puddle {
    /// Squared distance from the centre in units of the radii.
    fn reach(&self, x: f64, y: f64) -> f64 {
        let (dx, dy) = (x - self.center[0], y - self.center[1]);
        let (u, v) = (self.turn[0] * dx + self.turn[1] * dy, self.turn[0] * dy - self.turn[1] * dx);
        (u / self.radii[0]).powi(2) + (v / self.radii[1]).powi(2)
    }
}

impl Offroad {
    /// Half width of the trail. Slow changes along the trail are functions of world x, which grows along it.
    pub(super) fn half_width(&self, x: f64) -> f64 {
        1.9 + 0.45 * noise1(self.seed ^ 0x41, x / 23.0)
    }

    /// Height without puddles, `lateral` metres from the trail.
    pub(super) fn dry_height(&self, x: f64, y: f64, lateral: f64) -> f64 {
        let s = self.seed;
        let low = 5.5 * noise2(s ^ 1, x / 150.0, y / 150.0) + 1.3 * noise2(s ^ 2, x / 46.0, y / 46.0);
        let half = self.half_width(x);
        let wild = smoothstep(half, half + 4.5, lateral.abs());
        let mid = 0.45 * noise2(s ^ 3, x / 13.0, y / 13.0) + 0.16 * noise2(s ^ 4, x / 4.7, y / 4.7);
        let fine = 0.05 * noise2(s ^ 5, x / 1.6, y / 1.6);
        let rut = (-((lateral.abs() - 0.85) / 0.38).powi(2)).exp();
        let worn = 1.0 - smoothstep(0.0, 0.2, self.paved(x));
        low + wild * mid + (0.25 + 0.75 * wild) * fine - 0.07 * rut * worn * (1.0 - wild) - 0.10 * (1.0 - wild)
    }

    /// Positive where the trail is paved.
    fn paved(&self, x: f64) -> f64 {
        self.surface(x) - (1.0 - 2.0 * self.profile.paved_share)
    }

    /// Slowly varying number in about [-1, 1], uniform enough to cut into shares.
    fn surface(&self, x: f64) -> f64 {
        (1.5 * noise1(self.seed ^ 0x42, x / 26.0)).clamp(-1.0, 1.0)
    }

    /// Puddles that may reach into a tile.
    pub(super) fn puddles(&self, key: TileKey, window: &RouteWindow) -> Vec<Puddle> {
        let Some((from, to)) = window.along_range(key.corner(), SCENE_TILE_M, 8.0) else { return Vec::new() };
        let first = (from / PUDDLE_PITCH_M).floor() as i64;
        let last = (to / PUDDLE_PITCH_M).ceil() as i64;
        (first..=last)
            .filter_map(|k| {
                let mut random = Stream::new(hash2(self.seed ^ 0x51, k, 0));
                if !random.chance(self.profile.puddle_chance) {
                    return None;
                }
                let along = (k as f64 + random.unit()) * PUDDLE_PITCH_M;
                let lateral = random.range(-2.3, 2.3);
                let center = window.place(along, lateral);
                let heading = window.at(along).heading;
                let depth = random.range(0.12, 0.25);
                Some(Puddle {
                    center,
                    radii: [random.range(1.5, 4.2), random.range(0.9, 2.1)],
                    turn: [heading.cos(), heading.sin()],
                    level: self.dry_height(center[0], center[1], lateral) - 0.35 * depth,
                    depth,
                })
            })
            .collect()
    }

    /// Ground values at a node.
    pub(super) fn node(&self, x: f64, y: f64, window: &RouteWindow, puddles: &[Puddle]) -> GroundNode {
        let fix = window.locate(x, y);
        let mut height = self.dry_height(x, y, fix.lateral);
        let mut water = f64::NEG_INFINITY;
        for puddle in puddles {
            let reach = puddle.reach(x, y);
            if reach < 1.6 {
                height -= puddle.depth * (1.0 - reach / 1.6).powi(2) * 1.4;
                water = water.max(puddle.level);
            }
        }
        let wet = (water - height).max(-1.0);
        GroundNode {
            height: height.max(water) as f32,
            lateral: fix.lateral as f32,
            along: fix.along.rem_euclid(1024.0) as f32,
            edge: (fix.lateral.abs() - self.half_width(x)) as f32,
            wet: wet as f32,
        }
    }

    /// Material of a ground point.
    pub(super) fn material(&self, p: Vec3, sample: &GroundSample) -> Material {
        let (n, s) = (&sample.node, self.seed);
        let near = n.edge < 12.0;
        let ragged = if near { 0.22 * fractal2(s ^ 0x61, p.x / 0.8, p.y / 0.8) } else { 0.0 };
        let wet = f64::from(n.wet) + 0.08 * ragged;
        if wet > 0.0 {
            return Material::Water;
        }
        let edge = f64::from(n.edge) + ragged + 0.35 * noise2(s ^ 0x62, p.x / 3.5, p.y / 3.5);
        if edge < 0.0 {
            return self.trail(p, n, wet);
        }
        if wet > -0.05 && near {
            return Material::Mud;
        }
        if self.profile.dirt_patches && edge < 22.0 {
            let bare = fractal2(s ^ 0x63, p.x / 6.0, p.y / 6.0) + 0.35 * ragged;
            if bare > 0.36 + 0.02 * edge.max(0.0) {
                return Material::Dirt;
            }
        }
        if edge > 0.9 && noise2(s ^ 0x64, p.x / 10.0, p.y / 10.0) > -0.15 {
            Material::GrassTall
        } else {
            Material::GrassShort
        }
    }

    fn trail(&self, p: Vec3, n: &GroundNode, wet: f64) -> Material {
        let x = p.x + 0.3 * noise2(self.seed ^ 0x65, p.x / 1.1, p.y / 1.1);
        let surface = self.surface(x);
        let paved_from = 1.0 - 2.0 * self.profile.paved_share;
        if surface > paved_from {
            return if noise1(self.seed ^ 0x66, x / 90.0) > 0.0 { Material::Asphalt } else { Material::Concrete };
        }
        if wet > -0.05 && self.profile.puddle_chance > 0.0 {
            return Material::Mud;
        }
        let strip = f64::from(n.lateral).abs() < 0.34 + 0.16 * noise2(self.seed ^ 0x67, p.x / 0.7, p.y / 0.7);
        if strip && noise1(self.seed ^ 0x68, x / 31.0) > -0.1 {
            return Material::GrassShort;
        }
        if surface >= paved_from - 2.0 * self.profile.unpaved_share { Material::Gravel } else { Material::Dirt }
    }
}
