//! E2-BKI's parameters: thresholds on uncertainty, the five others one at a time, and all together.

use anyhow::Result;
use e2bki::Config;
use e2bki::cluster::Rng;
use e2bki::config::Gate;
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_eval::{Record, Table, View, percent};
use e2bki_sim::{Split, Standard};

use super::claims::BASELINES;
use super::context::Context;
use super::means::{Mean, shown};
use super::method::{Method, paper_config};
use super::robustness::with;
use super::study::Study;

type Value = fn(&Record) -> Option<f64>;

const THRESHOLDS: [f64; 8] = [0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95];

/// Keys and the values tried; the default is among them.
pub(super) const VARIED: [(&str, &str, &[f64]); 5] = [
    ("uncertainty_sensitivity", "β", &[0.5, 0.75, 1.0, 1.25, 1.5]),
    ("prune_ratio", "ε", &[1.5, 2.0, 2.5, 3.0, 4.0]),
    ("consistency_radius", "d_L [m]", &[0.6, 0.8, 1.0, 1.4]),
    ("merge_radius", "d_S [m]", &[0.1, 0.2, 0.3, 0.4]),
    ("ellipsoid_mass", "τ̃", &[0.02, 0.05, 0.1, 0.2, 0.4]),
];

pub(super) fn threshold(context: &mut Context) -> Result<()> {
    let datasets = context.datasets(&[Standard::RellisLike])?;
    let mut records = Vec::new();
    for dataset in &datasets {
        let mut methods = Vec::new();
        for (gate, name) in [(Gate::Dynamic, "dynamic"), (Gate::Static, "static"), (Gate::Hybrid, "hybrid")] {
            for threshold in THRESHOLDS {
                let base = paper_config(dataset.stands_for, context.options.threads)?;
                // The dynamic rule drops the share above the threshold; the hybrid one drops 10 % and what is above it.
                let drop_uncertain = if gate == Gate::Dynamic { 1.0 - threshold } else { base.fusion.drop_uncertain };
                let config = base.with(|c| {
                    c.fusion.gate = gate;
                    c.fusion.drop_uncertain = drop_uncertain;
                    c.fusion.max_uncertainty = threshold;
                });
                let method = Method::ours(name, config, dataset.every()).with("threshold", threshold);
                methods.push(method.with("gate", name));
            }
        }
        records.extend(context.ask_voxels(dataset, &methods)?);
    }
    context.introduce_all(&datasets)?;
    context.note("The paper's settings with other thresholds.")?;
    let at = |name: &str, threshold: f64, value: Value| {
        let of = with(&records, "threshold", threshold);
        Mean::of(of.iter().filter(|r| r.method == name).map(value))
    };
    let ticks: Vec<String> = THRESHOLDS.iter().map(f64::to_string).collect();
    let scores: [(&str, Value); 4] =
        [("Acc", |r| r.acc), ("mIoU", |r| r.miou), ("with misses", |r| r.miou_strict), ("BS (low is good)", |r| r.bs)];
    let names = ["dynamic", "static", "hybrid"];
    let mut panels = Vec::new();
    for (score, value) in scores {
        let mut rows = Table::new([format!("{score} % by threshold")].into_iter().chain(ticks.iter().cloned()));
        let mut series = Vec::new();
        for name in names {
            let means: Vec<Option<Mean>> = THRESHOLDS.iter().map(|t| at(name, *t, value)).collect();
            rows.row([name.to_string()].into_iter().chain(means.iter().map(|mean| shown(*mean))));
            series.push(Series::at_ticks(name, means.iter().map(|mean| mean.map(|mean| mean.mean))));
        }
        context.table(&rows)?;
        panels.push(Panel::lines(score, "threshold (dynamic: 1 − ũ)", "%", ticks.clone(), series));
    }
    context.figure(&Figure::new("Uncertainty threshold", 2, panels))
}

pub(super) fn sensitivity(context: &mut Context) -> Result<()> {
    let datasets = context.datasets(&[Standard::RellisLike])?;
    let (mut records, mut baselines) = (Vec::new(), Vec::new());
    for dataset in &datasets {
        let base = paper_config(dataset.stands_for, context.options.threads)?;
        let mut methods = Vec::new();
        for (key, _, values) in VARIED {
            for value in values {
                let mut config = base.clone();
                config.set_text(key, &value.to_string())?;
                let name = format!("{key} = {value}");
                methods.push(Method::ours(&name, config, dataset.every()).with(key, value));
            }
        }
        records.extend(context.ask_voxels(dataset, &methods)?);
        let theirs = context.their_config()?;
        let others = BASELINES.map(|baseline| Method::baseline(baseline, theirs.clone(), dataset.every()));
        baselines.push(context.ask_voxels(dataset, &others)?);
    }
    context.introduce_all(&datasets)?;
    let columns: [Value; 4] = [|r| r.miou, |r| r.acc, |r| r.bs, |r| r.ece];
    let mut rows = Table::new(["one parameter changed", "mIoU", "Acc", "BS", "ECE"]);
    let mut panels = Vec::new();
    for (key, symbol, values) in VARIED {
        let (mut acc, mut miou) = (Vec::new(), Vec::new());
        for value in values {
            let of = with(&records, key, value);
            let means = columns.map(|column| Mean::of(of.iter().map(column)));
            rows.row([format!("{key} = {value}")].into_iter().chain(means.map(shown)));
            acc.push(means[1].map(|mean| mean.mean));
            miou.push(means[0].map(|mean| mean.mean));
        }
        let series = vec![Series::at_ticks("Acc", acc), Series::at_ticks("mIoU", miou)];
        let ticks = values.iter().map(f64::to_string).collect();
        panels.push(Panel::lines(symbol, symbol, "%", ticks, series));
    }
    for baseline in BASELINES {
        let of: Vec<&Record> = baselines.iter().flatten().filter(|r| r.method == baseline.name()).collect();
        let means = columns.map(|column| shown(Mean::of(of.iter().map(|record| column(record)))));
        rows.row([format!("for comparison: {}", baseline.name())].into_iter().chain(means));
    }
    context.table(&rows)?;
    context.figure(&Figure::new("Sensitivity (paper's settings, one parameter changed)", 3, panels))
}

pub(super) fn grid_search(context: &mut Context) -> Result<()> {
    let dataset = match context.options.data {
        Some(_) => context.dataset(Standard::RellisLike)?,
        None => {
            let look = context.look()?;
            context.simulated(Standard::RellisLike, Split::Validation, &look)?
        }
    };
    let base = paper_config(dataset.stands_for, context.options.threads)?;
    let grid = grid(&base)?;
    let count = if context.options.full { grid.len() } else { 24 };
    let mut methods = vec![Method::ours("default", base, dataset.every())];
    for (name, config) in grid.into_iter().take(count) {
        methods.push(Method::ours(&name, config, dataset.every()).with("grid", &name));
    }
    let study = Study { dataset: &dataset, methods: &methods, views: &[View::Voxel], compare: false };
    let mut records = context.study(&study)?;
    context.introduce(&dataset)?;
    let default = records.iter().find(|r| r.method == "default").cloned();
    let beats = |r: &Record, d: &Record| r.miou > d.miou && r.acc > d.acc;
    let better = default.as_ref().map_or(0, |d| records.iter().filter(|r| beats(r, d)).count());
    records.sort_by(|a, b| b.miou.partial_cmp(&a.miou).unwrap_or(std::cmp::Ordering::Equal));
    let mut rows = Table::new(["β, ε, d_L, d_S, τ̃", "mIoU", "Acc", "BS", "ECE"]);
    for record in records.iter().enumerate().filter(|(i, r)| *i < 12 || r.method == "default").map(|(_, r)| r) {
        rows.row(
            [record.method.clone()].into_iter().chain([record.miou, record.acc, record.bs, record.ece].map(percent)),
        );
    }
    context.table(&rows)?;
    context.note(&format!(
        "{better} of {count} configurations are better than the default in both mIoU and Acc (paper: 287 of 2000 surpass \
         it; the best has mIoU 48.3, Acc 84.3 where the default has 47.3, 83.5)."
    ))?;
    let points = |keep: &dyn Fn(&Record) -> bool| {
        let of = records.iter().filter(|r| keep(r)).filter_map(|r| Some((r.acc?, r.miou?)));
        of.flat_map(|p| [p, (f64::NAN, f64::NAN)]).collect::<Vec<_>>()
    };
    let series = vec![
        Series { name: "configurations".into(), points: points(&|r| r.method != "default") },
        Series { name: "default".into(), points: points(&|r| r.method == "default") },
    ];
    let panel = Panel::lines("mIoU over Acc", "Acc [%]", "mIoU [%]", Vec::new(), series);
    let mut figure = Figure::new("Grid search", 1, vec![panel]);
    figure.panel_px = (560, 420);
    context.figure(&figure)
}

/// All 2000 configurations, in a fixed random order.
fn grid(base: &Config) -> Result<Vec<(String, Config)>> {
    let mut all = vec![(String::new(), base.clone())];
    for (key, _, values) in VARIED {
        let mut next = Vec::new();
        for (name, config) in &all {
            for value in values {
                let mut config = config.clone();
                config.set_text(key, &value.to_string())?;
                let comma = if name.is_empty() { "" } else { ", " };
                next.push((format!("{name}{comma}{value}"), config));
            }
        }
        all = next;
    }
    let mut rng = Rng::new(2000);
    for i in (1..all.len()).rev() {
        all.swap(i, rng.below(i + 1));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_the_papers_size_and_no_configuration_twice() {
        let grid = grid(&Config::default()).unwrap();
        assert_eq!(grid.len(), 2000);
        let mut names: Vec<&String> = grid.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 2000);
        assert!(grid.iter().all(|(_, config)| config.check().is_ok()));
    }
}
