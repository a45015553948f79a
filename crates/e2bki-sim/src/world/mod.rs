//! Worlds grown from a seed: a route without end, and the landscape along it.
//! Every tile is a pure function of the seed, so the world is unbounded and memory holds only what is near.

mod buildings;
mod landscape;
mod offroad;
mod plants;
mod profile;
mod props;
mod route;
mod segment;
mod street;
mod traffic;
mod tree;
mod urban;
mod vehicles;
mod window;
mod world_cache;

pub(crate) use profile::{OffroadProfile, UrbanProfile};
pub use profile::{Season, WorldKind, WorldProfile};
pub(crate) use route::{Route, RoutePoint};
pub(crate) use traffic::Ego;
pub(crate) use window::{Fix, RouteWindow};
pub(crate) use world_cache::World;
