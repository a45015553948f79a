//! `e2bki eval`: how right a saved map is, and how well it knows that, by the labels of a dataset.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;
use e2bki::{ClassSet, Mapper};
use e2bki_data::{GroundTruth as Truth, read_ahead};
use e2bki_eval::{Asked, Confidence, GroundTruth, Record, View, assess_map, assess_network, percent};
use e2bki_view::Report;

use crate::data::{DataArguments, range};
use crate::{maps, network, outputs, report, score, table};

/// Views that are scored, with their names in the table.
const VIEWS: [(View, &str); 3] =
    [(View::Voxel, "voxels"), (View::Continuous, "continuous"), (View::Bev, "seen from above")];

/// Score a saved map by the labels of a dataset
#[derive(Args)]
#[command(after_help = "Examples:\n  e2bki eval map.e2bki semantickitti/sequences/08 --report scores.html\n  \
    e2bki eval map.e2bki drive --frames 100.. --every 2 --json scores.json\n  \
    e2bki eval map.e2bki kitti360 --semantics logits:espnetv2_pred\n\n\
    Asked are the centroids of 0.05 m cells whose points share one label, as in the paper. Frames that the map was made\n\
    from are no test of it: choose others with --frames or --every. With --semantics, what that source said of each\n\
    place at first sight is scored beside the map. Methods are compared by `e2bki experiment`.")]
pub(crate) struct Options {
    /// Map file or folder
    map: PathBuf,
    #[command(flatten)]
    data: DataArguments,
    /// Frame numbers: A..B (B excluded), A.., ..B or A [default: all]
    #[arg(long, value_name = "RANGE")]
    frames: Option<String>,
    /// Query every K-th of these frames
    #[arg(long, default_value_t = 1, value_name = "K", value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// Drop points farther than this from the sensor, metres
    #[arg(long, default_value_t = 50.0, value_name = "M")]
    max_range: f64,
    /// A source of semantics to score beside the map, as for `e2bki map`
    #[arg(long, value_name = "SOURCE")]
    semantics: Option<String>,
    /// Write a report: one HTML file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write the numbers as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    outputs::check_files([&options.report, &options.json])?;
    if options.max_range.is_nan() || options.max_range <= 0.0 {
        bail!("--max-range is {}; give metres above 0", options.max_range);
    }
    let map = maps::load(&options.map, None)?;
    let (semantics, network) =
        network::source(options.semantics.as_deref().unwrap_or("ground-truth"), &options.data.runtime)?;
    let mut open = options.data.options(semantics, Truth::Auto)?;
    open.network = network;
    let dataset = Arc::new(options.data.open(&open)?);
    check(map.classes(), dataset.classes())?;
    let chosen = dataset.select(options.frames.as_deref().map(range).transpose()?, options.every as usize);
    let (frames, folder) = (chosen.len(), options.data.dir.display().to_string());
    let views = VIEWS.map(|(view, _)| view);
    let mut truth = GroundTruth::new(map.classes().len(), Asked::Cells, options.max_range, &views);
    let mut trajectory = Vec::new();
    let bar = table::progress(frames, "reading labels");
    for frame in read_ahead(dataset.clone(), chosen, 3) {
        let frame = e2bki_lab::labelled(frame?, &options.data.dir)?;
        trajectory.push(frame.world_from_sensor.translation());
        truth.add(&frame);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let questions = truth.into_questions();
    if questions.labelled == 0 {
        bail!(
            "none of the {frames} chosen frames of {folder} has a labelled point within {} m of the sensor",
            options.max_range
        );
    }
    let mut records = Vec::new();
    if options.semantics.is_some() {
        let record = assess_network(&folder, map.classes(), View::Continuous, &questions);
        records.push(Record {
            method: "network at first sight".into(),
            semantics: options.semantics.as_deref().map(|source| dataset.source_name(source)),
            frames,
            ..record
        });
    }
    for (view, name) in VIEWS {
        let (record, _) = assess_map(&folder, &map, Confidence::Decomposed, view, &questions)?;
        let mapped = usize::try_from(map.frames()).unwrap_or(usize::MAX);
        records.push(Record { method: name.into(), frames, mapped, ..record });
    }
    table::line(&format!(
        "{}: {} primitives of {} frames, queried at {} labelled points of {frames} frames of {folder}\n",
        options.map.display(),
        map.len(),
        map.frames(),
        questions.labelled,
    ))?;
    table::print(&score::rows(&records, map.classes()))?;
    if let Some(path) = &options.report {
        let page = page(&map, &records, &format!("{} by the labels of {folder}", options.map.display()), &trajectory)?;
        report::write(&page, path)?;
    }
    if let Some(path) = &options.json {
        let value = serde_json::json!({
            "map": options.map, "dataset": folder, "frames": frames, "labelled": questions.labelled, "scores": records,
        });
        table::write_json(path, &value)?;
    }
    Ok(())
}

/// Labels can only be compared where they mean the same.
fn check(map: &ClassSet, dataset: &ClassSet) -> Result<()> {
    if map.names() == dataset.names() {
        return Ok(());
    }
    bail!(
        "the map and the dataset have different classes; give the map's class table with --classes\n  \
         map:     {}\n  dataset: {}",
        map.names().join(", "),
        dataset.names().join(", ")
    )
}

fn page(map: &Mapper, records: &[Record], about: &str, trajectory: &[[f64; 3]]) -> Result<Report> {
    let mut page = Report::new("e2bki eval", about);
    if let Some(voxels) = records.iter().find(|record| record.view == View::Voxel) {
        page.figures(&[
            ("mIoU, %", percent(voxels.miou)),
            ("accuracy, %", percent(voxels.acc)),
            ("Brier score, %", percent(voxels.bs)),
            ("calibration error, %", percent(voxels.ece)),
            ("queries", voxels.queries.to_string()),
            ("occupied queries, %", percent(voxels.occupied_share())),
        ]);
    }
    page.section("Scores");
    page.table(&score::rows(records, map.classes()));
    report::scores(&mut page, records, map.classes())?;
    report::from_above(&mut page, map, trajectory)?;
    report::memory(&mut page, map);
    report::again(&mut page, Some(map.config()));
    Ok(page)
}
