//! `e2bki inspect`: one frame in words, what looks wrong, and a picture.

mod checks;
mod facts;
mod overlay;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use e2bki_data::{Dataset, GroundTruth, SemanticsSource};
use serde_json::json;

use crate::data::DataArguments;
use crate::{network, outputs, table};
use facts::Facts;

/// Inspect one frame of a dataset: what was found, and what looks wrong
#[derive(Args)]
#[command(after_help = "Examples:\n  e2bki inspect rellis3d --frame 104\n  \
    e2bki inspect kitti360 --semantics labels:espnetv2_pred --overlay look.png\n  \
    e2bki inspect my-drive --json -\n  \
    e2bki inspect drive.mcap --topic /ouster/points --poses /odom\n\n\
    Ends with code 1 if something looks wrong. The picture shows the points over the camera image in the colours of\n\
    their classes (by distance where no classes are known), or from above where there is no camera.")]
pub(crate) struct Options {
    #[command(flatten)]
    data: DataArguments,
    /// Number of the frame [default: the first that has labels]
    #[arg(long, value_name = "N")]
    frame: Option<u64>,
    /// Source of the semantics, as in `e2bki map` [default: ground truth, if there is any]
    #[arg(long, value_name = "SOURCE")]
    semantics: Option<String>,
    /// The picture to write
    #[arg(long, default_value = "inspect.png", value_name = "PNG")]
    overlay: PathBuf,
    /// Write the findings as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// True if something looks wrong.
pub(crate) fn run(options: &Options) -> Result<bool> {
    outputs::check_files([&options.json])?;
    let (dataset, unusable) = open(options)?;
    let index = choose(&dataset, options.frame)?;
    let facts = Facts::gather(&dataset, index)?;
    let mut findings: Vec<String> = unusable.into_iter().collect();
    findings.extend(checks::findings(&dataset, &facts));

    for (name, text) in facts.lines(&dataset) {
        table::line(&format!("{name:<10} {text}"))?;
    }
    table::line("")?;
    if findings.is_empty() {
        table::line("Nothing looks wrong.")?;
    }
    for finding in &findings {
        table::line(&format!("Looks wrong: {finding}"))?;
    }
    overlay::draw(&dataset, &facts)
        .save(&options.overlay)
        .with_context(|| format!("cannot write {}", options.overlay.display()))?;
    table::line(&format!("\nwrote {}", options.overlay.display()))?;
    if let Some(path) = &options.json {
        let lines: serde_json::Map<String, serde_json::Value> =
            facts.lines(&dataset).into_iter().map(|(name, text)| (name.to_string(), text.into())).collect();
        let value =
            json!({"found": lines, "looks_wrong": findings, "frame": facts.frame.id, "numbers": facts.to_json()});
        table::write_json(path, &value)?;
    }
    Ok(!findings.is_empty())
}

/// Opens with the semantics asked for, and the dataset's own labels beside them. Where these cannot be used, without
/// them, and with the reason.
fn open(options: &Options) -> Result<(Dataset, Option<String>)> {
    let (semantics, network) = match &options.semantics {
        Some(semantics) => network::source(semantics, &options.data.runtime)?,
        None => (SemanticsSource::Nothing, None),
    };
    let with = |truth, still: bool| {
        let mut open = options.data.options(semantics.clone(), truth)?;
        open.network.clone_from(&network);
        if still {
            open.poses.get_or_insert_with(|| "none".into());
        }
        options.data.open(&open)
    };
    let why = match with(GroundTruth::Auto, false) {
        Ok(dataset) => return Ok((dataset, None)),
        Err(why) => why,
    };
    if let Ok(dataset) = with(GroundTruth::Off, false) {
        return Ok((dataset, Some(format!("the labels cannot be used: {why:#}"))));
    }
    // A recording without poses can be looked at, though not mapped.
    let still = with(GroundTruth::Auto, true).or_else(|_| with(GroundTruth::Off, true));
    still.map(|dataset| (dataset, Some(format!("{why:#}")))).map_err(|_| why)
}

/// The frame asked for, or the first with an image and labels, or the first.
fn choose(dataset: &Dataset, wanted: Option<u64>) -> Result<usize> {
    match wanted {
        None => Ok((0..dataset.len()).max_by_key(|i| (dataset.richness(*i), std::cmp::Reverse(*i))).unwrap_or(0)),
        Some(id) => (0..dataset.len()).find(|i| dataset.id(*i) == Some(id)).with_context(|| {
            format!(
                "there is no frame {id}; there are {} from {} to {}",
                dataset.len(),
                dataset.id(0).unwrap_or(0),
                dataset.id(dataset.len() - 1).unwrap_or(0)
            )
        }),
    }
}
