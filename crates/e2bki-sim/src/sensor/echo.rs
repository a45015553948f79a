//! From surfaces to what a LiDAR reports: mixed returns at edges, drop-outs, range noise, intensity.
//! Invariant: a beam gives at most one echo, and its label is that of the part that sent back most light.

use super::Lidar;
use crate::maths::{Vec3, mix, normal_from, unit_from};
use crate::scene::{Hit, Material};

/// Two surfaces closer than this along the beam merge into one echo, metres.
const PULSE_M: f64 = 0.45;

/// One part of a beam's cross-section.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub hit: Hit,
    pub cosine: f64,
    pub weight: f64,
}

impl Default for Part {
    fn default() -> Part {
        let hit = Hit { t: 0.0, normal: Vec3::UP, material: Material::Sky, object: 0, tint: 0, moving: false };
        Part { hit, cosine: 0.0, weight: 0.0 }
    }
}

impl Part {
    pub(super) fn new(hit: Hit, direction: Vec3, weight: f64) -> Part {
        Part { hit, cosine: hit.normal.dot(direction).abs(), weight }
    }

    /// Share of the light sent back towards the sensor.
    pub(super) fn reflected(&self) -> f64 {
        let m = self.hit.material;
        if m.is_specular() {
            return m.reflectance() * if self.cosine > 0.92 { 6.0 } else { 0.5 };
        }
        let rough = if m.is_plant() { 0.55 } else { 0.22 };
        m.reflectance() * (rough + (1.0 - rough) * self.cosine)
    }
}

/// Measurement of one beam.
#[derive(Debug, Clone, Copy)]
pub(super) struct Echo {
    pub range: f64,
    pub intensity: f64,
    pub material: Material,
    pub object: u32,
    pub moving: bool,
}

/// The strongest echo of a beam, or `None` when nothing (detectable) came back.
/// `sent` is the total weight of the beam's parts, including those that hit nothing.
pub(super) fn strongest(parts: &mut [Part], sent: f64, lidar: &Lidar, seed: u64) -> Option<Echo> {
    parts.sort_by(|a, b| a.hit.t.total_cmp(&b.hit.t));
    let power = |p: &Part| p.weight * p.reflected() / (p.hit.t * p.hit.t);
    let mut best: Option<(f64, usize, usize)> = None;
    let mut start = 0;
    while start < parts.len() {
        let mut end = start + 1;
        while end < parts.len() && parts[end].hit.t - parts[end - 1].hit.t < PULSE_M {
            end += 1;
        }
        let total: f64 = parts[start..end].iter().map(power).sum();
        if best.is_none_or(|b| total > b.0) {
            best = Some((total, start, end));
        }
        start = end;
    }
    let (total, start, end) = best?;
    let group = &parts[start..end];
    let weight: f64 = group.iter().map(power).sum();
    let range = group.iter().map(|p| power(p) * p.hit.t).sum::<f64>() / weight.max(1e-300);
    let main = group.iter().max_by(|a, b| power(a).total_cmp(&power(b)))?;
    let m = main.hit.material;
    let reflected = total * range * range / sent;
    let signal = reflected / 0.1 * (lidar.reach_m / range).powi(2);
    let seen = 1.0 / (1.0 + (-lidar.falloff * signal.max(1e-12).ln()).exp());
    if unit_from(mix(seed ^ 1)) > seen * 0.996 {
        return None;
    }
    let spread = lidar.range_sigma_m * (1.0 + 0.5 / (1.0 + signal));
    let depth = m.roughness_m() * normal_from(mix(seed ^ 2)).abs() * (1.3 - main.cosine);
    let noisy = range + spread * normal_from(mix(seed ^ 3)) + depth;
    let range = (noisy / lidar.range_step_m).round() * lidar.range_step_m;
    if range < lidar.min_range_m || range > lidar.max_range_m {
        return None;
    }
    let gain = 1.0 + 0.12 * normal_from(mix(seed ^ 4));
    Some(Echo {
        range,
        intensity: (lidar.intensity_scale * reflected * gain.max(0.2)).clamp(0.0, 0.99),
        material: m,
        object: main.hit.object,
        moving: main.hit.moving,
    })
}
