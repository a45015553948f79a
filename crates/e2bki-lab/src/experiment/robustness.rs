//! Less to go by: fewer frames, a network with less training, wrong poses, a wrong calibration.

use anyhow::Result;
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_eval::{Record, Table, View};
use e2bki_sim::Standard;

use super::context::Context;
use super::dataset::Dataset;
use super::disturb::PoseNoise;
use super::look::Look;
use super::means::{self, Mean};
use super::method::Method;
use super::study::Study;

/// Every so many frames one is mapped: 20 % down to 4 %.
const STRIDES: [usize; 5] = [5, 7, 10, 15, 25];
/// Shares of the training data.
const NETWORKS: [f64; 6] = [1.0, 0.5, 0.3, 0.1, 0.05, 0.02];

/// One sigma of the coordinates of a pose, metres, and of its angles, degrees.
const POSES: [(f64, f64); 5] = [(0.0, 0.0), (0.02, 0.1), (0.05, 0.25), (0.1, 0.5), (0.2, 1.0)];
/// Turns of the camera, degrees.
const CALIBRATIONS: [f64; 5] = [0.0, 0.25, 0.5, 1.0, 2.0];

pub(super) fn sparsity(context: &mut Context) -> Result<()> {
    let datasets = context.datasets(&[Standard::RellisLike])?;
    let mut records = Vec::new();
    for dataset in &datasets {
        let mut methods = Vec::new();
        for every in STRIDES {
            methods.extend(context.all_methods(dataset, every)?.into_iter().map(|method| method.with("every", every)));
        }
        records.extend(context.ask_voxels(dataset, &methods)?);
    }
    let ticks: Vec<String> = STRIDES.iter().map(|every| format!("{:.0} %", 100.0 / *every as f64)).collect();
    let groups: Vec<Vec<Record>> = STRIDES.iter().map(|every| with(&records, "every", every)).collect();
    say(
        context,
        &datasets,
        "fewer and fewer of them mapped, all asked about. The paper shows this on real RELLIS-3D, as a plot only.",
    )?;
    show_groups(context, "Frames mapped", "frames mapped", &ticks, &groups)
}

pub(super) fn weak_network(context: &mut Context) -> Result<()> {
    context.needs_simulation("needs networks trained on less and less data, which a folder does not have")?;
    // The program has one network of each set: a row of weaker and weaker ones is simulated, or asked for.
    let networks = match &context.options.network {
        Some(trained @ Look::Trained(_)) => trained.all()?,
        _ => NETWORKS.map(Look::Simulated).to_vec(),
    };
    let mut groups = Vec::new();
    for network in &networks {
        let mut records = Vec::new();
        for dataset in context.seen_by(&[Standard::OffroadLike], network)? {
            let methods = context.all_methods(&dataset, dataset.every())?;
            let methods: Vec<_> = methods.into_iter().map(|method| method.with("network", network)).collect();
            records.extend(context.ask_voxels(&dataset, &methods)?);
        }
        groups.push(records);
    }
    let ticks: Vec<String> = networks.iter().map(Look::short).collect();
    let trained = matches!(context.options.network, Some(Look::Trained(_)));
    context.note(&format!(
        "offroad-like: {}{} simulated frames, every 5th mapped, seen by {} with less and less training data. The paper shows \
         this on real OffRoad data, as a plot only.",
        drives(context.options.seeds),
        context.frames(),
        if trained { "trained networks that look at the images," } else { "simulated networks" },
    ))?;
    show_groups(context, "Training data of the network", "training data", &ticks, &groups)
}

pub(super) fn pose_noise(context: &mut Context) -> Result<()> {
    let datasets = context.datasets(&[Standard::KittiLike])?;
    let mut records = Vec::new();
    for dataset in &datasets {
        let mut methods = Vec::new();
        for (position_m, degrees) in POSES {
            let noise = PoseNoise { position_m, angle_rad: f64::to_radians(degrees) };
            let all = context.all_methods(dataset, dataset.every())?;
            methods.extend(all.into_iter().map(|method| method.displaced(noise).with("pose noise", position_m)));
        }
        records.extend(context.ask_voxels(dataset, &methods)?);
    }
    let ticks: Vec<String> = POSES.iter().map(|(metres, degrees)| format!("{metres} m, {degrees}°")).collect();
    let groups: Vec<Vec<Record>> = POSES.iter().map(|(metres, _)| with(&records, "pose noise", metres)).collect();
    say(
        context,
        &datasets,
        "mapped with a wrong pose (one sigma of each coordinate and angle, independent by frame), all asked about at their \
         true places.",
    )?;
    show_groups(context, "Wrong poses", "error of the poses", &ticks, &groups)
}

pub(super) fn calibration(context: &mut Context) -> Result<()> {
    context.needs_simulation("moves simulated opinions in the picture")?;
    let mut groups = Vec::new();
    for degrees in CALIBRATIONS {
        let mut records = Vec::new();
        for dataset in context.stand_ins(&[Standard::RellisLike])? {
            let dataset = dataset.miscalibrated(degrees);
            let methods = context.all_methods(&dataset, dataset.every())?;
            let methods: Vec<_> = methods.into_iter().map(|method| method.with("calibration", degrees)).collect();
            records.extend(context.ask_voxels(&dataset, &methods)?);
        }
        groups.push(records);
    }
    let ticks: Vec<String> = CALIBRATIONS.iter().map(|degrees| format!("{degrees}°")).collect();
    let datasets = context.stand_ins(&[Standard::RellisLike])?;
    say(
        context,
        &datasets,
        "every 5th mapped. The camera is turned sideways by an angle, and up by half of it: every point has the opinion of what \
         lies beside it in the picture.",
    )?;
    show_groups(context, "Wrong calibration", "camera turned by", &ticks, &groups)
}

impl Context {
    /// Maps a dataset with every method and asks the voxels.
    pub(super) fn ask_voxels(&mut self, dataset: &Dataset, methods: &[Method]) -> Result<Vec<Record>> {
        self.study(&Study { dataset, methods, views: &[View::Voxel], compare: false })
    }
}

/// The records of every drive with one value of a parameter.
pub(super) fn with(records: &[Record], key: &str, value: impl ToString) -> Vec<Record> {
    let value = value.to_string();
    records.iter().filter(|record| record.parameters.get(key) == Some(&value)).cloned().collect()
}

/// Says what was mapped.
fn say(context: &mut Context, datasets: &[Dataset], how: &str) -> Result<()> {
    let Some(first) = datasets.first() else { return Ok(()) };
    context.note(&format!(
        "{}: {}{} frames, {how} Semantics: {}.",
        first.group,
        drives(datasets.len() as u64),
        first.frames,
        first.semantics
    ))
}

/// Words before a number of frames, where there are several drives.
fn drives(count: u64) -> String {
    if count == 1 { String::new() } else { format!("{count} drives (mean ± standard error) of ") }
}

/// Acc, mIoU, BS and ECE of every method over groups of records, each of every drive.
fn show_groups(context: &mut Context, title: &str, axis: &str, ticks: &[String], groups: &[Vec<Record>]) -> Result<()> {
    let mut names: Vec<&str> = Vec::new();
    for record in groups.iter().flatten() {
        if !names.contains(&record.method.as_str()) {
            names.push(&record.method);
        }
    }
    type Value = fn(&Record) -> Option<f64>;
    let values: [(&str, Value); 4] =
        [("Acc", |r| r.acc), ("mIoU", |r| r.miou), ("BS (low is good)", |r| r.bs), ("ECE (low is good)", |r| r.ece)];
    let mut panels = Vec::new();
    for (score, value) in values {
        let mut rows = Table::new([format!("{score} %")].into_iter().chain(ticks.iter().cloned()));
        let mut series = Vec::new();
        for name in &names {
            let of = |group: &Vec<Record>| Mean::of(group.iter().filter(|r| r.method == *name).map(value));
            let means: Vec<Option<Mean>> = groups.iter().map(of).collect();
            rows.row([name.to_string()].into_iter().chain(means.iter().map(|mean| means::shown(*mean))));
            series.push(Series::at_ticks(*name, means.iter().map(|mean| mean.map(|mean| mean.mean))));
        }
        context.table(&rows)?;
        panels.push(Panel::lines(score, axis, "%", ticks.to_vec(), series));
    }
    context.figure(&Figure::new(title, 2, panels))
}
