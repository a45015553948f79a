//! `e2bki calibrate`: class confusion and confidence of a network, and reach and weight of single classes, learned from
//! labelled frames.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;
use e2bki::{ClassSet, Config};
use e2bki_data::{GroundTruth, read_ahead};
use e2bki_eval::{ClassCalibration, LabelledFrame, Rung, SourceCalibration, Worth};
use serde_json::json;

use crate::config::Parameters;
use crate::data::{DataArguments, range};
use crate::{network, outputs, table};

/// Calibrate a network on labelled frames: its class confusion and its confidence
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    e2bki calibrate semantickitti/sequences/00 --semantics logits:espnetv2_pred\n  \
    e2bki calibrate drive --semantics evidence:predictions -o calibrated.toml\n  \
    e2bki map drive --semantics evidence:predictions --config calibrated.toml -o map.e2bki\n  \
    e2bki calibrate drive --semantics evidence:predictions --by-class -o calibrated.toml\n\n\
    Two things are learned: which class the network means by the one it says (`confusion`), and how sure it may be\n\
    (`temperature`, of hard labels `label_strength`). For the second, every second of the chosen frames is mapped, over\n\
    and over with other values, and each map is asked at the labelled points of the frames between; the one with the\n\
    least Brier score is taken. With --by-class, two more: how far the kernels of each class reach (`class_reach`), and how\n\
    much what is said of it counts (`class_weights`). A step of a factor is taken if Acc and mIoU gain by it, less a price\n\
    for places on beams that the map then claims though nothing is there. Calibrate on frames that you do not test on.")]
pub(crate) struct Options {
    #[command(flatten)]
    data: DataArguments,
    /// Source of the semantics, as in `e2bki map`
    #[arg(long, value_name = "SOURCE")]
    semantics: String,
    /// Frame numbers: A..B (B excluded), A.., ..B or A [default: all]
    #[arg(long, value_name = "RANGE")]
    frames: Option<String>,
    /// Use every K-th of these frames
    #[arg(long, default_value_t = 1, value_name = "K")]
    every: usize,
    /// Use at most this many frames, evenly spread
    #[arg(long, default_value_t = 20, value_name = "N")]
    most: usize,
    /// Learn reach and weight of every class too: some minutes
    #[arg(long)]
    by_class: bool,
    /// Write the calibrated configuration
    #[arg(short, long, value_name = "FILE.toml")]
    out: Option<PathBuf>,
    /// Write the numbers as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    parameters: Parameters,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    outputs::check_files([&options.out, &options.json])?;
    let config = options.parameters.read()?;
    // Found with what a frame says at its moment; mapped with as any other.
    let counted = options.parameters.read_for_scans()?.free_space;
    let (semantics, network) = network::source(&options.semantics, &options.data.runtime)?;
    let ids = options.frames.as_deref().map(range).transpose()?;
    let mut open = options.data.options(semantics, GroundTruth::Auto)?;
    open.network = network;
    let dataset = Arc::new(options.data.open(&open)?);
    let mut chosen = dataset.select(ids, options.every);
    if options.most < 2 || chosen.len() < 2 {
        bail!(
            "{} frames of {} were selected; at least two are needed: one to map and one to query",
            chosen.len().min(options.most),
            options.data.dir.display()
        );
    }
    let step = chosen.len().div_ceil(options.most);
    chosen = chosen.into_iter().step_by(step).collect();
    let bar = table::progress(chosen.len() + SourceCalibration::maps(), "frames and maps");
    let mut frames: Vec<LabelledFrame> = Vec::new();
    for frame in read_ahead(dataset.clone(), chosen, 3) {
        frames.push(e2bki_lab::labelled(frame?, &options.data.dir)?);
        bar.inc(1);
    }
    let before = config.clone();
    let learned = SourceCalibration::learn(&frames, dataset.classes(), &config, || bar.inc(1))?;
    bar.finish_and_clear();
    let Some(learned) = learned else {
        bail!(
            "nothing to learn from: no labelled point of {} lies in an occupied part of all maps; choose frames with ground \
             truth that overlap (--frames, --every)",
            options.data.dir.display()
        );
    };
    let mut rows = vec![[learned.key, "Brier score %", "ECE %", "right %", ""].map(String::from).to_vec()];
    let row = |rung: &Rung, mark: &str| {
        let numbers = [rung.brier, rung.ece, rung.right].map(|v| format!("{v:.2}"));
        std::iter::once(rung.value.to_string()).chain(numbers).chain([mark.to_string()]).collect::<Vec<_>>()
    };
    rows.push(row(&learned.before, "as it is"));
    for rung in &learned.tried {
        rows.push(row(rung, if learned.best == Some(*rung) { "corrected ← best" } else { "corrected" }));
    }
    table::print(&rows)?;
    table::line(&format!("{} frames, {} points known to all maps", frames.len(), learned.asked))?;
    if learned.best.is_none() {
        table::line("no setting is clearly better; the source is taken as it is")?;
    }
    let by_class = if options.by_class { by_class(&frames, dataset.classes(), learned.config())? } else { None };
    let config = by_class.as_ref().map_or_else(|| learned.config(), ClassCalibration::config);
    let unchanged = *config == before;
    let config = config.clone().with(|c| c.free_space = counted);
    match &options.out {
        Some(path) => {
            outputs::write(path, config.to_toml())?;
            table::line(&format!("wrote {}", path.display()))?;
        }
        None if unchanged => table::line("the configuration is unchanged")?,
        None => table::line("to map with these settings, write them with -o FILE.toml and pass that as --config")?,
    }
    let Some(path) = &options.json else { return Ok(()) };
    let mut numbers = serde_json::to_value(&learned)?;
    if let Some(by_class) = &by_class {
        numbers["by_class"] = serde_json::to_value(by_class)?;
        let factors = dataset.classes().names().iter().zip(factors(by_class, dataset.classes()));
        let named = factors.map(|(name, [reach, weight])| (name.clone(), json!({ "reach": reach, "weight": weight })));
        numbers["by_class"]["factors"] = serde_json::Value::Object(named.collect());
    }
    table::write_json(path, &numbers)
}

/// Learns what single classes need and shows it; nothing if there was nothing to ask about.
fn by_class(frames: &[LabelledFrame], classes: &ClassSet, config: &Config) -> Result<Option<ClassCalibration>> {
    let bar = table::progress(ClassCalibration::most_steps(classes.len()), "factors");
    let learned = ClassCalibration::learn(frames, classes, config, || bar.inc(1))?;
    bar.finish_and_clear();
    let Some(learned) = learned else { return Ok(None) };
    let numbers = |name: &str, worth: &Worth| {
        let numbers = [worth.acc, worth.miou, worth.near].map(|v| format!("{v:.2}"));
        std::iter::once(name.to_string()).chain(numbers).collect::<Vec<_>>()
    };
    let mut rows = vec![
        ["maps of half of the frames", "Acc %", "mIoU with misses %", "near-empty claimed %"]
            .map(String::from)
            .to_vec(),
    ];
    rows.push(numbers("classes alike", &learned.before));
    rows.push(numbers("by class", &learned.after));
    table::print(&rows)?;
    let mut rows = vec![["class", "reach", "weight"].map(String::from).to_vec()];
    for (name, factors) in classes.names().iter().zip(factors(&learned, classes)) {
        if factors != [1.0, 1.0] {
            rows.push(std::iter::once(name.clone()).chain(factors.map(|f| format!("× {f:.2}"))).collect());
        }
    }
    if rows.len() == 1 {
        table::line("no class is better with another reach or weight")?;
    } else {
        table::print(&rows)?;
    }
    Ok(Some(learned))
}

/// Factors of reach and weight of every class.
fn factors(learned: &ClassCalibration, classes: &ClassSet) -> Vec<[f32; 2]> {
    let Config { kernel, input, .. } = learned.config();
    (0..classes.len()).map(|class| [kernel.class_reach.of(class), input.class_weights.of(class)]).collect()
}
