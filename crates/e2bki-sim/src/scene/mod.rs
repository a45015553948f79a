//! Geometry a ray can hit: a height raster for the ground plus analytic shapes, in 32 m tiles.
//! One walk over 4 m columns finds the nearest hit; columns whose top lies below the ray are skipped.

mod flat;
mod foliage;
mod ground;
mod material;
mod ray;
mod round;
mod shape;
mod tile;
mod view;
mod walk;

pub(crate) use ground::{GroundNode, GroundSample};
pub(crate) use material::Material;
pub(crate) use ray::{Hit, Ray, Surface};
pub(crate) use shape::{Lattice, Shape, Solid};
pub(crate) use tile::{SCENE_TILE_M, Tile, TileKey};
pub(crate) use view::{Mover, View};

#[cfg(test)]
mod tests;
