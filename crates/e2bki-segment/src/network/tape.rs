//! What is kept on the way forward for the way back.

use std::collections::BTreeMap;

use super::layers::Maps;
use super::layers::norm::Normed;
use super::layers::squeeze::Squeezed;

/// Gradients by the names of parameters.
pub type Gradients = BTreeMap<String, Vec<f32>>;

/// Of a unit: its input and its normalised values.
#[derive(Debug)]
pub(super) struct UnitTape {
    pub(super) x: Maps,
    pub(super) normed: Normed,
}

/// Of a block.
#[derive(Debug)]
pub(super) struct BlockTape {
    pub(super) expand: Option<UnitTape>,
    pub(super) depthwise: UnitTape,
    pub(super) squeeze: Option<Squeezed>,
    pub(super) project: UnitTape,
}

impl BlockTape {
    /// The block's input.
    pub(super) fn input(&self) -> &Maps {
        self.expand.as_ref().map_or(&self.depthwise.x, |expand| &expand.x)
    }
}

/// Of a whole pass.
#[derive(Debug)]
pub struct Tape {
    /// Rows and columns of the images.
    pub(super) size: [usize; 2],
    pub(super) stem: UnitTape,
    pub(super) blocks: Vec<BlockTape>,
    pub(super) last: UnitTape,
    pub(super) head: UnitTape,
    /// Outputs of the head before they are gated.
    pub(super) ungated: Maps,
    pub(super) means: Vec<f32>,
    pub(super) gates: Vec<f32>,
    /// Gated and resized: what the classifier of the deep features sees.
    pub(super) high: Maps,
}
