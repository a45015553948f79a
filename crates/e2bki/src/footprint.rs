//! What a frame can have to do with: for a map of which only a part is in memory.

use crate::config::{Config, POOLED_M, Reach};
use crate::free::BLOCK_M;
use crate::input::Frame;
use crate::mapper::Mapper;
use crate::pose::WORLD_LIMIT_M;

impl Mapper {
    /// The box, low and high corner, that holds every primitive that inserting a frame looks at or changes; nothing if
    /// every point is dropped.
    pub fn footprint(&self, frame: &Frame<'_>) -> Option<([f64; 3], [f64; 3])> {
        let config = self.config();
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for point in frame.points {
            let point = point.map(f64::from);
            let range = point.iter().map(|v| v * v).sum::<f64>().sqrt();
            // What is dropped must not widen the box; not a number is dropped too.
            if !(range > 0.0 && range <= config.input.max_range.min(WORLD_LIMIT_M)) {
                continue;
            }
            let world = frame.world_from_sensor.apply(point);
            for i in 0..3 {
                low[i] = low[i].min(world[i]);
                high[i] = high[i].max(world[i]);
            }
        }
        let margin = margin(config);
        let mut footprint = (low[0] <= high[0]).then(|| (low.map(|v| v - margin), high.map(|v| v + margin)));
        let returns = frame.returns().points;
        if config.free_space.enabled && !returns.is_empty() {
            // What was seen through may be gone; blocks of counters are taken as a whole. Returns count at any distance.
            let (mut low, mut high) = footprint.unwrap_or(([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]));
            let at = frame.world_from_sensor.translation();
            let reach = config.free_space.max_range + BLOCK_M;
            for i in 0..3 {
                low[i] = low[i].min(at[i] - reach);
                high[i] = high[i].max(at[i] + reach);
            }
            for point in returns {
                let world = frame.world_from_sensor.apply(point.map(f64::from));
                if world.iter().all(|v| v.abs() <= WORLD_LIMIT_M) {
                    for i in 0..3 {
                        low[i] = low[i].min(world[i]);
                        high[i] = high[i].max(world[i]);
                    }
                }
            }
            footprint = Some((low, high));
        }
        footprint
    }
}

/// How far from its points a frame can matter, metres.
fn margin(config: &Config) -> f64 {
    // A point's primitive is looked for in its cube, and has its mean there.
    let cubes = 2.0 * config.clustering.cell_size + 1.0;
    // A fresh primitive makes its neighbours take part in refinement, they look at theirs, and merging moves means.
    let refined = if config.refinement.prune || config.refinement.merge {
        4.0 * config.refinement.consistency_radius
    } else {
        0.0
    };
    // Kernels follow the surface that primitives around them form, and those of primitives around fresh ones change.
    let pooled = if config.kernel.reach == Reach::Surface { 2.0 * POOLED_M } else { 0.0 };
    cubes + refined + pooled
}
