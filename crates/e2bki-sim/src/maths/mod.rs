//! Small deterministic mathematics: vectors, rigid transforms, hashing, random streams and noise.
//! Everything here is a pure function of its arguments, so results never depend on thread order.

mod noise;
mod random;
mod rigid;
mod vector;

pub(crate) use noise::{fractal2, noise1, noise2, noise3, smoothstep};
pub(crate) use random::{Stream, hash2, hash3, mix, normal_from, unit_from};
pub(crate) use rigid::Rigid;
pub(crate) use vector::{Vec3, vec3};
