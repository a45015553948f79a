//! The store, tested as a whole: one program, so that it is linked once.

#![allow(clippy::unwrap_used)] // a test may fail loudly

#[path = "../../../e2bki/tests/common/mod.rs"]
mod common;

mod canonical;
mod damage;
mod damage_at_random;
mod exports;
mod free_space;
mod golden;
mod killed;
mod merging;
mod resume;
mod rolling;
mod submaps;
mod writers;
