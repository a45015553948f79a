//! Parameters by name, in safetensors files: our own, which carry metadata, and torchvision's.

use std::collections::BTreeMap;
use std::path::Path;

use half::f16;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use super::plan::{Architecture, Plan};
use crate::error::{Error, Result};
use crate::infer::{Description, Kind};

/// Maximum size of a weights file.
const MAX_BYTES: u64 = 1 << 30;
/// The safetensors metadata key of our files.
const KEY: &str = "e2bki";

/// Metadata of a network: architecture, classes, input and output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// Hyperparameters.
    pub architecture: Architecture,
    /// Names of the classes; empty where unknown.
    pub classes: Vec<String>,
    /// Preprocessing of images and meaning of the outputs.
    pub description: Description,
    /// Provenance.
    pub note: String,
}

/// An extra tensor stored in a weights file.
pub(crate) struct Extra {
    pub(crate) name: String,
    pub(crate) kind: Dtype,
    pub(crate) count: usize,
    pub(crate) bytes: Vec<u8>,
}

/// All parameters of a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    metadata: Metadata,
    values: BTreeMap<String, Vec<f32>>,
}

impl Weights {
    /// From values by name, which must match the layout.
    pub(super) fn from_values(metadata: Metadata, values: BTreeMap<String, Vec<f32>>) -> Self {
        Self { metadata, values }
    }

    /// The network's metadata.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Mutable metadata; do not change the architecture, which must match the parameters.
    pub fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    /// The layout.
    pub fn plan(&self) -> Result<Plan> {
        Plan::new(self.metadata.architecture)
    }

    /// A parameter.
    pub fn get(&self, name: &str) -> Option<&[f32]> {
        self.values.get(name).map(Vec::as_slice)
    }

    /// A mutable parameter; empty if there is none of that name.
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

    /// Whether there are no parameters.
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
        let metadata = match metadata(bytes, name)? {
            Some(metadata) => metadata,
            None => infer_metadata(&tensors, name)?,
        };
        let plan = Plan::new(metadata.architecture)?;
        let mut values = BTreeMap::new();
        for (parameter, shape) in plan.parameters() {
            let tensor = tensors
                .tensor(&parameter)
                .map_err(|_| Error::model(name, format!("parameter `{parameter}` is missing")))?;
            if tensor.shape() != shape {
                let what = format!("parameter `{parameter}` has the shape {:?}, not {shape:?}", tensor.shape());
                return Err(Error::model(name, what));
            }
            values.insert(parameter.clone(), numbers(&tensor, &parameter, name)?);
        }
        Ok(Self { metadata, values })
    }

    /// Loads the parameters of another network that match by name and shape, such as a backbone pretrained on ImageNet
    /// (torchvision calls it `features.…` instead of `backbone.…`); returns the number loaded.
    pub fn load_pretrained(&mut self, path: &Path) -> Result<usize> {
        let bytes = read(path)?;
        let name = path.display().to_string();
        let tensors = parse(&bytes, &name)?;
        let mut loaded = 0;
        for (parameter, shape) in self.plan()?.parameters() {
            let other = parameter.replacen("backbone.", "features.", 1);
            let Ok(tensor) = tensors.tensor(&parameter).or_else(|_| tensors.tensor(&other)) else { continue };
            if tensor.shape() == shape {
                self.values.insert(parameter.clone(), numbers(&tensor, &parameter, &name)?);
                loaded += 1;
            }
        }
        if loaded == 0 {
            return Err(Error::model(name, "none of its parameters matches this network"));
        }
        Ok(loaded)
    }

    /// Whether all values are finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.values.values().flatten().all(|v| v.is_finite())
    }

    /// The bytes of a file; `compact` stores half precision, except for parameters out of its range.
    pub fn to_bytes(&self, compact: bool) -> Result<Vec<u8>> {
        self.to_bytes_with(compact, &[])
    }

    /// The same with extra tensors.
    pub(crate) fn to_bytes_with(&self, compact: bool, extra: &[Extra]) -> Result<Vec<u8>> {
        let plan = self.plan()?;
        let metadata = serde_json::to_string(&self.metadata).map_err(|e| Error::Request(e.to_string()))?;
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
        let failed = |error: safetensors::SafeTensorError| Error::Request(error.to_string());
        let mut views = Vec::new();
        for (name, shape, kind, bytes) in &parts {
            views.push((name.as_str(), TensorView::new(*kind, shape.clone(), bytes).map_err(failed)?));
        }
        for extra in extra {
            let view = TensorView::new(extra.kind, vec![extra.count], &extra.bytes).map_err(failed)?;
            views.push((extra.name.as_str(), view));
        }
        safetensors::serialize(views, Some([(KEY.to_string(), metadata)].into_iter().collect())).map_err(failed)
    }

    /// Writes a file atomically.
    pub fn save(&self, path: &Path, compact: bool) -> Result<()> {
        crate::files::write(path, &self.to_bytes(compact)?)
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let size = std::fs::metadata(path).map_err(Error::io("read", path))?.len();
    if size > MAX_BYTES {
        return Err(Error::model(path.display(), format!("{size} bytes; at most {MAX_BYTES} are read")));
    }
    std::fs::read(path).map_err(Error::io("read", path))
}

fn parse<'a>(bytes: &'a [u8], name: &str) -> Result<SafeTensors<'a>> {
    SafeTensors::deserialize(bytes)
        .map_err(|error| Error::model(name, format!("not a whole safetensors file: {error}")))
}

fn metadata(bytes: &[u8], name: &str) -> Result<Option<Metadata>> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| Error::model(name, error))?;
    let Some(text) = metadata.metadata().as_ref().and_then(|all| all.get(KEY)) else { return Ok(None) };
    let bad = |what: String| Error::model(name, format!("bad metadata `{KEY}`: {what}"));
    let metadata: Metadata = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
    metadata.description.check().map_err(|wrong| bad(wrong.to_string()))?;
    Ok(Some(metadata))
}

/// Metadata of a file of another program, inferred from the shapes of its parameters.
fn infer_metadata(tensors: &SafeTensors<'_>, name: &str) -> Result<Metadata> {
    let outputs = |parameter: &str| {
        tensors
            .tensor(parameter)
            .ok()
            .and_then(|t| t.shape().first().copied())
            .ok_or_else(|| Error::model(name, format!("not an LRASPP MobileNetV3-Large: `{parameter}` is missing")))
    };
    let classes = outputs("classifier.low_classifier.weight")?;
    let (head, deep) = (outputs("classifier.cbr.0.weight")?, outputs("backbone.16.0.weight")?);
    let widths = [1.0, 0.75, 0.5, 0.35, 0.25].map(|width| Architecture { classes, width, head });
    let fits = |architecture: &Architecture| Plan::new(*architecture).is_ok_and(|plan| plan.last.outputs == deep);
    let Some(architecture) = widths.into_iter().find(fits) else {
        return Err(Error::model(name, format!("unknown backbone: it ends in {deep} channels")));
    };
    let mut description = Description::default();
    // Torchvision's networks are not evidential; a description beside the file may say otherwise.
    description.output.kind = Kind::Logits;
    description.input.size = Some([512, 384]);
    Ok(Metadata { architecture, classes: Vec::new(), description, note: "weights of another program".into() })
}

fn numbers(tensor: &TensorView<'_>, parameter: &str, name: &str) -> Result<Vec<f32>> {
    let values: Vec<f32> = match tensor.dtype() {
        Dtype::F32 => tensor.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
        Dtype::F16 => tensor.data().as_chunks::<2>().0.iter().map(|b| f16::from_le_bytes(*b).to_f32()).collect(),
        other => {
            let what = format!("parameter `{parameter}` is of type {other:?}; F32 or F16 is expected");
            return Err(Error::model(name, what));
        }
    };
    if values.iter().any(|v| !v.is_finite()) {
        return Err(Error::model(name, format!("parameter `{parameter}` holds NaN or infinite values")));
    }
    Ok(values)
}
