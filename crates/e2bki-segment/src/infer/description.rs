//! A network's input and output, described in a small TOML file beside the model.

use std::path::Path;

use e2bki_data::ValueKind;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::evidence::EvidenceFunction;

/// Description of a network's input and output.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Description {
    /// Preprocessing of images.
    pub input: Input,
    /// Meaning of the outputs.
    pub output: Output,
}

/// Preprocessing: the image is resized, its colours are divided by 255, normalised by mean and std.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Input {
    /// Width and height; needed only if the model accepts any size.
    pub size: Option<[usize; 2]>,
    /// Subtracted, per channel in the order of the input.
    pub mean: [f32; 3],
    /// Divided by.
    pub std: [f32; 3],
    /// Order of the colours.
    pub order: Order,
    /// Order of the axes of input and output.
    pub layout: Layout,
}

impl Default for Input {
    fn default() -> Self {
        // ImageNet's statistics, the usual choice.
        Self {
            size: None,
            mean: [0.485, 0.456, 0.406],
            std: [0.229, 0.224, 0.225],
            order: Order::Rgb,
            layout: Layout::Nchw,
        }
    }
}

/// Order of the colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // usual names
pub enum Order {
    #[default]
    Rgb,
    Bgr,
}

/// Order of the axes: channels before or after rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // usual names
pub enum Layout {
    #[default]
    Nchw,
    Nhwc,
}

/// Meaning of the outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// Name of the output to use, if there are several.
    pub name: Option<String>,
    /// logits, probabilities, evidential-logits, evidence or dirichlet.
    pub kind: Kind,
    /// Evidence function of evidential logits: exp, softplus or relu.
    pub activation: EvidenceFunction,
    /// Meaning of the channels: a label space of the class table (`cityscapes`), or `classes`.
    pub ids: Option<String>,
    /// Source of the uncertainty of a softmax network.
    pub uncertainty: Uncertainty,
    /// Outputs before softmax or exponential are divided by this.
    pub temperature: f32,
    /// Evidence is multiplied by this.
    pub evidence_scale: f32,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            name: None,
            kind: Kind::Logits,
            activation: EvidenceFunction::Exp,
            ids: None,
            uncertainty: Uncertainty::Entropy,
            temperature: 1.0,
            evidence_scale: 1.0,
        }
    }
}

/// Kind of an output value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Before softmax.
    #[default]
    Logits,
    /// After softmax.
    Probabilities,
    /// Of an evidential network, before the evidence function.
    EvidentialLogits,
    /// Evidence e.
    Evidence,
    /// α = e + 1.
    Dirichlet,
}

/// Source of the uncertainty of a softmax network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Uncertainty {
    /// u is the entropy of the probabilities divided by ln C.
    #[default]
    Entropy,
    /// Logits minus their mean, divided by the temperature, are taken as log-evidence.
    Evidence,
}

impl Description {
    /// Reads a file.
    pub fn open(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
        Self::from_toml(&text).map_err(|what| Error::model(path.display(), what))
    }

    /// Reads the description beside a model: the `.toml` file of the same name, if there is one.
    pub fn beside(model: &Path) -> Result<Option<Self>> {
        let path = model.with_extension("toml");
        if path.is_file() { Self::open(&path).map(Some) } else { Ok(None) }
    }

    /// From text; the error says which field is wrong.
    pub fn from_toml(text: &str) -> std::result::Result<Self, String> {
        let description: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        description.check()?;
        Ok(description)
    }

    /// As text.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|error| Error::Request(error.to_string()))
    }

    /// Checks every number, wherever they come from.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let within = |field: &str, value: f32, low: f32, high: f32| {
            let message = || format!("`{field}` is {value}; it must be between {low} and {high}");
            if (low..=high).contains(&value) { Ok(()) } else { Err(message()) }
        };
        for i in 0..3 {
            within("input.mean", self.input.mean[i], -1000.0, 1000.0)?;
            within("input.std", self.input.std[i], 1e-6, 1000.0)?;
        }
        for side in self.input.size.into_iter().flatten() {
            within("input.size", side as f32, 8.0, 8192.0)?;
        }
        within("output.temperature", self.output.temperature, 1e-3, 1e3)?;
        within("output.evidence_scale", self.output.evidence_scale, 1e-6, 1e6)
    }

    /// Kind of the decoded values: see [`Segmenter::segment`](super::Segmenter::segment).
    pub fn value_kind(&self) -> ValueKind {
        match (self.output.kind, self.output.uncertainty) {
            (Kind::Logits, Uncertainty::Entropy) => ValueKind::Logits,
            (Kind::Probabilities, Uncertainty::Entropy) => ValueKind::Probabilities,
            _ => ValueKind::Evidence,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_read_and_mistakes_are_named() {
        let text =
            "[input]\nsize = [1408, 384]\norder = \"bgr\"\n[output]\nkind = \"evidential-logits\"\nids = \"classes\"";
        let read = Description::from_toml(text).unwrap();
        assert_eq!((read.input.size, read.input.order), (Some([1408, 384]), Order::Bgr));
        assert_eq!(read.value_kind(), ValueKind::Evidence);
        assert_eq!(Description::from_toml("").unwrap().value_kind(), ValueKind::Logits);
        let wrong = |text: &str, word: &str| {
            let message = Description::from_toml(text).unwrap_err();
            assert!(message.contains(word), "{text}: {message}");
        };
        wrong("[input]\nstd = [0.1, 0.0, 0.1]", "input.std");
        wrong("[input]\nmean = [0.1, nan, 0.1]", "input.mean");
        wrong("[input]\nsize = [0, 40]", "input.size");
        wrong("[output]\nkind = \"labels\"", "labels");
        wrong("[output]\ntemperature = 0.0", "output.temperature");
        wrong("[output]\nclasses = 3", "classes");
        let whole = toml::to_string(&read).unwrap();
        assert_eq!(Description::from_toml(&whole).unwrap(), read);
    }
}
