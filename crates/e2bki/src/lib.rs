//! e2bki
pub mod cluster;
