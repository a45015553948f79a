//! Options of a baseline beyond its formula.

/// Options of a baseline; everything is off by default.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BuildOptions {
    /// Keep a bird's-eye map too: height dropped, the same rule in the plane. ConvBKI uses its horizontal kernel there.
    pub bev: bool,
    /// Use only some of the points of a frame.
    pub thinning: Option<Thinning>,
    /// Give every point the context of the scan that the configuration has for E2-BKI (neighbours, class trust), for a
    /// comparison on even terms. Without it every point is taken at its word, as these methods do.
    pub context: bool,
    /// Voxels that hold less kernel mass than this have no answer. 0 lets every voxel answer that holds any, which is how all
    /// methods are compared; ConvBKI's own programs show voxels from 1 on.
    pub occupied_mass: f32,
}

/// At most so many points per cubic cell and frame; the first ones in the frame's order stay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thinning {
    /// Most points per cell.
    pub points: usize,
    /// Side of a cell, metres.
    pub cell: f64,
}

impl Thinning {
    /// The rule of the published EBS: 11 points per 0.4 m.
    pub const EBS: Self = Self { points: 11, cell: 0.4 };
}
