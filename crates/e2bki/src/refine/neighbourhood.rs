//! The blocks around one block, looked up once for all the searches that start in it.

use crate::keys::BlockKey;
use crate::map::{Block, Near, PrimitiveSet, cube};
use crate::maths::floor_i32;

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
        blocks.extend(cube(span).map(|[i, j, k]| set.blocks().get(BlockKey([x + i, y + j, z + k]))));
        Self { span, blocks }
    }

    /// All blocks that are not empty.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &'a Block> {
        self.blocks.iter().copied().flatten()
    }

    /// Whether `test` holds for any primitive within `radius` (at most the radius given at the start) of a place in
    /// the centre block. Blocks that are not `wanted` have none. The centre block comes first: that is where most searches end.
    pub(super) fn any_within(
        &self,
        local: [f32; 3],
        radius: f32,
        wanted: impl Fn(&Block) -> bool,
        mut test: impl FnMut(&Near) -> bool,
    ) -> bool {
        let side = 2 * self.span + 1;
        let limit = radius * radius;
        let mut any_in = |i: i32, j: i32, k: i32| {
            let index = ((i + self.span) * side + j + self.span) * side + k + self.span;
            let Some(block) = self.blocks[index as usize].filter(|block| wanted(block)) else { return false };
            let corner = [i as f32 - local[0], j as f32 - local[1], k as f32 - local[2]];
            block.near.iter().any(|near| {
                let d: [f32; 3] = std::array::from_fn(|axis| corner[axis] + near.local[axis]);
                d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= limit && test(near)
            })
        };
        if any_in(0, 0, 0) {
            return true;
        }
        let range = |v: f32| {
            let (low, high) = (f64::from(v - radius), f64::from(v + radius));
            floor_i32(low).max(-self.span)..=floor_i32(high).min(self.span)
        };
        range(local[0])
            .any(|i| range(local[1]).any(|j| range(local[2]).any(|k| [i, j, k] != [0, 0, 0] && any_in(i, j, k))))
    }
}
