//! Questions to a map of which a part is in the folder.

use std::collections::BTreeSet;

use e2bki::Belief;
use e2bki::primitive::block_of;

use super::RollingMapper;
use crate::area::Area;
use crate::error::Result;
use crate::file::tile_of;

impl RollingMapper {
    /// Beliefs at world positions, bringing in what they depend on, tile by tile.
    pub fn query(&mut self, points: &[[f64; 3]]) -> Result<Vec<Belief>> {
        let tile = |i: usize| tile_of(block_of(points[i]));
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by_key(|i| tile(*i));
        let mut beliefs: Vec<(usize, Belief)> = Vec::with_capacity(points.len());
        for group in order.chunk_by(|a, b| tile(*a) == tile(*b)) {
            let places: Vec<[f64; 3]> = group.iter().map(|i| points[*i]).collect();
            let bound = |get: fn(f64, f64) -> f64, start: f64| -> [f64; 3] {
                std::array::from_fn(|axis| places.iter().map(|p| p[axis]).fold(start, get))
            };
            let (low, high) = (bound(f64::min, f64::INFINITY), bound(f64::max, f64::NEG_INFINITY));
            let own = tile(group[0]);
            let matters: BTreeSet<[i32; 2]> = (self.folder.tiles.values())
                .filter(|entry| {
                    (0..3).all(|i| f64::from(entry.low[i]) <= high[i] && f64::from(entry.high[i]) >= low[i])
                })
                .map(|entry| entry.tile)
                .chain([own])
                .collect();
            self.make_room(Area { low: tile(group[0]), high: tile(group[0]) })?;
            self.bring(|tile| matters.contains(&tile))?;
            beliefs.extend(group.iter().copied().zip(self.map.query(&places).iter()));
        }
        beliefs.sort_unstable_by_key(|(i, _)| *i);
        Ok(beliefs.into_iter().map(|(_, belief)| belief).collect())
    }
}
