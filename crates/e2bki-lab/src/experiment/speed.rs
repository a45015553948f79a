//! Time: of every method, by voxel size, by number of points.

use anyhow::{Context as _, Result};
use e2bki::Config;
use e2bki_baselines::Baseline;
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_eval::{LabelledFrame, Record, Table, View, decimals};
use e2bki_sim::Standard;

use super::context::Context;
use super::dataset::Dataset;
use super::means::{self, Mean};
use super::method::{Method, OURS, OURS_PAPER, paper_config};
use super::paper;
use super::state::key;
use crate::table;

/// Frames mapped in a run.
const FRAMES: usize = 20;
/// Runs of each; the first is not counted.
const RUNS: usize = 3;

pub(super) fn table(context: &mut Context) -> Result<()> {
    let mut panels = Vec::new();
    for dataset in context.datasets(&[Standard::RellisLike, Standard::KittiLike])? {
        let frames = mapped_frames(&dataset)?;
        let points = frames.iter().map(|frame| frame.points.len()).sum::<usize>() / frames.len().max(1);
        let mut rows = Table::new([
            format!("{}: {points} points a frame", dataset.name),
            "Hz".into(),
            "±".into(),
            "ms a frame".into(),
            "MB".into(),
            "paper Hz (RELLIS-3D, 14 cores)".into(),
        ]);
        let (mut names, mut rates) = (Vec::new(), Vec::new());
        for method in context.all_methods(&dataset, 1)? {
            let record = time(context, &dataset, &frames, &method)?;
            let printed = paper::HZ.iter().find(|(name, _)| *name == method.name).map(|(_, hz)| *hz);
            let spread = record.parameters.get("hz_deviation").and_then(|v| v.parse::<f64>().ok());
            rows.row([
                method.name.clone(),
                decimals(record.hz, 2),
                decimals(spread, 2),
                decimals(record.hz.map(|hz| 1e3 / hz), 1),
                decimals(record.bytes.map(|b| b as f64 / 1e6), 1),
                decimals(printed, 2),
            ]);
            rates.push(record.hz);
            names.push(method.name);
        }
        context.table(&rows)?;
        panels.push(Panel::bars(&dataset.name, "Hz", names, vec![Series::at_ticks("Hz", rates)]));
    }
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    context.note(&format!("{FRAMES} frames a run, {RUNS} runs after one that is not counted; {cores} cores."))?;
    let mut figure = Figure::new("Frames mapped per second", 2, panels);
    figure.panel_px = (460, 440);
    context.figure(&figure)
}

pub(super) fn resolution(context: &mut Context) -> Result<()> {
    let sides: &[f64] = if context.options.full { &[0.4, 0.2, 0.1, 0.05, 0.02, 0.01] } else { &[0.4, 0.2, 0.1, 0.05] };
    let datasets = context.datasets(&[Standard::RellisLike])?;
    let vary = |config: Config, side: f64| {
        config.with(|c| {
            c.views.resolution = side;
            c.kernel.length_scale = side;
        })
    };
    let ticks = sides.iter().map(|side| format!("{side} m")).collect();
    let mut groups = vec![Vec::new(); sides.len()];
    for dataset in &datasets {
        let frames = mapped_frames(dataset)?;
        say(context, dataset, &frames)?;
        for (side, group) in sides.iter().zip(&mut groups) {
            let methods = compared(context, dataset, |config| vary(config, *side))?;
            for method in methods {
                group.push(time(context, dataset, &frames, &method.with("resolution", side))?);
            }
        }
    }
    context.note("Kernel length ℓ = side of a voxel, as in the paper.")?;
    show(context, "Time by voxel size", "side of a voxel", ticks, &groups)
}

pub(super) fn density(context: &mut Context) -> Result<()> {
    let shares: &[f64] = &[0.1, 0.25, 0.5, 0.75, 1.0];
    let datasets = context.datasets(&[Standard::KittiLike])?;
    let ticks = shares.iter().map(|share| format!("{:.0} %", 100.0 * share)).collect();
    let mut groups = vec![Vec::new(); shares.len()];
    for dataset in &datasets {
        let frames = mapped_frames(dataset)?;
        say(context, dataset, &frames)?;
        for (share, group) in shares.iter().zip(&mut groups) {
            // Every so many points one, evenly over the scan.
            let keep = |i: usize| ((i + 1) as f64 * share).floor() > (i as f64 * share).floor();
            let thinned: Vec<LabelledFrame> =
                frames.iter().map(|frame| frame.filtered(dataset.classes.len(), keep)).collect();
            for method in compared(context, dataset, |config| config)? {
                group.push(time(context, dataset, &thinned, &method.with("density", share))?);
            }
        }
    }
    show(context, "Time by density of the input", "points used", ticks, &groups)
}

/// S-BKI and ours, with something changed in the settings of each.
fn compared(context: &Context, dataset: &Dataset, vary: impl Fn(Config) -> Config) -> Result<[Method; 3]> {
    let printed = paper_config(dataset.stands_for, context.options.threads)?;
    Ok([
        Method::baseline(Baseline::SBki, vary(context.their_config()?), 1),
        Method::ours(OURS_PAPER, vary(printed), 1),
        Method::ours(OURS, vary(context.config()), 1),
    ])
}

/// Says what is timed.
fn say(context: &mut Context, dataset: &Dataset, frames: &[LabelledFrame]) -> Result<()> {
    let points = frames.iter().map(|frame| frame.points.len()).sum::<usize>() / frames.len().max(1);
    context.note(&format!(
        "{}: {} frames of about {points} points, the middle of {RUNS} runs after one that is not counted. Semantics: {}.",
        dataset.name,
        frames.len(),
        dataset.semantics
    ))
}

/// Total time by method, and E2-BKI's by stage; means over drives.
fn show(context: &mut Context, title: &str, axis: &str, ticks: Vec<String>, groups: &[Vec<Record>]) -> Result<()> {
    let mut names: Vec<&str> = Vec::new();
    for record in groups.iter().flatten() {
        if !names.contains(&record.method.as_str()) {
            names.push(&record.method);
        }
    }
    type Value = fn(&Record) -> Option<f64>;
    let means = |name: &str, value: Value| -> Vec<Option<Mean>> {
        let of = |group: &Vec<Record>| Mean::of(group.iter().filter(|record| record.method == name).map(value));
        groups.iter().map(of).collect()
    };
    let ms: Value = |record| record.hz.map(|hz| 1e3 / hz);
    let build: Value = |record| {
        let stages = &record.stage_ms;
        (!stages.is_empty()).then(|| stages.iter().filter(|(name, _)| *name != "view").map(|(_, ms)| ms).sum::<f64>())
    };
    let view: Value = |record| record.stage_ms.get("view").copied();
    let mut rows = Table::new(["ms a frame".to_string()].into_iter().chain(ticks.iter().cloned()));
    let mut line = |name: String, means: Vec<Option<Mean>>| {
        rows.row([name.clone()].into_iter().chain(means.iter().map(|mean| means::shown(*mean))));
        Series::at_ticks(name, means.iter().map(|mean| mean.map(|mean| mean.mean)))
    };
    let totals = names.iter().map(|name| line(name.to_string(), means(name, ms))).collect();
    let parts = [("primitives", build), ("voxels", view)]
        .map(|(part, value)| line(format!("{OURS}: {part}"), means(OURS, value)))
        .to_vec();
    context.table(&rows)?;
    let panels = vec![
        Panel::lines("all", axis, "ms a frame", ticks.clone(), totals).with_log_y(),
        Panel::lines("E2-BKI by part", axis, "ms a frame", ticks, parts).with_log_y(),
    ];
    context.figure(&Figure::new(title, 2, panels))
}

/// The first frames that would be mapped.
fn mapped_frames(dataset: &Dataset) -> Result<Vec<LabelledFrame>> {
    let bar = table::progress(FRAMES, "reading");
    let wanted = (0..dataset.frames).step_by(dataset.every()).take(FRAMES);
    let frames = wanted.map(|index| {
        bar.inc(1);
        dataset.frame(index)
    });
    let frames = frames.collect::<Result<Vec<_>>>()?;
    bar.finish_and_clear();
    Ok(frames)
}

/// Times a method; the rate is that of the middle run, its spread over the runs a parameter of the record.
fn time(context: &mut Context, dataset: &Dataset, frames: &[LabelledFrame], method: &Method) -> Result<Record> {
    let threads = context.options.threads.to_string();
    let key = key(&["time", &dataset.identity, &frames.len().to_string(), &method.identity(), &threads]);
    if let Some(record) = context.state.get(&key).cloned() {
        context.keep(std::slice::from_ref(&record));
        return Ok(record);
    }
    let mut record = Record::new(&dataset.name, &method.name, View::Voxel);
    record.semantics = Some(dataset.semantics.clone());
    let mut rates = Vec::new();
    for run in 0..=RUNS {
        let mut entrant = method.entrant(&dataset.classes, false)?;
        for frame in frames {
            entrant.insert(frame)?;
        }
        if run > 0 {
            rates.push(entrant.hz().context("no frames to time")?);
        }
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3 / frames.len() as f64;
        record.stage_ms =
            entrant.stages.by_stage().iter().map(|(stage, time)| (stage.to_string(), ms(*time))).collect();
        record.bytes = Some(entrant.map.byte_size() as u64);
    }
    rates.sort_by(f64::total_cmp);
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let variance = rates.iter().map(|hz| (hz - mean) * (hz - mean)).sum::<f64>() / rates.len() as f64;
    record.hz = rates.get(rates.len() / 2).copied();
    (record.frames, record.mapped) = (frames.len(), frames.len());
    record.parameters = method.parameters.clone();
    record.parameters.insert("hz_deviation".into(), format!("{:.4}", variance.sqrt()));
    context.state.put(&key, &record)?;
    context.keep(std::slice::from_ref(&record));
    Ok(record)
}
