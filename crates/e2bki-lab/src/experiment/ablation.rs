//! Ablations: the paper's steps from S-BKI to E2-BKI, and our default with one part taken out at a time.

use anyhow::Result;
use e2bki::Config;
use e2bki::config::{Clustering, Gate, Growth, Posterior, Profile, Reach, Shape};
use e2bki_baselines::Baseline;
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_eval::{Confidence, Record, Table, View, decimals};
use e2bki_sim::Standard;

use super::context::Context;
use super::dataset::Dataset;
use super::means::{self, Mean};
use super::method::{Method, OURS, paper_config};
use super::study::Study;
use super::{paper, show};

/// A row: its name, and its record of every drive.
type Row<'a> = (String, Vec<&'a Record>);

pub(super) fn table(context: &mut Context) -> Result<()> {
    let mut panels = Vec::new();
    let datasets = context.datasets(&[Standard::RellisLike, Standard::OffroadLike, Standard::KittiLike])?;
    for group in datasets.chunk_by(|a, b| a.group == b.group) {
        panels.extend(ablate(context, group)?);
    }
    let mut figure = Figure::new("Ablation", 3, panels);
    figure.panel_px = (480, 560);
    context.figure(&figure)
}

/// The tables of one set, and its panels.
fn ablate(context: &mut Context, group: &[Dataset]) -> Result<Vec<Panel>> {
    let (mut drives, mut names) = (Vec::new(), (Vec::new(), Vec::new()));
    for dataset in group {
        let every = dataset.every();
        let (steps, outs) = (steps(context, dataset, every)?, without(&context.config(), every));
        let of = |methods: &[Method]| methods.iter().map(|method| method.name.clone()).collect::<Vec<_>>();
        names = (of(&steps), of(&outs));
        let methods: Vec<Method> = steps.into_iter().chain(outs).collect();
        let views = [View::Voxel, View::Continuous];
        drives.push(context.study(&Study { dataset, methods: &methods, views: &views, compare: false })?);
    }
    context.introduce_all(group)?;
    let row = |name: &str, method: &str, view: View| -> Row<'_> {
        let of = |drive: &'_ Vec<Record>| drive.iter().position(|r| r.view == view && r.method == method);
        (name.to_string(), drives.iter().filter_map(|drive| of(drive).map(|i| &drive[i])).collect())
    };

    let beside = "paper, real RELLIS-3D: mIoU / Acc / BS";
    let mut rows = Table::new(["the paper's steps", "mIoU", "Acc", "BS", "ECE", "Hz", beside]);
    let mut shown: Vec<Row<'_>> = Vec::new();
    for (name, numbers) in paper::ABLATION {
        let (method, view) = match name {
            "+ continuous" => ("+ decomposed uncertainty", View::Continuous),
            _ => (name, View::Voxel),
        };
        let row = row(name, method, view);
        if names.0.iter().any(|known| known == method) && !row.1.is_empty() {
            let [miou, acc, bs] = numbers;
            rows.row(score_row(&row).into_iter().chain([format!("{miou:.1} / {acc:.1} / {bs:.1}")]));
            shown.push(row);
        }
    }
    context.table(&rows)?;
    if drives.len() > 1 {
        context.note("Each step less the one above it, drive by drive:")?;
        let learned = shown.iter().position(|(name, _)| name.contains("ConvBKI")).unwrap_or(shown.len());
        context.table(&gains(&shown[..learned]))?;
    }

    let mut rows = Table::new(["our default", "mIoU", "Acc", "BS", "ECE", "Hz", "m³", "MB"]);
    for method in &names.1 {
        for view in [View::Voxel, View::Continuous] {
            if view == View::Continuous && method != OURS {
                continue;
            }
            let mut row = row(method, method, view);
            let Some(record) = row.1.first() else { continue };
            row.0 = show::row_name(record);
            let mean = |value: fn(&Record) -> Option<f64>| Mean::of(row.1.iter().map(|r| value(r))).map(|m| m.mean);
            let size = [mean(|r| r.volume_m3), mean(|r| r.bytes.map(|b| b as f64 / 1e6))];
            rows.row(score_row(&row).into_iter().chain([decimals(size[0], 0), decimals(size[1], 1)]));
        }
    }
    context.table(&rows)?;

    let ticks: Vec<String> = shown.iter().map(|(name, _)| name.clone()).collect();
    let set = group.first().map_or("", Dataset::table_name);
    let panel = |title: &str, value: fn(&Record) -> Option<f64>, printed: usize| {
        let mean = |(_, of): &Row<'_>| Mean::of(of.iter().map(|record| value(record))).map(|mean| mean.mean);
        let ours = Series::at_ticks("here", shown.iter().map(mean));
        let of_paper = |name: &str| paper::ABLATION.iter().find(|(row, _)| *row == name).map(|(_, n)| n[printed]);
        let theirs = Series::at_ticks("paper, real RELLIS-3D", shown.iter().map(|(name, _)| of_paper(name)));
        Panel::bars(&format!("{set}: {title}"), "%", ticks.clone(), vec![ours, theirs])
    };
    Ok(vec![panel("mIoU", |r| r.miou, 0), panel("Acc", |r| r.acc, 1), panel("BS (low is good)", |r| r.bs, 2)])
}

/// Scores of a row.
const SCORES: [fn(&Record) -> Option<f64>; 5] = [|r| r.miou, |r| r.acc, |r| r.bs, |r| r.ece, |r| r.hz];

fn score_row((name, records): &Row<'_>) -> Vec<String> {
    let mean = |value: &fn(&Record) -> Option<f64>| means::shown(Mean::of(records.iter().map(|record| value(record))));
    [name.clone()].into_iter().chain(SCORES.iter().map(mean)).collect()
}

/// What every step changes: differences drive by drive, so that drives that are hard for all do not count as noise.
fn gains(steps: &[Row<'_>]) -> Table {
    let mut table = Table::new(["step", "mIoU", "Acc", "BS", "ECE"]);
    for pair in steps.windows(2) {
        let [(_, before), (name, after)] = pair else { continue };
        let gain = |value: &fn(&Record) -> Option<f64>| {
            let of = before.iter().zip(after).map(|(before, after)| Some(value(after)? - value(before)?));
            means::shown(Mean::of(of))
        };
        table.row([name.clone()].into_iter().chain(SCORES[..4].iter().map(gain)));
    }
    table
}

/// From S-BKI to E2-BKI, part by part.
fn steps(context: &mut Context, dataset: &Dataset, every: usize) -> Result<Vec<Method>> {
    let config = context.their_config()?;
    let mut names = paper::ABLATION.iter().map(|(name, _)| *name);
    let mut name = || names.next().unwrap_or_default();
    let full = paper_config(dataset.stands_for, context.options.threads)?;
    let bare = full.clone().with(|c| {
        c.refinement.merge = false;
        c.refinement.prune = false;
        c.kernel.shape = Shape::Sphere;
    });
    let mut methods = Vec::new();
    for baseline in [Baseline::SBki, Baseline::Ebs] {
        let mut method = Method::baseline(baseline, config.clone(), every);
        method.name = name().into();
        methods.push(method);
    }
    for config in [
        bare.clone().with(|c| c.clustering.method = Clustering::Fps),
        bare.clone(),
        bare.clone().with(|c| c.kernel.shape = Shape::Ellipsoid),
        bare.with(|c| {
            c.kernel.shape = Shape::Ellipsoid;
            c.refinement.merge = true;
        }),
        full.clone(),
    ] {
        let mut method = Method::ours(name(), config, every);
        method.confidence = Confidence::Variance;
        methods.push(method);
    }
    methods.push(Method::ours(name(), full, every));
    let (elsewhere, here) = (context.conv_kernels(dataset)?, context.learn(&[(dataset, 1)])?);
    let conv = &paper::ABLATION[9..];
    methods.push(Method::conv_bki(conv[0].0, elsewhere, config.clone(), every));
    methods.push(Method::conv_bki(conv[1].0, here, config, every));
    Ok(methods)
}

/// Our default, and what it is without each of its parts.
fn without(config: &Config, every: usize) -> Vec<Method> {
    let mut variance = Method::ours("confidence from the variance", config.clone(), every);
    variance.confidence = Confidence::Variance;
    let mut methods = vec![Method::ours(OURS, config.clone(), every), variance];
    let base = || config.clone();
    for (name, config) in [
        ("sparse kernel", base().with(|c| c.kernel.profile = Profile::Sparse)),
        ("growth everywhere", base().with(|c| (c.kernel.growth, c.kernel.reach_growth) = (Growth::Everywhere, 0.25))),
        (
            "reach as far across surfaces",
            base().with(|c| (c.kernel.reach, c.kernel.reach_growth) = (Reach::Uniform, 0.1)),
        ),
        ("spheres", base().with(|c| c.kernel.shape = Shape::Sphere)),
        ("points", base().with(|c| c.kernel.shape = Shape::Point)),
        ("pruning", base().with(|c| c.refinement.prune = true)),
        ("merging by distance too", base().with(|c| c.refinement.merge = true)),
        ("no merging within a cube", base().with(|c| c.clustering.merge_same_cell = false)),
        ("no uncertainty gate", base().with(|c| c.fusion.gate = Gate::Off)),
        ("posterior accumulated by frame", base().with(|c| c.views.posterior = Posterior::Accumulate)),
        ("K-means++", base().with(|c| c.clustering.method = Clustering::KMeans)),
        ("FPS", base().with(|c| c.clustering.method = Clustering::Fps)),
        ("random centres", base().with(|c| c.clustering.method = Clustering::Random)),
    ] {
        methods.push(Method::ours(name, config, every));
    }
    methods
}
