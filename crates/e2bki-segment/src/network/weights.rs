//! Parameters by name, in safetensors files: our own, which say what they are, and torchvision's.

use std::collections::BTreeMap;
use std::path::Path;

use half::f16;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use super::plan::{Architecture, Plan};
use crate::error::{Result, SegmentError};
use crate::infer::{Description, Kind};

/// Largest file of weights that is read.
const MAX_BYTES: u64 = 1 << 30;
/// The key under which our files say what they are.
const KEY: &str = "e2bki";

/// What a network is and how it wants to be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Its parts.
    pub architecture: Architecture,
    /// Names of the classes; empty where unknown.
    pub classes: Vec<String>,
    /// How images become inputs and what the outputs mean.
    pub description: Description,
    /// Where it comes from.
    pub note: String,
}

/// Something else that is stored in a file of weights.
pub(crate) struct Extra {
    pub(crate) name: String,
    pub(crate) kind: Dtype,
    pub(crate) count: usize,
    pub(crate) bytes: Vec<u8>,
}

/// All parameters of a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    about: About,
    values: BTreeMap<String, Vec<f32>>,
}

impl Weights {
    /// From values by name, which must be those of the plan.
    pub(super) fn from_values(about: About, values: BTreeMap<String, Vec<f32>>) -> Self {
        Self { about, values }
    }

    /// What the network is.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// What the network is, to be changed; its architecture stays what its parameters are.
    pub fn about_mut(&mut self) -> &mut About {
        &mut self.about
    }

    /// The plan.
    pub fn plan(&self) -> Result<Plan> {
        Plan::new(self.about.architecture)
    }

    /// A parameter.
    pub fn get(&self, name: &str) -> Option<&[f32]> {
        self.values.get(name).map(Vec::as_slice)
    }

    /// A parameter to be changed; empty where there is none of that name.
    pub(crate) fn get_mut(&mut self, name: &str) -> &mut [f32] {
        self.values.get_mut(name).map_or(&mut [], Vec::as_mut_slice)
    }

    /// Sets all values of a parameter.
    pub fn set(&mut self, name: &str, value: f32) {
        self.get_mut(name).fill(value);
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.values.values().map(Vec::len).sum()
    }

    /// Whether there are none; a network has some.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Reads a file.
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = read(path)?;
        Self::from_bytes(&bytes, &path.display().to_string())
    }

    /// From the bytes of a safetensors file; `name` is for messages.
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        let tensors = parse(bytes, name)?;
        let about = match about(bytes, name)? {
            Some(about) => about,
            None => guessed(&tensors, name)?,
        };
        let plan = Plan::new(about.architecture)?;
        let mut values = BTreeMap::new();
        for (parameter, shape) in plan.parameters() {
            let tensor = tensors
                .tensor(&parameter)
                .map_err(|_| SegmentError::model(name, format!("parameter `{parameter}` is missing")))?;
            if tensor.shape() != shape {
                let what = format!("parameter `{parameter}` has the shape {:?}, not {shape:?}", tensor.shape());
                return Err(SegmentError::model(name, what));
            }
            values.insert(parameter.clone(), numbers(&tensor, &parameter, name)?);
        }
        Ok(Self { about, values })
    }

    /// Takes over the parameters of another network that fit, such as a backbone trained on ImageNet (`features.…` is
    /// torchvision's name of `backbone.…`); returns how many were taken.
    pub fn adopt(&mut self, path: &Path) -> Result<usize> {
        let bytes = read(path)?;
        let name = path.display().to_string();
        let tensors = parse(&bytes, &name)?;
        let mut taken = 0;
        for (parameter, shape) in self.plan()?.parameters() {
            let other = parameter.replacen("backbone.", "features.", 1);
            let Ok(tensor) = tensors.tensor(&parameter).or_else(|_| tensors.tensor(&other)) else { continue };
            if tensor.shape() == shape {
                self.values.insert(parameter.clone(), numbers(&tensor, &parameter, &name)?);
                taken += 1;
            }
        }
        if taken == 0 {
            return Err(SegmentError::model(name, "none of its parameters fits this network"));
        }
        Ok(taken)
    }

    /// Whether all values are numbers.
    pub(crate) fn is_finite(&self) -> bool {
        self.values.values().flatten().all(|v| v.is_finite())
    }

    /// The bytes of a file; `compact` stores halves, in half the room, but for parameters that halves cannot hold.
    pub fn to_bytes(&self, compact: bool) -> Result<Vec<u8>> {
        self.to_bytes_with(compact, &[])
    }

    /// The same with more in the file.
    pub(crate) fn to_bytes_with(&self, compact: bool, extra: &[Extra]) -> Result<Vec<u8>> {
        let plan = self.plan()?;
        let about = serde_json::to_string(&self.about).map_err(|e| SegmentError::Request(e.to_string()))?;
        let mut parts = Vec::new();
        for (name, shape) in plan.parameters() {
            let values = self.get(&name).unwrap_or(&[]);
            // A variance above 65,504 would become infinite.
            let halves = compact && values.iter().all(|v| f16::from_f32(*v).is_finite());
            let (kind, bytes): (Dtype, Vec<u8>) = if halves {
                (Dtype::F16, values.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect())
            } else {
                (Dtype::F32, values.iter().flat_map(|v| v.to_le_bytes()).collect())
            };
            parts.push((name, shape, kind, bytes));
        }
        let failed = |error: safetensors::SafeTensorError| SegmentError::Request(error.to_string());
        let mut views = Vec::new();
        for (name, shape, kind, bytes) in &parts {
            views.push((name.as_str(), TensorView::new(*kind, shape.clone(), bytes).map_err(failed)?));
        }
        for extra in extra {
            let view = TensorView::new(extra.kind, vec![extra.count], &extra.bytes).map_err(failed)?;
            views.push((extra.name.as_str(), view));
        }
        safetensors::serialize(views, Some([(KEY.to_string(), about)].into_iter().collect())).map_err(failed)
    }

    /// Writes a file, whole or not at all.
    pub fn save(&self, path: &Path, compact: bool) -> Result<()> {
        crate::files::write(path, &self.to_bytes(compact)?)
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let size = std::fs::metadata(path).map_err(SegmentError::io("read", path))?.len();
    if size > MAX_BYTES {
        return Err(SegmentError::model(path.display(), format!("{size} bytes; at most {MAX_BYTES} are read")));
    }
    std::fs::read(path).map_err(SegmentError::io("read", path))
}

fn parse<'a>(bytes: &'a [u8], name: &str) -> Result<SafeTensors<'a>> {
    SafeTensors::deserialize(bytes)
        .map_err(|error| SegmentError::model(name, format!("not a whole safetensors file: {error}")))
}

fn about(bytes: &[u8], name: &str) -> Result<Option<About>> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| SegmentError::model(name, error))?;
    let Some(text) = metadata.metadata().as_ref().and_then(|all| all.get(KEY)) else { return Ok(None) };
    let what = |error: serde_json::Error| SegmentError::model(name, format!("what it says of itself: {error}"));
    let about: About = serde_json::from_str(text).map_err(what)?;
    about.description.check().map_err(|wrong| SegmentError::model(name, format!("what it says of itself: {wrong}")))?;
    Ok(Some(about))
}

/// What a file of another program is, by the shapes of its parameters.
fn guessed(tensors: &SafeTensors<'_>, name: &str) -> Result<About> {
    let outputs = |parameter: &str| {
        tensors.tensor(parameter).ok().and_then(|t| t.shape().first().copied()).ok_or_else(|| {
            SegmentError::model(name, format!("not an LRASPP MobileNetV3-Large: `{parameter}` is missing"))
        })
    };
    let classes = outputs("classifier.low_classifier.weight")?;
    let (head, deep) = (outputs("classifier.cbr.0.weight")?, outputs("backbone.16.0.weight")?);
    let widths = [1.0, 0.75, 0.5, 0.35, 0.25].map(|width| Architecture { classes, width, head });
    let fits = |architecture: &Architecture| Plan::new(*architecture).is_ok_and(|plan| plan.last.outputs == deep);
    let Some(architecture) = widths.into_iter().find(fits) else {
        return Err(SegmentError::model(name, format!("a backbone that ends in {deep} channels is not known")));
    };
    let mut description = Description::default();
    // Torchvision's are ordinary networks; a description beside the file may say otherwise.
    description.output.kind = Kind::Logits;
    description.input.size = Some([512, 384]);
    Ok(About { architecture, classes: Vec::new(), description, note: "weights of another program".into() })
}

fn numbers(tensor: &TensorView<'_>, parameter: &str, name: &str) -> Result<Vec<f32>> {
    let values: Vec<f32> = match tensor.dtype() {
        Dtype::F32 => tensor.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
        Dtype::F16 => tensor.data().as_chunks::<2>().0.iter().map(|b| f16::from_le_bytes(*b).to_f32()).collect(),
        other => {
            let what = format!("parameter `{parameter}` is of type {other:?}; F32 or F16 is expected");
            return Err(SegmentError::model(name, what));
        }
    };
    if values.iter().any(|v| !v.is_finite()) {
        return Err(SegmentError::model(name, format!("parameter `{parameter}` holds values that are not numbers")));
    }
    Ok(values)
}
