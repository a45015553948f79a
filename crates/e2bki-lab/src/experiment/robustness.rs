//! Less to go by: fewer frames, a network with less training, wrong poses, a wrong calibration.

use anyhow::Result;
use e2bki_eval::plot::{Figure, Panel};
use e2bki_eval::{Record, Table, View, percent};
use e2bki_sim::{Split, Standard};

use super::context::Context;
use super::disturb::PoseNoise;
use super::look::Look;
use super::show;
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
    let dataset = context.dataset(Standard::RellisLike)?;
    let mut methods = Vec::new();
    for every in STRIDES {
        methods.extend(context.all_methods(&dataset, every)?.into_iter().map(|method| method.with("every", every)));
    }
    let study = Study { dataset: &dataset, methods: &methods, views: &[View::Voxel], compare: false };
    let records = context.study(&study)?;
    let ticks: Vec<String> = STRIDES.iter().map(|every| format!("{:.0} %", 100.0 / *every as f64)).collect();
    let groups: Vec<Vec<Record>> = STRIDES
        .iter()
        .map(|every| {
            let stride = every.to_string();
            records.iter().filter(|r| r.parameters.get("every") == Some(&stride)).cloned().collect()
        })
        .collect();
    context.note(&format!(
        "{}: {} frames; fewer and fewer of them mapped, all asked about. The paper shows this on real RELLIS-3D, as a plot \
         only.",
        dataset.name, dataset.frames
    ))?;
    show_groups(context, "Frames mapped", "frames mapped", &ticks, &groups)
}

pub(super) fn weak_network(context: &mut Context) -> Result<()> {
    context.needs_simulation("needs networks trained on less and less data, which a folder does not have")?;
    let networks = match &context.options.network {
        Look::Simulated(_) => NETWORKS.map(Look::Simulated).to_vec(),
        trained => trained.all()?,
    };
    let mut groups = Vec::new();
    for network in &networks {
        let dataset = context.simulated(Standard::OffroadLike, Split::Test, network)?;
        let methods = context.all_methods(&dataset, dataset.every())?;
        let methods: Vec<_> = methods.into_iter().map(|method| method.with("network", network)).collect();
        let study = Study { dataset: &dataset, methods: &methods, views: &[View::Voxel], compare: false };
        groups.push(context.study(&study)?);
    }
    let ticks: Vec<String> = networks.iter().map(Look::short).collect();
    let trained = matches!(context.options.network, Look::Trained(_));
    context.note(&format!(
        "offroad-like: {} simulated frames, every 5th mapped, seen by {} with less and less training data. The paper shows \
         this on real OffRoad data, as a plot only.",
        context.frames(),
        if trained { "trained networks that look at the images," } else { "simulated networks" },
    ))?;
    show_groups(context, "Training data of the network", "training data", &ticks, &groups)
}

pub(super) fn pose_noise(context: &mut Context) -> Result<()> {
    let dataset = context.dataset(Standard::KittiLike)?;
    let mut methods = Vec::new();
    for (position_m, degrees) in POSES {
        let noise = PoseNoise { position_m, angle_rad: f64::to_radians(degrees) };
        let all = context.all_methods(&dataset, dataset.every())?;
        methods.extend(all.into_iter().map(|method| method.displaced(noise).with("pose noise", position_m)));
    }
    let study = Study { dataset: &dataset, methods: &methods, views: &[View::Voxel], compare: false };
    let records = context.study(&study)?;
    let ticks: Vec<String> = POSES.iter().map(|(metres, degrees)| format!("{metres} m, {degrees}°")).collect();
    let groups: Vec<Vec<Record>> = POSES
        .iter()
        .map(|(metres, _)| {
            let noise = metres.to_string();
            records.iter().filter(|r| r.parameters.get("pose noise") == Some(&noise)).cloned().collect()
        })
        .collect();
    context.note(&format!(
        "{}: {} frames, every {}th mapped with a wrong pose (one sigma of each coordinate and angle, independent by \
         frame), all asked about at their true places.",
        dataset.name,
        dataset.frames,
        dataset.every()
    ))?;
    show_groups(context, "Wrong poses", "error of the poses", &ticks, &groups)
}

pub(super) fn calibration(context: &mut Context) -> Result<()> {
    context.needs_simulation("moves simulated opinions in the picture")?;
    let mut groups = Vec::new();
    for degrees in CALIBRATIONS {
        let dataset = context.simulated(Standard::RellisLike, Split::Test, &context.options.network)?;
        let dataset = dataset.miscalibrated(degrees);
        let methods = context.all_methods(&dataset, dataset.every())?;
        let methods: Vec<_> = methods.into_iter().map(|method| method.with("calibration", degrees)).collect();
        let study = Study { dataset: &dataset, methods: &methods, views: &[View::Voxel], compare: false };
        groups.push(context.study(&study)?);
    }
    let ticks: Vec<String> = CALIBRATIONS.iter().map(|degrees| format!("{degrees}°")).collect();
    context.note(&format!(
        "rellis-like: {} simulated frames, every 5th mapped. The camera is turned sideways by an angle, and up by half of \
         it: every point has the opinion of what lies beside it in the picture.",
        context.frames()
    ))?;
    show_groups(context, "Wrong calibration", "camera turned by", &ticks, &groups)
}

/// Acc, mIoU, BS and ECE of every method over groups of records.
fn show_groups(context: &mut Context, title: &str, axis: &str, ticks: &[String], groups: &[Vec<Record>]) -> Result<()> {
    let names: Vec<String> = groups.first().into_iter().flatten().map(|record| record.method.clone()).collect();
    let find = |name: &str, tick: usize| groups.get(tick)?.iter().find(|record| record.method == name);
    type Value = fn(&Record) -> Option<f64>;
    let values: [(&str, Value); 4] =
        [("Acc", |r| r.acc), ("mIoU", |r| r.miou), ("BS (low is good)", |r| r.bs), ("ECE (low is good)", |r| r.ece)];
    let mut panels = Vec::new();
    for (score, value) in values {
        let mut rows = Table::new([format!("{score} %")].into_iter().chain(ticks.iter().cloned()));
        for name in &names {
            let row = (0..ticks.len()).map(|tick| percent(find(name, tick).and_then(value)));
            rows.row([name.clone()].into_iter().chain(row));
        }
        context.table(&rows)?;
        panels.push(Panel::lines(score, axis, "%", ticks.to_vec(), show::lines(&names, ticks.len(), find, value)));
    }
    context.figure(&Figure::new(title, 2, panels))
}
