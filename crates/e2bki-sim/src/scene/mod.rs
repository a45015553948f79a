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

pub use ground::{Ground, GroundNode, GroundSample};
pub use material::Material;
pub use ray::{Hit, Ray, Surface};
pub use shape::{Lattice, Shape, Solid};
pub use tile::{COLUMN_M, TILE_M, Tile, TileKey};
pub use view::{GroundMaterial, Mover, View};
