//! `e2bki calibrate`: class confusion and confidence of a network, confidence of the map, and reach of kernels, learned from
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
    Three things are learned: which class the network means by the one it says (`confusion`), how sure it may be\n\
    (`temperature`, of hard labels `label_strength`), and how sure the map may be (`agreement`, which changes how beliefs\n\
    are read and nothing of what is mapped). Every second of the chosen frames is mapped, over and over, and each map is\n\
    asked at the labelled points of the frames between and read with the agreement that fits it; the least Brier score\n\
    is taken, or what there was where nothing is clearly better; a confusion only if it gains more than parts of the\n\
    ground differ by. With --by-class also how far kernels reach: whether uncertain primitives are kept (`gate`), the\n\
    reach of all (`uncertainty_sensitivity`) and of single classes (`class_reach`), the less the less is known of them.\n\
    A step is taken if Acc, mIoU and Brier score gain by it, less a price for volume, which may be 1.35 times that of\n\
    the map as it is. Calibrate on frames that you do not test on.")]
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
    #[arg(long, default_value_t = 1, value_name = "K", value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// Use at most this many frames, evenly spread
    #[arg(long, default_value_t = 20, value_name = "N")]
    most: usize,
    /// Learn how far kernels reach too, all and those of every class: some minutes
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
    let mut chosen = dataset.select(ids, options.every as usize);
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
    let mut rows = vec![[learned.key, "agreement", "Brier score %", "ECE %", "right %", ""].map(String::from).to_vec()];
    let row = |rung: &Rung, mark: &str| {
        let numbers = [rung.brier, rung.ece, rung.right].map(|v| format!("{v:.2}"));
        let settings = [rung.value, rung.agreement].map(|v| v.to_string());
        settings.into_iter().chain(numbers).chain([mark.to_string()]).collect::<Vec<_>>()
    };
    rows.push(row(&learned.before, "as it is"));
    for rung in &learned.tried {
        let how = if rung.corrected { "corrected" } else { "" };
        rows.push(row(rung, &if learned.best == Some(*rung) { format!("{how} ← best") } else { how.into() }));
    }
    table::print(&rows)?;
    table::line(&format!("{} frames, {} points known to all maps", frames.len(), learned.asked))?;
    if learned.best.is_none() {
        table::line("no setting is clearly better; the source is taken as it is")?;
    }
    let by_class =
        if options.by_class { by_class(&frames, dataset.classes(), [&before, learned.config()])? } else { None };
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
        let reach = dataset.classes().names().iter().enumerate();
        let named = reach.map(|(class, name)| (name.clone(), json!(config.kernel.class_reach.of(class))));
        numbers["by_class"]["reach"] = serde_json::Value::Object(named.collect());
    }
    table::write_json(path, &numbers)
}

/// Learns how far kernels reach and shows it; nothing if there was nothing to ask about.
fn by_class(
    frames: &[LabelledFrame],
    classes: &ClassSet,
    [uncalibrated, config]: [&Config; 2],
) -> Result<Option<ClassCalibration>> {
    let bar = table::progress(ClassCalibration::most_steps(classes.len()), "steps");
    let learned = ClassCalibration::learn(frames, classes, uncalibrated, config, || bar.inc(1))?;
    bar.finish_and_clear();
    let Some(learned) = learned else { return Ok(None) };
    let numbers = |name: &str, worth: &Worth| {
        let numbers = [worth.acc, worth.miou, worth.brier, worth.ece].map(|v| format!("{v:.2}"));
        let volume = format!("{:.0}", worth.volume_m3);
        std::iter::once(name.to_string()).chain(numbers).chain([volume]).collect::<Vec<_>>()
    };
    let head = ["maps of half of the frames", "Acc %", "mIoU with misses %", "Brier score %", "ECE %", "m³"];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.push(numbers("before", &learned.before));
    rows.push(numbers("with what was learned of reach", &learned.after));
    table::print(&rows)?;
    let after = learned.config();
    let mut rows = vec![["", "before", "learned"].map(String::from).to_vec()];
    let mut changed = |name: &str, values: [String; 2]| {
        if values[0] != values[1] {
            rows.push(std::iter::once(name.to_string()).chain(values).collect());
        }
    };
    changed("gate", [config, after].map(|c| c.fusion.gate.name().to_string()));
    changed("uncertainty_sensitivity", [config, after].map(|c| format!("{:.3}", c.kernel.uncertainty_sensitivity)));
    changed("agreement", [config, after].map(|c| c.views.agreement.to_string()));
    for (class, name) in classes.names().iter().enumerate() {
        changed(
            &format!("reach of {name}"),
            [config, after].map(|c| format!("× {:.2}", c.kernel.class_reach.of(class))),
        );
    }
    if rows.len() == 1 {
        table::line("nothing is better with another reach")?;
    } else {
        table::print(&rows)?;
    }
    Ok(Some(learned))
}
