//! Checkpoints: weights that any command can use, and the optimiser state needed to resume.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use super::adam::Adam;
use super::options::TrainOptions;
use super::trainer::Epoch;
use crate::error::{Error, Result};
use crate::network::{Extra, Weights};

const STATE: &str = "training.json";

#[derive(Serialize, Deserialize)]
struct State {
    options: TrainOptions,
    #[serde(default)]
    source: BTreeMap<String, String>,
    step: u64,
    history: Vec<Epoch>,
}

/// The contents of a checkpoint.
pub(super) struct Checkpoint {
    pub(super) weights: Weights,
    pub(super) adam: Adam,
    pub(super) options: TrainOptions,
    pub(super) source: BTreeMap<String, String>,
    pub(super) history: Vec<Epoch>,
}

pub(super) fn save(
    path: &Path,
    weights: &Weights,
    adam: &Adam,
    options: &TrainOptions,
    source: &BTreeMap<String, String>,
    history: &[Epoch],
) -> Result<()> {
    let (options, source, history) = (options.clone(), source.clone(), history.to_vec());
    let state = State { options, source, step: adam.step, history };
    let state = serde_json::to_vec(&state).map_err(|error| Error::Request(error.to_string()))?;
    let mut extra = vec![Extra { name: STATE.into(), kind: Dtype::U8, count: state.len(), bytes: state }];
    for (which, moments) in [("first", &adam.first), ("second", &adam.second)] {
        for (name, values) in moments {
            let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            extra.push(Extra { name: format!("adam.{which}.{name}"), kind: Dtype::F32, count: values.len(), bytes });
        }
    }
    crate::files::write(path, &weights.to_bytes_with(false, &extra)?)
}

pub(super) fn open(path: &Path) -> Result<Checkpoint> {
    let bad = |what: &dyn std::fmt::Display| Error::model(path.display(), what);
    let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
    let weights = Weights::from_bytes(&bytes, &path.display().to_string())?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|error| bad(&error))?;
    let state = tensors.tensor(STATE).map_err(|_| bad(&"it is a network, not a checkpoint of a training run"))?;
    let state: State = serde_json::from_slice(state.data()).map_err(|error| bad(&error))?;
    let mut adam = Adam { step: state.step, ..Adam::default() };
    for (name, tensor) in tensors.iter() {
        let (moments, parameter) = match name.split_once("adam.first.").or(name.split_once("adam.second.")) {
            Some(("", parameter)) if name.starts_with("adam.first.") => (&mut adam.first, parameter),
            Some(("", parameter)) => (&mut adam.second, parameter),
            _ => continue,
        };
        let values: Vec<f32> = tensor.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        if weights.get(parameter).is_none_or(|w| w.len() != values.len()) {
            return Err(bad(&format!("`{name}` does not match the network")));
        }
        moments.insert(parameter.to_string(), values);
    }
    Ok(Checkpoint { weights, adam, options: state.options, source: state.source, history: state.history })
}
