//! Learning from ground truth of frames that are not queried: ConvBKI's kernels, once per dataset and kept in
//! the experiment's folder, and how far a network can be trusted.

use anyhow::{Context as _, Result, bail};
use e2bki::Config;
use e2bki_baselines::{ConvKernels, TrainOptions, Window, train};
use e2bki_eval::{ClassCalibration, LabelledFrame, SourceCalibration};

use super::context::Context;
use super::dataset::Dataset;
use super::state::key;
use crate::table;

/// Frames that the trust in a network is learned from.
const CALIBRATION_FRAMES: usize = 20;

impl Context {
    /// Kernels for a dataset, learned from a drive that is not asked about.
    pub(super) fn conv_kernels(&mut self, dataset: &Dataset) -> Result<ConvKernels> {
        let trainings = dataset.trainings(&self.simulation())?;
        let of: Vec<(&Dataset, usize)> = trainings.iter().map(|(training, step)| (training, *step)).collect();
        let kernels = self.learn(&of)?;
        if kernels == ConvKernels::initial(dataset.classes.len()) {
            self.untaught.insert(dataset.identity.clone());
        }
        Ok(kernels)
    }

    /// Kernels learned from every so many frames of each of some datasets.
    pub(super) fn learn(&mut self, trainings: &[(&Dataset, usize)]) -> Result<ConvKernels> {
        let Some((first, _)) = trainings.first() else { bail!("there is nothing to learn kernels from") };
        let classes = first.classes.clone();
        // The published kernels are those after one epoch of thousands of samples; here are few, so that all epochs count.
        let options = TrainOptions::default();
        let identity: String = trainings.iter().map(|(of, step)| format!("{} {step} ", of.identity)).collect();
        let name = format!("convbki-{}.toml", key(&[&identity, &format!("{options:?}")]));
        let path = self.options.out.join(name);
        if let Ok(text) = std::fs::read_to_string(&path) {
            return ConvKernels::from_toml(&text, &classes)
                .with_context(|| format!("in {}; delete the file to train again", path.display()));
        }
        let bar = table::progress(trainings.iter().map(|(of, step)| of.frames / step).sum(), "training");
        let mut samples = Vec::new();
        for (training, step) in trainings {
            let mut window = Window::new(&classes, &self.their_config()?, &options)?;
            for index in (0..training.frames).step_by(*step) {
                let frame = training.frame(index)?;
                samples.push(window.push(&frame.borrow(), &frame.truth)?);
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        if samples.iter().all(|sample| sample.places() == 0) {
            self.note(
                "ConvBKI keeps its first kernels of 0.5 m: without ground truth there is nothing to learn from.",
            )?;
            return Ok(ConvKernels::initial(classes.len()));
        }
        let outcome = train(&classes, &samples, &options, |_| {})?;
        let failed = || format!("cannot write {}", path.display());
        let unfinished = path.with_extension("part");
        std::fs::write(&unfinished, outcome.kernels.to_toml(&classes)?).with_context(failed)?;
        std::fs::rename(&unfinished, &path).with_context(failed)?;
        Ok(outcome.kernels)
    }

    /// Our configuration with what was learned of a dataset's network from the frames that ConvBKI learns from; nothing
    /// where that changes nothing.
    pub(super) fn calibrated_config(&mut self, dataset: &Dataset) -> Result<Option<Config>> {
        let frames = self.calibration_frames(dataset)?;
        let learned = SourceCalibration::learn(&frames, &dataset.classes, &self.config(), || {})?;
        Ok(learned.filter(|learned| learned.best.is_some()).map(|learned| learned.config().clone()))
    }

    /// A configuration with what was learned of reach from the same frames: of all classes alike, and of single ones.
    pub(super) fn calibrated_by_class(&mut self, dataset: &Dataset, config: &Config) -> Result<[Config; 2]> {
        let frames = self.calibration_frames(dataset)?;
        let bar = table::progress(ClassCalibration::most_steps(dataset.classes.len()), "reach");
        let learned = ClassCalibration::learn(&frames, &dataset.classes, &self.config(), config, || bar.inc(1))?;
        bar.finish_and_clear();
        let of = |learned: &ClassCalibration| [learned.common().clone(), learned.config().clone()];
        Ok(learned.as_ref().map_or_else(|| [config.clone(), config.clone()], of))
    }

    fn calibration_frames(&self, dataset: &Dataset) -> Result<Vec<LabelledFrame>> {
        let (training, step) = dataset.training(&self.simulation())?;
        let step = step.max(training.frames.div_ceil(CALIBRATION_FRAMES));
        (0..training.frames).step_by(step).map(|i| training.frame(i)).collect()
    }
}
