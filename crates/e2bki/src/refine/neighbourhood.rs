//! The blocks around one block, looked up once for all the searches that start in it.

use crate::map::{Block, BlockKey, Near, PrimitiveSet};

/// Blocks within `span` of a centre block along each axis.
pub(super) struct Neighbourhood<'a> {
    span: i32,
    blocks: Vec<Option<&'a Block>>,
}

impl<'a> Neighbourhood<'a> {
    pub(super) fn new(set: &'a PrimitiveSet, center: BlockKey, radius: f64) -> Self {
        let span = radius.ceil() as i32;
        let [x, y, z] = center.0;
        let mut blocks = Vec::with_capacity((2 * span as usize + 1).pow(3));
        for i in -span..=span {
            for j in -span..=span {
                for k in -span..=span {
                    blocks.push(set.blocks().get(BlockKey([x + i, y + j, z + k])));
                }
            }
        }
        Self { span, blocks }
    }

    /// All blocks that are not empty.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &'a Block> {
        self.blocks.iter().copied().flatten()
    }

    /// Calls `visit(squared distance, near)` for every primitive within `radius` of a place in the centre block, until
    /// it returns true; returns whether it did.
    pub(super) fn any_within(&self, local: [f32; 3], radius: f32, mut visit: impl FnMut(f32, &Near) -> bool) -> bool {
        let side = 2 * self.span + 1;
        let limit = radius * radius;
        // The few places whose ball leaves the looked-up cube by rounding lose nothing: radius ≤ span.
        let range =
            |v: f32| ((v - radius).floor() as i32).max(-self.span)..=((v + radius).floor() as i32).min(self.span);
        for i in range(local[0]) {
            for j in range(local[1]) {
                for k in range(local[2]) {
                    let index = ((i + self.span) * side + j + self.span) * side + k + self.span;
                    let Some(block) = self.blocks[index as usize] else { continue };
                    let corner = [i as f32 - local[0], j as f32 - local[1], k as f32 - local[2]];
                    for near in &block.near {
                        let d: [f32; 3] = std::array::from_fn(|axis| corner[axis] + near.local[axis]);
                        let squared = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                        if squared <= limit && visit(squared, near) {
                            return true;
                        }
                    }
                }
            }
        }
        false
    }
}
