//! The tape: activations saved by the forward pass for the backward pass.

use std::collections::BTreeMap;

use super::layers::Tensor;
use super::layers::norm::NormTape;
use super::layers::squeeze::SqueezeTape;

/// Gradients by parameter name.
pub type Gradients = BTreeMap<String, Vec<f32>>;

/// Of a convolution: its input and the normalised values.
#[derive(Debug)]
pub(super) struct ConvTape {
    pub(super) x: Tensor,
    pub(super) normed: NormTape,
}

/// Of an inverted residual.
#[derive(Debug)]
pub(super) struct BlockTape {
    pub(super) expand: Option<ConvTape>,
    pub(super) depthwise: ConvTape,
    pub(super) squeeze: Option<SqueezeTape>,
    pub(super) project: ConvTape,
}

impl BlockTape {
    /// The block's input.
    pub(super) fn input(&self) -> &Tensor {
        self.expand.as_ref().map_or(&self.depthwise.x, |expand| &expand.x)
    }
}

/// Of a whole forward pass.
#[derive(Debug)]
pub struct Tape {
    /// Rows and columns of the images.
    pub(super) size: [usize; 2],
    pub(super) stem: ConvTape,
    pub(super) blocks: Vec<BlockTape>,
    pub(super) last: ConvTape,
    pub(super) head: ConvTape,
    /// Output of the head before gating.
    pub(super) ungated: Tensor,
    pub(super) means: Vec<f32>,
    pub(super) gates: Vec<f32>,
    /// Gated and resized: the input of the high-level classifier.
    pub(super) high: Tensor,
}
