//! The layout of the network: its layers and the names of their parameters.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Hyperparameters of the network.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Architecture {
    /// Number of classes.
    pub classes: usize,
    /// Width multiplier of MobileNetV3-Large; 1 is the original.
    pub width: f64,
    /// Channels of the head.
    pub head: usize,
}

impl Architecture {
    /// The original, as in torchvision, with this many classes.
    pub fn full(classes: usize) -> Self {
        Self { classes, width: 1.0, head: 128 }
    }

    /// A network with a width multiplier: quick to train and small to store.
    pub fn narrow(classes: usize, width: f64) -> Self {
        Self { classes, width, head: divisible(128.0 * width) }
    }

    /// Checks the ranges.
    pub fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Request(what));
        if !(2..=1024).contains(&self.classes) {
            return wrong(format!("{} classes; a network needs 2 to 1024", self.classes));
        }
        if !(0.1..=4.0).contains(&self.width) {
            return wrong(format!("width {}; it must be between 0.1 and 4", self.width));
        }
        if !(8..=1024).contains(&self.head) {
            return wrong(format!("a head of {} channels; it must have 8 to 1024", self.head));
        }
        Ok(())
    }
}

/// Activation after the normalisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activation {
    Identity,
    Relu,
    HardSwish,
}

/// Grouping of a convolution's channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grouping {
    /// 1×1, one group.
    Pointwise,
    /// One group per channel.
    Depthwise,
    /// k×k, one group.
    Dense,
}

/// Convolution without bias, batch normalisation, activation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConvNormActivation {
    /// Name of the convolution's parameters.
    pub(crate) convolution: String,
    /// Name of the normalisation's parameters.
    pub(crate) norm: String,
    pub(crate) grouping: Grouping,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
    pub(crate) dilation: usize,
    pub(crate) activation: Activation,
    pub(crate) epsilon: f32,
    /// Momentum of the running statistics.
    pub(crate) momentum: f32,
}

impl ConvNormActivation {
    /// Shape of the convolution's weights: outputs, inputs per group, rows, columns.
    pub(crate) fn shape(&self) -> [usize; 4] {
        let inputs = if self.grouping == Grouping::Depthwise { 1 } else { self.inputs };
        [self.outputs, inputs, self.kernel, self.kernel]
    }

    pub(crate) fn padding(&self) -> usize {
        (self.kernel - 1) / 2 * self.dilation
    }

    /// Output size along one side.
    pub(crate) fn output_size(&self, side: usize) -> usize {
        (side + 2 * self.padding() - self.dilation * (self.kernel - 1) - 1) / self.stride + 1
    }

    pub(crate) fn weight(&self) -> String {
        format!("{}.weight", self.convolution)
    }
}

/// Squeeze-and-excitation: every channel scaled by a function of its global average.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SqueezeExcitation {
    pub(crate) name: String,
    pub(crate) channels: usize,
    pub(crate) squeezed: usize,
}

/// Inverted residual block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InvertedResidual {
    pub(crate) expand: Option<ConvNormActivation>,
    pub(crate) depthwise: ConvNormActivation,
    pub(crate) squeeze: Option<SqueezeExcitation>,
    pub(crate) project: ConvNormActivation,
    pub(crate) residual: bool,
}

/// The whole network.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub(crate) architecture: Architecture,
    pub(crate) stem: ConvNormActivation,
    pub(crate) blocks: Vec<InvertedResidual>,
    pub(crate) last: ConvNormActivation,
    pub(crate) head: ConvNormActivation,
}

/// The block whose output, at 1/8 of the image's size, feeds the low-level classifier.
pub(crate) const LOW_LEVEL: usize = 3;

/// Inputs, kernel, expanded, outputs, squeeze, hard swish, stride, dilation.
type Row = (usize, usize, usize, usize, bool, bool, usize, usize);

/// MobileNetV3-Large with output stride 16.
const BLOCKS: [Row; 15] = [
    (16, 3, 16, 16, false, false, 1, 1),
    (16, 3, 64, 24, false, false, 2, 1),
    (24, 3, 72, 24, false, false, 1, 1),
    (24, 5, 72, 40, true, false, 2, 1),
    (40, 5, 120, 40, true, false, 1, 1),
    (40, 5, 120, 40, true, false, 1, 1),
    (40, 3, 240, 80, false, true, 2, 1),
    (80, 3, 200, 80, false, true, 1, 1),
    (80, 3, 184, 80, false, true, 1, 1),
    (80, 3, 184, 80, false, true, 1, 1),
    (80, 3, 480, 112, true, true, 1, 1),
    (112, 3, 672, 112, true, true, 1, 1),
    (112, 5, 672, 160, true, true, 1, 2),
    (160, 5, 960, 160, true, true, 1, 2),
    (160, 5, 960, 160, true, true, 1, 2),
];

/// Nearest multiple of 8, not below 90 % of the number.
fn divisible(channels: f64) -> usize {
    let rounded = (((channels + 4.0) as usize) / 8 * 8).max(8);
    if (rounded as f64) < 0.9 * channels { rounded + 8 } else { rounded }
}

impl Plan {
    /// The layout for an architecture.
    pub fn new(architecture: Architecture) -> Result<Self> {
        architecture.check()?;
        let adjusted = |channels: usize| divisible(channels as f64 * architecture.width);
        let conv =
            |at: String, grouping, (inputs, outputs), kernel, (stride, dilation), activation| ConvNormActivation {
                convolution: format!("{at}.0"),
                norm: format!("{at}.1"),
                grouping,
                inputs,
                outputs,
                kernel,
                stride,
                dilation,
                activation,
                epsilon: 1e-3,
                momentum: 0.01,
            };
        let first = adjusted(16);
        let stem = conv("backbone.0".into(), Grouping::Dense, (3, first), 3, (2, 1), Activation::HardSwish);
        let mut blocks = Vec::new();
        for (number, (inputs, kernel, expanded, outputs, squeeze, swish, stride, dilation)) in
            BLOCKS.into_iter().enumerate()
        {
            let (inputs, expanded, outputs) = (adjusted(inputs), adjusted(expanded), adjusted(outputs));
            let activation = if swish { Activation::HardSwish } else { Activation::Relu };
            let mut part = 0;
            let mut next = || {
                part += 1;
                format!("backbone.{}.block.{}", number + 1, part - 1)
            };
            let expand = (expanded != inputs)
                .then(|| conv(next(), Grouping::Pointwise, (inputs, expanded), 1, (1, 1), activation));
            let depthwise =
                conv(next(), Grouping::Depthwise, (expanded, expanded), kernel, (stride, dilation), activation);
            let squeeze = squeeze.then(|| SqueezeExcitation {
                name: next(),
                channels: expanded,
                squeezed: divisible((expanded / 4) as f64),
            });
            let project = conv(next(), Grouping::Pointwise, (expanded, outputs), 1, (1, 1), Activation::Identity);
            blocks.push(InvertedResidual {
                expand,
                depthwise,
                squeeze,
                project,
                residual: stride == 1 && inputs == outputs,
            });
        }
        let deep = adjusted(160);
        let last = conv(
            format!("backbone.{}", BLOCKS.len() + 1),
            Grouping::Pointwise,
            (deep, 6 * deep),
            1,
            (1, 1),
            Activation::HardSwish,
        );
        // The head uses PyTorch's default epsilon and momentum.
        let head = ConvNormActivation {
            epsilon: 1e-5,
            momentum: 0.1,
            ..conv(
                "classifier.cbr".into(),
                Grouping::Pointwise,
                (last.outputs, architecture.head),
                1,
                (1, 1),
                Activation::Relu,
            )
        };
        Ok(Self { architecture, stem, blocks, last, head })
    }

    /// Channels of the low-level features, at 1/8 of the image's size.
    pub(crate) fn low_channels(&self) -> usize {
        self.blocks[LOW_LEVEL].project.outputs
    }

    pub(crate) fn convs(&self) -> impl Iterator<Item = &ConvNormActivation> {
        std::iter::once(&self.stem)
            .chain(self.blocks.iter().flat_map(|b| b.expand.iter().chain([&b.depthwise, &b.project])))
            .chain([&self.last, &self.head])
    }

    /// Names and shapes of all parameters and running statistics.
    pub fn parameters(&self) -> Vec<(String, Vec<usize>)> {
        let mut all = Vec::new();
        for conv in self.convs() {
            all.push((conv.weight(), conv.shape().to_vec()));
            for part in ["weight", "bias", "running_mean", "running_var"] {
                all.push((format!("{}.{part}", conv.norm), vec![conv.outputs]));
            }
        }
        for squeeze in self.blocks.iter().filter_map(|b| b.squeeze.as_ref()) {
            let (name, c, s) = (&squeeze.name, squeeze.channels, squeeze.squeezed);
            all.push((format!("{name}.fc1.weight"), vec![s, c, 1, 1]));
            all.push((format!("{name}.fc1.bias"), vec![s]));
            all.push((format!("{name}.fc2.weight"), vec![c, s, 1, 1]));
            all.push((format!("{name}.fc2.bias"), vec![c]));
        }
        let Architecture { classes, head, .. } = self.architecture;
        all.push(("classifier.scale.1.weight".into(), vec![head, self.last.outputs, 1, 1]));
        all.push(("classifier.low_classifier.weight".into(), vec![classes, self.low_channels(), 1, 1]));
        all.push(("classifier.low_classifier.bias".into(), vec![classes]));
        all.push(("classifier.high_classifier.weight".into(), vec![classes, head, 1, 1]));
        all.push(("classifier.high_classifier.bias".into(), vec![classes]));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_network_has_torchvision_s_number_of_parameters() {
        // As `sum(p.numel() for p in lraspp_mobilenet_v3_large(num_classes=21).parameters())` counts them.
        let learned = |classes| -> usize {
            let plan = Plan::new(Architecture::full(classes)).unwrap();
            plan.parameters()
                .iter()
                .filter(|(name, _)| !name.contains("running"))
                .map(|(_, shape)| shape.iter().product::<usize>())
                .sum()
        };
        assert_eq!(learned(21), 3_221_538);
        assert_eq!(learned(19), 3_221_538 - 2 * (40 + 128 + 2));
        let narrow = Plan::new(Architecture::narrow(7, 0.5)).unwrap();
        assert_eq!((narrow.low_channels(), narrow.last.outputs, narrow.head.outputs), (24, 480, 64));
    }

    #[test]
    fn impossible_networks_are_refused() {
        for bad in [Architecture::full(1), Architecture { width: 0.0, ..Architecture::full(7) }] {
            assert!(Plan::new(bad).is_err());
        }
        assert!(Plan::new(Architecture { width: f64::NAN, ..Architecture::full(7) }).is_err());
    }
}
