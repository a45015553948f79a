//! Uncertainty-aware 3-D semantic mapping on Gaussian primitives.
//!
//! Frames of points with class evidence go into a [`Mapper`]; beliefs come out: at voxels, at bird's-eye cells, or at
//! any point, each with a class, its Dirichlet posterior and an uncertainty split into what the network was unsure of
//! and what was never seen. The method is Evidential Ellipsoidal Bayesian Kernel Inference (E2-BKI).
//!
//! - [`Config`] holds every parameter; [`ClassSet`] the classes. Both are run-time data.
//! - [`Frame`] is a scan: points, semantics in any form ([`Semantics`]), and the pose of the sensor.
//! - [`Mapper::insert`] checks, adds context, clusters, fuses, gates, refines and updates the live view; its [`FrameReport`]
//!   accounts for every point.
//! - [`Mapper::query`], [`Mapper::voxels`], [`Mapper::bev`], [`Mapper::live_voxels`] and [`Mapper::primitives`] read.
//!
//! The library touches no files and keeps no globals; the same input gives the same bytes at any number of threads.
//! See [`Mapper`] for an example.

mod algebra;
mod changes;
mod classes;
pub mod cluster;
pub mod config;
mod contents;
mod context;
mod error;
mod fold;
mod footprint;
pub mod free;
mod fuse;
mod gate;
mod groups;
mod input;
pub mod kernel;
mod keys;
mod map;
mod mapper;
pub mod maths;
mod method;
mod outputs;
mod pieces;
mod pose;
mod prefetch;
mod prepare;
pub mod primitive;
pub mod random;
mod refine;
mod settled;
mod state;
pub mod submaps;
mod threads;
mod timings;
mod view;

pub use changes::{BlockChange, Changes, Moment};
pub use classes::{ClassSet, LETHAL_COST, MAX_CLASSES};
pub use config::Config;
pub use error::{Error, Result};
pub use input::{
    Dropped, EvidentialPoints, Frame, FrameReport, LogitKind, MAX_ODDS, MIN_ENTROPY_UNCERTAINTY, Scan, Semantics,
};
pub use keys::TILE_M;
pub use map::Rank;
pub use mapper::Mapper;
pub use method::SemanticMapper;
pub use outputs::{BirdsEye, ByteSize, Primitive};
pub use pieces::Piece;
pub use pose::{Pose, WORLD_LIMIT_M};
pub use prepare::{Prepared, Preparer};
pub use state::{MAX_COUNT, PrimitiveState, Restoring, StateList};
pub use timings::Timings;
pub use view::{Belief, Beliefs, Cells, LiveBlock, LiveVoxel, Voxels, semantic_uncertainties, uncertainties};
