//! Epochs of training, each with scores and a checkpoint.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::adam::Adam;
use super::concern::Concern;
use super::options::TrainOptions;
use super::samples::Samples;
use super::score::{Scores, score};
use super::{batch, checkpoint};
use crate::error::{Result, SegmentError};
use crate::infer::{Description, Kind};
use crate::loss::annealed;
use crate::network::{About, Architecture, Chance, Lraspp, Weights};

/// Name of the file to go on from.
const CHECKPOINT: &str = "checkpoint.safetensors";

/// What an epoch came to.
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
    /// Step length.
    pub learning_rate: f64,
    /// How long it took, scores included.
    pub seconds: f64,
    /// Scores on the images held back.
    pub scores: Scores,
    /// A sign that nothing is learned.
    #[serde(default)]
    pub concern: Option<Concern>,
}

impl Epoch {
    /// Data term + weight × divergence.
    pub fn loss(&self) -> f64 {
        self.data + self.weight * self.divergence
    }
}

/// Where training is.
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
    /// A network that knows nothing yet; checkpoints go to `folder`.
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
        let about = About { architecture, classes, description, note: String::new() };
        let weights = Weights::fresh(about, options.seed)?;
        std::fs::create_dir_all(folder).map_err(SegmentError::io("create", folder))?;
        let (source, adam, history) = (BTreeMap::new(), Adam::default(), Vec::new());
        Ok(Self { options, source, weights, adam, history, folder: folder.into() })
    }

    /// A run that was begun in `folder`; nothing where none was.
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

    /// Its settings.
    pub fn options(&self) -> &TrainOptions {
        &self.options
    }

    /// Where its images come from, in the words of whoever chose them: kept in the checkpoint, so that a run is not gone
    /// on with on other images.
    pub fn source(&self) -> &BTreeMap<String, String> {
        &self.source
    }

    /// Says where the images come from.
    pub fn set_source(&mut self, source: BTreeMap<String, String>) {
        self.source = source;
    }

    /// Another number of epochs than the run was begun with.
    pub fn set_epochs(&mut self, epochs: usize) {
        self.options.epochs = epochs;
    }

    /// The network as it is.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The network as it is, to be changed: other first weights, another description.
    pub fn weights_mut(&mut self) -> &mut Weights {
        &mut self.weights
    }

    /// The epochs so far.
    pub fn history(&self) -> &[Epoch] {
        &self.history
    }

    /// Trains for the epochs that are left, writing a checkpoint after each.
    pub fn run(
        &mut self,
        train: &Samples,
        validation: &Samples,
        mut step: impl FnMut(Progress),
        mut epoch: impl FnMut(&Epoch),
    ) -> Result<()> {
        if train.is_empty() {
            return Err(SegmentError::Request("there is no labelled image to learn from".into()));
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
        // The order depends on the epoch alone: a resumed run is the same run.
        let mut chance = Chance::new(self.options.seed ^ (number as u64) << 32);
        let order = chance.order(train.len());
        let batch = self.options.batch.min(train.len());
        let (steps, mut data, mut divergence) = (train.len() / batch, 0.0, 0.0);
        for (at, which) in order.chunks_exact(batch).enumerate() {
            let mirror = self.options.mirror.then_some(&mut chance);
            let (images, labels) = train.batch(which, &self.weights.about().description.input, mirror);
            let (outputs, tape) = network.look_to_learn(&mut self.weights, images, self.adam.step);
            let (loss, gradient) = batch::loss(&outputs, &labels, self.options.loss, self.options.void, weight);
            let total = loss.data + weight * loss.divergence;
            if !total.is_finite() || gradient.values.iter().any(|g| !g.is_finite()) {
                return Err(self.diverged(number, at + 1));
            }
            let gradients = network.learn(&self.weights, &tape, &gradient);
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
        let concern = Concern::of(number, data, &scores, self.history.first().map(|epoch| epoch.data));
        Ok(Epoch { number, data, divergence, weight, learning_rate, seconds, scores, concern })
    }

    fn diverged(&self, epoch: usize, step: usize) -> SegmentError {
        let path = self.folder.join(CHECKPOINT);
        SegmentError::Diverged { epoch, step, last_good: path.is_file().then_some(path) }
    }
}
