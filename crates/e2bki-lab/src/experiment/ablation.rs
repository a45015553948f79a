//! Ablations: the paper's steps from S-BKI to E2-BKI, and our default with one part taken out at a time.

use anyhow::Result;
use e2bki::Config;
use e2bki::config::{Clustering, Gate, Posterior, Reach, Shape};
use e2bki_baselines::Baseline;
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_eval::{Confidence, Record, Table, View, decimals, percent};
use e2bki_sim::Standard;

use super::context::Context;
use super::dataset::Dataset;
use super::method::{Method, OURS, paper_config};
use super::study::Study;
use super::{paper, show};

pub(super) fn table(context: &mut Context) -> Result<()> {
    let dataset = context.dataset(Standard::RellisLike)?;
    let every = dataset.every();
    let mut methods = steps(context, &dataset, every)?;
    let outs = without(&context.config(), every);
    let first_out = methods.len();
    methods.extend(outs);
    let study = Study { dataset: &dataset, methods: &methods, views: &[View::Voxel, View::Continuous], compare: false };
    let records = context.study(&study)?;
    context.introduce(&dataset)?;
    let of = |method: &Method, view: View| records.iter().find(|r| r.view == view && r.method == method.name);

    let mut rows = Table::new(["the paper's steps", "mIoU", "Acc", "BS", "ECE", "Hz", "paper: mIoU / Acc / BS"]);
    let mut shown: Vec<(&str, &Record)> = Vec::new();
    for (name, numbers) in paper::ABLATION {
        let (method, view) = match name {
            "+ continuous" => ("+ decomposed uncertainty", View::Continuous),
            _ => (name, View::Voxel),
        };
        let found = methods.iter().find(|m| m.name == method).and_then(|m| of(m, view));
        if let Some(record) = found {
            let [miou, acc, bs] = numbers;
            shown.push((name, record));
            rows.row(score_row(name, record).into_iter().chain([format!("{miou:.1} / {acc:.1} / {bs:.1}")]));
        }
    }
    context.table(&rows)?;

    let mut rows = Table::new(["our default", "mIoU", "Acc", "BS", "ECE", "Hz", "m³", "MB"]);
    for method in &methods[first_out..] {
        for view in [View::Voxel, View::Continuous] {
            let Some(record) = of(method, view) else { continue };
            let continuous = view == View::Continuous;
            if continuous && method.name != OURS {
                continue;
            }
            let name = if continuous { show::row_name(record) } else { method.name.clone() };
            let size = [decimals(record.volume_m3, 0), decimals(record.bytes.map(|b| b as f64 / 1e6), 1)];
            rows.row(score_row(&name, record).into_iter().chain(size));
        }
    }
    context.table(&rows)?;

    let ticks: Vec<String> = shown.iter().map(|(name, _)| name.to_string()).collect();
    let panel = |title: &str, value: fn(&Record) -> Option<f64>, printed: usize| {
        let ours = Series::at_ticks("here", shown.iter().map(|(_, record)| value(record)));
        let of_paper = |name: &str| paper::ABLATION.iter().find(|(row, _)| *row == name).map(|(_, n)| n[printed]);
        let theirs = Series::at_ticks("paper, real RELLIS-3D", shown.iter().map(|(name, _)| of_paper(name)));
        Panel::bars(title, "%", ticks.clone(), vec![ours, theirs])
    };
    let panels = vec![panel("mIoU", |r| r.miou, 0), panel("Acc", |r| r.acc, 1), panel("BS (low is good)", |r| r.bs, 2)];
    let mut figure = Figure::new("Ablation", 3, panels);
    figure.panel_px = (480, 560);
    context.figure(&figure)
}

fn score_row(name: &str, record: &Record) -> Vec<String> {
    let numbers = [record.miou, record.acc, record.bs, record.ece, record.hz].map(percent);
    [name.to_string()].into_iter().chain(numbers).collect()
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
        ("reach as far across surfaces", base().with(|c| c.kernel.reach = Reach::Uniform)),
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
