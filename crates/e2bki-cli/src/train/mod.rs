//! `e2bki train`: an evidential segmentation network from images and labels.

mod data;
mod report;
mod resume;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use e2bki_segment::network::Weights;
use e2bki_segment::train::{TrainOptions, Trainer, Void, calibrate, score};

use crate::{outputs, table};

/// Train an evidential segmentation network
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    e2bki train offroad-like --out run                    # simulated drives: nothing to download\n  \
    e2bki train Rellis-3D --preset paper-rellis --out run --init mobilenet_v3_large.safetensors\n  \
    e2bki train kitti360 --preset paper-kitti360 --fraction 0.1 --out run\n  \
    e2bki map kitti360 --semantics run/network.safetensors\n\n\
    DATASET is a folder with images and pixel labels (its own training and validation split is used if there is one,\n\
    else every tenth image is held out), or simulated drives: rellis-like, offroad-like or kitti360-like. The same\n\
    command resumes interrupted training.")]
pub(crate) struct Options {
    #[command(flatten)]
    source: data::SourceArguments,
    /// Output folder for checkpoint, network and report
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Settings to start from: small, paper-rellis, paper-offroad or paper-kitti360
    #[arg(long, default_value = "small", value_name = "NAME")]
    preset: String,
    /// Size of the images, as in 192x120
    #[arg(long, value_name = "WxH")]
    size: Option<String>,
    /// Width multiplier of MobileNetV3-Large
    #[arg(long, value_name = "SHARE")]
    width: Option<f64>,
    /// Number of epochs
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// Batch size
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// Initial learning rate
    #[arg(long, value_name = "RATE")]
    learning_rate: Option<f64>,
    /// Loss: log, digamma or mse
    #[arg(long, value_name = "NAME")]
    loss: Option<String>,
    /// Evidence function: exp, softplus or relu
    #[arg(long, value_name = "NAME")]
    evidence: Option<String>,
    /// Do not train the network to be uncertain at pixels without a class (sky, void)
    #[arg(long)]
    ignore_void: bool,
    /// Seed of the initial weights and of the order of images
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Pretrained weights: a .safetensors file with torchvision's names, whole network or backbone only
    #[arg(long, value_name = "FILE")]
    init: Option<PathBuf>,
    /// Do not fit temperature and scale of evidence after training
    #[arg(long)]
    no_calibration: bool,
    /// Write a report as one HTML file [default: OUT/report.html]
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write the numbers as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Options {
    /// Training data and pretrained weights, as recorded in the checkpoint.
    fn source_record(&self) -> std::collections::BTreeMap<String, String> {
        let init = self.init.iter().map(|path| ("--init".to_string(), path.display().to_string()));
        self.source.record().into_iter().chain(init).collect()
    }

    fn settings(&self) -> Result<TrainOptions> {
        let mut settings = TrainOptions::preset(&self.preset)?;
        if let Some(size) = &self.size {
            let parts: Vec<usize> = size.split('x').filter_map(|n| n.parse().ok()).collect();
            let [width, height] = parts[..] else { bail!("--size takes WIDTHxHEIGHT, as in 192x120; got `{size}`") };
            settings.size = [width, height];
        }
        settings.width = self.width.unwrap_or(settings.width);
        settings.epochs = self.epochs.unwrap_or(settings.epochs);
        settings.batch = self.batch.unwrap_or(settings.batch);
        settings.learning_rate = self.learning_rate.unwrap_or(settings.learning_rate);
        settings.seed = self.seed.unwrap_or(settings.seed);
        if let Some(loss) = &self.loss {
            settings.loss.data = loss.parse()?;
        }
        if let Some(evidence) = &self.evidence {
            settings.loss.activation = evidence.parse()?;
        }
        if self.ignore_void {
            settings.void = Void::Ignored;
        }
        settings.check()?;
        Ok(settings)
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let settings = options.settings()?;
    outputs::make_folder(&options.out)?;
    outputs::check_files([&options.report, &options.json])?;
    if let Some(path) = options.init.as_ref().filter(|path| !path.is_file()) {
        bail!("--init: there is no file {}", path.display());
    }
    // Before minutes are spent on images.
    let begun = Trainer::resume(&options.out)?;
    if let Some(begun) = &begun {
        resume::check(options, &settings, begun)?;
    }
    let data = options.source.read(settings.size)?;
    let mut trainer = begin(options, &settings, &data, begun)?;
    table::line(&format!(
        "{} images to learn from, {} held back, {} classes, {} parameters",
        data.train.len(),
        data.validation.len(),
        data.classes.len(),
        trainer.weights().len()
    ))?;
    table::line("epoch     loss   mIoU %    Acc %    ECE %   ECE(p) %   u %   u of void %   seconds")?;
    let bar = table::progress(0, "learning");
    trainer.run(
        &data.train,
        &data.validation,
        |at| {
            bar.set_length((at.epochs * at.steps) as u64);
            bar.set_position(((at.epoch - 1) * at.steps + at.step) as u64);
            bar.set_message(format!("loss {:.3}", at.loss));
        },
        |epoch| {
            let cell = |value: Option<f64>| value.map_or_else(|| "–".into(), |v| format!("{v:.1}"));
            let s = &epoch.scores;
            let row = format!(
                "{:5}  {:7.4}  {:>7}  {:>7}  {:>7}  {:>9}  {:>4}  {:>12}  {:>8.1}",
                epoch.number,
                epoch.loss(),
                cell(s.miou),
                cell(s.accuracy),
                cell(s.ece),
                cell(s.ece_probability),
                cell(s.uncertainty),
                cell(s.uncertainty_of_void),
                epoch.seconds
            );
            bar.suspend(|| {
                table::line(&row).ok();
                if let Some(warning) = epoch.warning {
                    table::say(&format!("warning: epoch {}: {warning}", epoch.number));
                }
            });
        },
    )?;
    bar.finish_and_clear();
    if let Some(warning) = trainer.history().last().and_then(|epoch| epoch.warning) {
        let (now, usual) = (trainer.options().learning_rate, TrainOptions::preset(&options.preset)?.learning_rate);
        let other = match warning.suggests_lower_learning_rate() {
            true if now > usual => usual,
            true => now / 10.0,
            false if now < usual => usual,
            false => now * 10.0,
        };
        table::say(&format!(
            "warning: the network has learned little or nothing: {warning}. Try again with --learning-rate {other:e} \
             (it was {now:e}), more --epochs or another --seed, and another --out"
        ));
    }

    let mut weights: Weights = trainer.weights().clone();
    weights.metadata_mut().note = options.source.note(&options.preset, trainer.options());
    let calibrated = match options.no_calibration || data.validation.is_empty() {
        true => None,
        false => Some(calibrate(&mut weights, &data.validation)?),
    };
    let path = options.out.join("network.safetensors");
    weights.save(&path, true)?;
    // What is reported is what is stored: halves instead of singles.
    let stored = Weights::open(&path)?;
    let test = match data.test.is_empty() {
        true => None,
        false => Some(score(&stored, &data.test)?),
    };
    let found = report::Found { trainer: &trainer, data: &data, stored: &stored, calibrated, test };
    found.print()?;
    table::line(&format!("wrote {} ({} kB)", path.display(), std::fs::metadata(&path).map_or(0, |m| m.len() / 1000)))?;
    found.write(&options.report.clone().unwrap_or_else(|| options.out.join("report.html")))?;
    if let Some(path) = &options.json {
        table::write_json(path, &found.to_json())?;
    }
    Ok(())
}

/// The run that was begun in the folder, or a new one.
fn begin(options: &Options, settings: &TrainOptions, data: &data::Data, begun: Option<Trainer>) -> Result<Trainer> {
    if let Some(mut trainer) = begun {
        let classes = &trainer.weights().metadata().classes;
        if *classes != data.classes {
            bail!(
                "{} holds a run with the classes {}, the images have {}; give the same --classes, or another --out",
                options.out.display(),
                classes.join(", "),
                data.classes.join(", ")
            );
        }
        table::line(&format!("resuming after epoch {} of {}", trainer.history().len(), settings.epochs))?;
        trainer.set_epochs(settings.epochs);
        return Ok(trainer);
    }
    let mut trainer = Trainer::new(settings.clone(), data.classes.clone(), &options.out)?;
    trainer.set_source(options.source_record());
    if let Some(path) = &options.init {
        let loaded = trainer.weights_mut().load_pretrained(path)?;
        table::line(&format!("{loaded} parameters from {}", path.display()))?;
    }
    Ok(trainer)
}
