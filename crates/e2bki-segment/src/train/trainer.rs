//! Epochs of training, each with scores and a checkpoint.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::adam::Adam;
use super::options::TrainOptions;
use super::samples::Samples;
use super::score::{Scores, score};
use super::warning::Warning;
use super::{batch, checkpoint};
use crate::error::{Error, Result};
use crate::infer::{Description, Kind};
use crate::loss::annealed;
use crate::network::{Architecture, Lraspp, Metadata, Rng, Weights};

/// File name of the checkpoint.
const CHECKPOINT: &str = "checkpoint.safetensors";

/// Results of an epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Counted from 1.
    pub number: usize,
    /// Mean data term over its steps.
    pub data: f64,
    /// Mean divergence over its steps.
    pub divergence: f64,
    /// Weight of the divergence (paper: λ).
    pub weight: f64,
    /// Learning rate.
    pub learning_rate: f64,
    /// Duration, including scoring.
    pub seconds: f64,
    /// Scores on the validation images.
    pub scores: Scores,
    /// A sign that training is not working.
    #[serde(default, alias = "concern")]
    pub warning: Option<Warning>,
}

impl Epoch {
    /// Data term + weight × divergence.
    pub fn loss(&self) -> f64 {
        self.data + self.weight * self.divergence
    }
}

/// Progress of training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Epoch, counted from 1.
    pub epoch: usize,
    /// Number of epochs.
    pub epochs: usize,
    /// Step, counted from 1.
    pub step: usize,
    /// Steps of an epoch.
    pub steps: usize,
    /// Loss of the step.
    pub loss: f64,
}

/// A network being trained.
#[derive(Debug)]
pub struct Trainer {
    options: TrainOptions,
    source: BTreeMap<String, String>,
    weights: Weights,
    adam: Adam,
    history: Vec<Epoch>,
    folder: PathBuf,
}

impl Trainer {
    /// Starts from random weights; checkpoints go to `folder`.
    pub fn new(options: TrainOptions, classes: Vec<String>, folder: &Path) -> Result<Self> {
        options.check()?;
        let mut description = Description::default();
        description.input.size = Some(options.size);
        description.output.kind = Kind::EvidentialLogits;
        description.output.activation = options.loss.activation;
        description.output.ids = Some("classes".into());
        let architecture = if options.width == 1.0 {
            Architecture::full(classes.len())
        } else {
            Architecture::narrow(classes.len(), options.width)
        };
        let metadata = Metadata { architecture, classes, description, note: String::new() };
        let weights = Weights::random(metadata, options.seed)?;
        std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let (source, adam, history) = (BTreeMap::new(), Adam::default(), Vec::new());
        Ok(Self { options, source, weights, adam, history, folder: folder.into() })
    }

    /// Resumes the run in `folder`; `None` if there is none.
    pub fn resume(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(CHECKPOINT);
        if !path.is_file() {
            return Ok(None);
        }
        let found = checkpoint::open(&path)?;
        Ok(Some(Self {
            options: found.options,
            source: found.source,
            weights: found.weights,
            adam: found.adam,
            history: found.history,
            folder: folder.into(),
        }))
    }

    /// Training options.
    pub fn options(&self) -> &TrainOptions {
        &self.options
    }

    /// Description of the training data, stored in the checkpoint, so that a run is not resumed with other data.
    pub fn source(&self) -> &BTreeMap<String, String> {
        &self.source
    }

    /// Sets the description of the training data.
    pub fn set_source(&mut self, source: BTreeMap<String, String>) {
        self.source = source;
    }

    /// Changes the number of epochs.
    pub fn set_epochs(&mut self, epochs: usize) {
        self.options.epochs = epochs;
    }

    /// The current weights.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Mutable weights: to load pretrained ones or change the description.
    pub fn weights_mut(&mut self) -> &mut Weights {
        &mut self.weights
    }

    /// Completed epochs.
    pub fn history(&self) -> &[Epoch] {
        &self.history
    }

    /// Trains for the remaining epochs, writing a checkpoint after each.
    pub fn run(
        &mut self,
        train: &Samples,
        validation: &Samples,
        mut step: impl FnMut(Progress),
        mut epoch: impl FnMut(&Epoch),
    ) -> Result<()> {
        if train.is_empty() {
            return Err(Error::Request("there is no labelled image to train on".into()));
        }
        while self.history.len() < self.options.epochs {
            let done = self.epoch(train, validation, &mut step)?;
            epoch(&done);
            self.history.push(done);
            let path = self.folder.join(CHECKPOINT);
            checkpoint::save(&path, &self.weights, &self.adam, &self.options, &self.source, &self.history)?;
        }
        Ok(())
    }

    fn epoch(&mut self, train: &Samples, validation: &Samples, progress: &mut impl FnMut(Progress)) -> Result<Epoch> {
        let start = Instant::now();
        let number = self.history.len() + 1;
        let network = Lraspp::new(self.weights.plan()?);
        let (weight, learning_rate) = (annealed(number), self.options.learning_rate_in(number));
        // The order depends on seed and epoch alone, so a resumed run is the same run.
        let mut rng = Rng::new(self.options.seed ^ (number as u64) << 32);
        let order = rng.permutation(train.len());
        let batch = self.options.batch.min(train.len());
        let (steps, mut data, mut divergence) = (train.len() / batch, 0.0, 0.0);
        for (at, which) in order.chunks_exact(batch).enumerate() {
            let flip = self.options.mirror.then_some(&mut rng);
            let (images, labels) = train.batch(which, &self.weights.metadata().description.input, flip);
            let (outputs, tape) = network.forward(&mut self.weights, images, self.adam.step);
            let (loss, gradient) = batch::loss(&outputs, &labels, self.options.loss, self.options.void, weight);
            let total = loss.data + weight * loss.divergence;
            if !total.is_finite() || gradient.values.iter().any(|g| !g.is_finite()) {
                return Err(self.diverged(number, at + 1));
            }
            let gradients = network.backward(&self.weights, &tape, &gradient);
            self.adam.step(&mut self.weights, &gradients, learning_rate);
            data += loss.data;
            divergence += loss.divergence;
            progress(Progress { epoch: number, epochs: self.options.epochs, step: at + 1, steps, loss: total });
        }
        if !self.weights.is_finite() {
            return Err(self.diverged(number, steps));
        }
        let scores = score(&self.weights, validation)?;
        let seconds = start.elapsed().as_secs_f64();
        let mean = |sum: f64| sum / steps as f64;
        let (data, divergence) = (mean(data), mean(divergence));
        let warning = Warning::of(number, data, &scores, self.history.first().map(|epoch| epoch.data));
        Ok(Epoch { number, data, divergence, weight, learning_rate, seconds, scores, warning })
    }

    fn diverged(&self, epoch: usize, step: usize) -> Error {
        let path = self.folder.join(CHECKPOINT);
        Error::Diverged { epoch, step, last_good: path.is_file().then_some(path) }
    }
}
