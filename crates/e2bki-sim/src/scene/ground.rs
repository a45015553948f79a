//! The ground of one tile: a height raster with the fields that decide its material.
//! Heights are bilinear between nodes 0.5 m apart, so neighbouring tiles join without a gap.

use super::SCENE_TILE_M;
use crate::maths::{Vec3, vec3};

/// Distance between raster nodes, metres.
pub(super) const NODE_M: f64 = 0.5;
/// Raster cells along one side of a tile.
pub(super) const CELLS: usize = 64;
/// Raster nodes along one side of a tile.
pub(super) const NODES: usize = CELLS + 1;

/// Values of the ground at one raster node.
#[derive(Debug, Clone, Copy, Default)]
pub struct GroundNode {
    /// Surface height (water surface where there is water), metres.
    pub height: f32,
    /// Signed distance from the route's centre line, positive to its left, metres.
    pub lateral: f32,
    /// Position along the route modulo 1024 m.
    pub along: f32,
    /// Distance outside the edge of the road or trail (negative inside), metres.
    pub edge: f32,
    /// Water depth; negative where dry.
    pub wet: f32,
}

/// Interpolated ground values at a point.
#[derive(Debug, Clone, Copy)]
pub struct GroundSample {
    /// Interpolated node values.
    pub node: GroundNode,
    /// Unit normal of the surface.
    pub normal: Vec3,
}

/// Height raster of one tile.
#[derive(Debug, Clone)]
pub struct Ground {
    /// World position of the low corner.
    pub corner: [f64; 2],
    heights: Vec<f32>,
    nodes: Vec<GroundNode>,
}

impl Ground {
    /// Samples `node(x, y)` on the raster of the tile whose low corner is `corner`.
    pub fn build(corner: [f64; 2], mut node: impl FnMut(f64, f64) -> GroundNode) -> Ground {
        let mut nodes = Vec::with_capacity(NODES * NODES);
        for j in 0..NODES {
            for i in 0..NODES {
                nodes.push(node(corner[0] + i as f64 * NODE_M, corner[1] + j as f64 * NODE_M));
            }
        }
        Ground { corner, heights: nodes.iter().map(|n| n.height).collect(), nodes }
    }

    /// Highest node in a block of raster cells (both ends inclusive of nodes).
    pub fn top(&self, i: usize, j: usize, cells: usize) -> f64 {
        let mut top = f32::NEG_INFINITY;
        for row in j..=j + cells {
            for value in &self.heights[row * NODES + i..=row * NODES + i + cells] {
                top = top.max(*value);
            }
        }
        f64::from(top)
    }

    /// Raster cell and fractions of a world position, clamped to the tile.
    #[inline]
    fn cell(&self, x: f64, y: f64) -> (usize, f64, f64) {
        let u = ((x - self.corner[0]) / NODE_M).clamp(0.0, CELLS as f64 - 1e-9);
        let v = ((y - self.corner[1]) / NODE_M).clamp(0.0, CELLS as f64 - 1e-9);
        let (i, j) = (u as usize, v as usize);
        (j * NODES + i, u - i as f64, v - j as f64)
    }

    /// Bilinear height in raster cell `(i, j)` at the given fractions.
    #[inline]
    pub(super) fn height_in(&self, i: usize, j: usize, u: f64, v: f64) -> f64 {
        let k = j * NODES + i;
        let h = &self.heights;
        let a = f64::from(h[k]) * (1.0 - u) + f64::from(h[k + 1]) * u;
        let b = f64::from(h[k + NODES]) * (1.0 - u) + f64::from(h[k + NODES + 1]) * u;
        a * (1.0 - v) + b * v
    }

    /// Surface height at a world position inside the tile.
    pub fn height(&self, x: f64, y: f64) -> f64 {
        let (k, u, v) = self.cell(x, y);
        self.height_in(k % NODES, k / NODES, u, v)
    }

    /// All fields and the normal at a world position inside the tile.
    pub fn sample(&self, x: f64, y: f64) -> GroundSample {
        let (k, u, v) = self.cell(x, y);
        let (a, b, c, d) = (&self.nodes[k], &self.nodes[k + 1], &self.nodes[k + NODES], &self.nodes[k + NODES + 1]);
        let (u32_, v32) = (u as f32, v as f32);
        let mixed = |f: fn(&GroundNode) -> f32| {
            (f(a) * (1.0 - u32_) + f(b) * u32_) * (1.0 - v32) + (f(c) * (1.0 - u32_) + f(d) * u32_) * v32
        };
        let node = GroundNode {
            height: mixed(|n| n.height),
            lateral: mixed(|n| n.lateral),
            // Neighbouring nodes may sit on either side of the wrap: take the nearest one.
            along: if (a.along - d.along).abs() < 64.0 { mixed(|n| n.along) } else { a.along },
            edge: mixed(|n| n.edge),
            wet: mixed(|n| n.wet),
        };
        let (ha, hb, hc, hd) = (f64::from(a.height), f64::from(b.height), f64::from(c.height), f64::from(d.height));
        let slope_x = ((hb - ha) * (1.0 - v) + (hd - hc) * v) / NODE_M;
        let slope_y = ((hc - ha) * (1.0 - u) + (hd - hb) * u) / NODE_M;
        GroundSample { node, normal: vec3(-slope_x, -slope_y, 1.0).unit() }
    }

    /// True when a world position lies in this tile.
    pub fn contains(&self, x: f64, y: f64) -> bool {
        let (u, v) = (x - self.corner[0], y - self.corner[1]);
        (0.0..SCENE_TILE_M).contains(&u) && (0.0..SCENE_TILE_M).contains(&v)
    }

    /// Heap bytes held.
    pub fn byte_size(&self) -> usize {
        self.nodes.len() * size_of::<GroundNode>() + self.heights.len() * size_of::<f32>()
    }
}
