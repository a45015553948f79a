//! Learning the kernels of ConvBKI from frames with true classes.

use e2bki::cluster::Rng;
use e2bki::maths::ln;
use e2bki::{ClassSet, Error, Result};

use super::adam::Adam;
use super::kernels::{ConvKernels, LEAST_M, MOST_M};
use super::loss::Loss;
use super::sample::{Sample, SampleSource};

/// How to train. The defaults are the published ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrainOptions {
    /// Frames of a sample: the one with true classes and those before it.
    pub window: usize,
    /// Passes over the samples. 15 are configured in the published code; the kernels it ships are those after one.
    pub epochs: usize,
    /// Samples per step.
    pub batch: usize,
    /// Learning rate of Adam in the first epoch.
    pub learning_rate: f64,
    /// Factor on the learning rate after every epoch.
    pub decay: f64,
    /// Seed of the order of the samples.
    pub seed: u64,
    /// Most voxels with true classes in a sample, spread evenly; bounds memory to 72 bytes times classes for each.
    pub most_places: usize,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self { window: 10, epochs: 15, batch: 2, learning_rate: 0.007, decay: 0.96, seed: 42, most_places: 4096 }
    }
}

impl TrainOptions {
    pub(super) fn check(&self) -> Result<()> {
        let bad = |name, found: String, allowed: &str| Err(Error::Argument { name, found, allowed: allowed.into() });
        for (name, value) in
            [("window", self.window), ("epochs", self.epochs), ("batch", self.batch), ("most_places", self.most_places)]
        {
            if value == 0 {
                return bad(name, "0".into(), "1 or more");
            }
        }
        if !(0.0..=1.0).contains(&self.learning_rate) {
            return bad("learning_rate", self.learning_rate.to_string(), "0 to 1");
        }
        if !(0.0..=1.0).contains(&self.decay) {
            return bad("decay", self.decay.to_string(), "0 to 1");
        }
        Ok(())
    }
}

/// How far training is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Epoch, from 1.
    pub epoch: usize,
    /// Samples seen in this epoch.
    pub samples: usize,
    /// Samples of an epoch.
    pub of: usize,
    /// Mean loss of this epoch so far.
    pub loss: f64,
}

/// Result of training.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainOutcome {
    /// The kernels.
    pub kernels: ConvKernels,
    /// Mean loss of every epoch, each batch before its step.
    pub losses: Vec<f64>,
}

/// Learns kernels, starting from 0.5 m. `progress` is called after every step.
pub fn train(
    classes: &ClassSet,
    samples: &(impl SampleSource + ?Sized),
    options: &TrainOptions,
    mut progress: impl FnMut(&Progress),
) -> Result<TrainOutcome> {
    options.check()?;
    let weights = class_weights(classes.len(), samples)?;
    let mut kernels = ConvKernels::initial(classes.len());
    let mut adam = Adam::new(2 * classes.len());
    let mut rng = Rng::new(options.seed);
    let mut order: Vec<usize> = (0..samples.count()).collect();
    let mut losses = Vec::with_capacity(options.epochs);
    let mut rate = options.learning_rate;
    for epoch in 1..=options.epochs {
        shuffle(&mut order, &mut rng);
        let (mut sum, mut weight, mut seen) = (0.0, 0.0, 0);
        for batch in order.chunks(options.batch) {
            let batch = batch.iter().map(|i| samples.sample(*i)).collect::<Result<Vec<_>>>()?;
            let loss = Loss::of(batch.iter().map(AsRef::as_ref), &kernels, &weights);
            let values = kernels.horizontal.iter_mut().chain(&mut kernels.vertical);
            adam.step(values, &loss.gradient, rate);
            let values = kernels.horizontal.iter_mut().chain(&mut kernels.vertical);
            values.for_each(|value| *value = value.clamp(LEAST_M, MOST_M));
            sum += loss.value * loss.weight;
            weight += loss.weight;
            seen += batch.len();
            progress(&Progress { epoch, samples: seen, of: order.len(), loss: sum / weight.max(f64::MIN_POSITIVE) });
        }
        losses.push(sum / weight.max(f64::MIN_POSITIVE));
        rate *= options.decay;
    }
    Ok(TrainOutcome { kernels, losses })
}

/// 1/ln(count) of every class. Counts below 3 are taken as 3, where the formula would explode or turn negative; classes
/// that do not occur weigh nothing.
fn class_weights(classes: usize, samples: &(impl SampleSource + ?Sized)) -> Result<Vec<f64>> {
    let mut counts = vec![0_u64; classes];
    let mut first = None;
    for i in 0..samples.count() {
        let sample = samples.sample(i)?;
        let sample: &Sample = &sample;
        if sample.classes != classes {
            return Err(Error::Classes(format!("sample {i} has {} classes, {classes} are given", sample.classes)));
        }
        let terms = (sample.resolution, sample.prior);
        let expected = *first.get_or_insert(terms);
        if expected != terms {
            return Err(Error::Argument {
                name: "samples",
                found: format!("resolution and prior {terms:?} in sample {i}"),
                allowed: format!("those of the first sample, {expected:?}"),
            });
        }
        counts.iter_mut().zip(&sample.counts).for_each(|(a, b)| *a += b);
    }
    if counts.iter().all(|count| *count == 0) {
        return Err(Error::Argument {
            name: "samples",
            found: format!("{} samples without any point of known class", samples.count()),
            allowed: "at least one point of known class".into(),
        });
    }
    let weight = |count: &u64| if *count == 0 { 0.0 } else { 1.0 / ln((*count).max(3) as f64 + 1e-5) };
    Ok(counts.iter().map(weight).collect())
}

fn shuffle(order: &mut [usize], rng: &mut Rng) {
    for i in (1..order.len()).rev() {
        order.swap(i, rng.below(i + 1));
    }
}
