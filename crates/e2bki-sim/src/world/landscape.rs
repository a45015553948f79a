//! One interface over the two kinds of world: ground values, ground material, and what stands on it.
//! All answers are pure functions of the seed and the position.

use super::offroad::Offroad;
use super::urban::Urban;
use super::{Route, RouteWindow, Season, WorldProfile};
use crate::maths::Vec3;
use crate::scene::{GroundNode, GroundSample, Material, Solid, TileKey};

/// The landscape along a route.
pub(super) enum Landscape {
    Offroad(Offroad),
    Urban(Urban),
}

impl Landscape {
    pub(super) fn new(seed: u64, profile: &WorldProfile, season: Season, route: &Route) -> Landscape {
        match profile {
            WorldProfile::Offroad(p) => Landscape::Offroad(Offroad { seed, profile: *p, season }),
            WorldProfile::Urban(p) => Landscape::Urban(Urban { seed, profile: *p, season, curve: route.curve() }),
        }
    }

    /// A function giving the ground values of a tile's nodes.
    pub(super) fn nodes<'a>(
        &'a self,
        key: TileKey,
        window: &'a RouteWindow,
    ) -> Box<dyn FnMut(f64, f64) -> GroundNode + 'a> {
        match self {
            Landscape::Offroad(world) => {
                let puddles = world.puddles(key, window);
                Box::new(move |x, y| world.node(x, y, window, &puddles))
            }
            Landscape::Urban(world) => Box::new(move |x, y| world.node(x, y, &window.locate(x, y))),
        }
    }

    /// Material of a ground point.
    pub(super) fn material(&self, p: Vec3, sample: &GroundSample) -> Material {
        match self {
            Landscape::Offroad(world) => world.material(p, sample),
            Landscape::Urban(world) => world.material(p, sample),
        }
    }

    /// Solids that may reach into a tile.
    pub(super) fn solids(&self, key: TileKey, window: &RouteWindow) -> Vec<Solid> {
        match self {
            Landscape::Offroad(world) => world.solids(key, window),
            Landscape::Urban(world) => world.solids(key, window),
        }
    }
}
