//! Meaning of a primitive's uncertainty: its distribution before and after tempering, and how often maps are right.

use anyhow::Result;
use e2bki::config::Doubt;
use e2bki::{Config, Mapper};
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_eval::{DASH, Record, Table, View, percent};

use super::context::Context;
use super::dataset::Dataset;
use super::leaderboard;
use super::method::{Method, OURS};
use super::study::Study;

/// Upper ends of the bins of u; the first is where Dempster's rule puts nearly all of them.
const BINS: [f64; 11] = [0.001, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

pub(super) fn figure(context: &mut Context) -> Result<()> {
    let mut panels = Vec::new();
    for dataset in leaderboard::datasets(context)? {
        let default = context.config();
        let variants = [
            ("independent points", default.clone().with(|c| c.fusion.correlation = 0.0)),
            ("ignorance alone", default.clone().with(|c| c.views.doubt = Doubt::Ignorance)),
            (OURS, default),
        ];
        let mut shares = Vec::new();
        for (name, config) in [&variants[0], &variants[2]] {
            shares.push((*name, histogram(&dataset, config)?));
        }
        let methods = variants.map(|(name, config)| Method::ours(name, config, dataset.every()));
        let study = Study { dataset: &dataset, methods: &methods, views: &[View::Voxel], compare: false };
        let records = context.study(&study)?;
        context.note(&format!("{}: share of the primitives by their uncertainty u, percent.", dataset.name))?;
        let ticks: Vec<String> = BINS.iter().map(|end| format!("≤ {end}")).collect();
        let mut rows = Table::new(["u of primitives".to_string()].into_iter().chain(ticks.iter().cloned()));
        let mut series = Vec::new();
        for (name, shares) in &shares {
            rows.row([name.to_string()].into_iter().chain(shares.iter().map(|share| percent(Some(*share)))));
            series.push(Series::at_ticks(*name, shares.iter().map(|share| Some(*share))));
        }
        context.table(&rows)?;
        panels.push(Panel::bars(&format!("{}: u of primitives", dataset.name), "% of primitives", ticks, series));
        if records.iter().all(|record| record.queries == 0) {
            continue;
        }
        context.table(&reliability(&records))?;
        let curves = records.iter().map(|r| (r.method.clone(), r.reliability.as_slice()));
        panels.push(Panel::reliability(&format!("{}: reliability", dataset.name), curves));
    }
    context.figure(&Figure::new("Uncertainty before and after tempering", 2, panels))
}

/// Shares of a map's primitives by their uncertainty, percent.
fn histogram(dataset: &Dataset, config: &Config) -> Result<[f64; BINS.len()]> {
    let mut map = Mapper::new(dataset.classes.clone(), config.clone())?;
    for index in (0..dataset.frames).step_by(dataset.every()) {
        map.insert(&dataset.frame(index)?.borrow())?;
    }
    let mut shares = [0.0; BINS.len()];
    let each = 100.0 / map.len().max(1) as f64;
    for primitive in map.primitives() {
        let bin = BINS.iter().position(|end| primitive.uncertainty() <= *end).unwrap_or(BINS.len() - 1);
        shares[bin] += each;
    }
    Ok(shares)
}

/// How often answers of a confidence are right.
fn reliability(records: &[Record]) -> Table {
    let ends: Vec<usize> = (1..=e2bki_eval::BINS).collect();
    let heading = ends.iter().map(|end| format!("≤ {:.0}", 100.0 * *end as f64 / e2bki_eval::BINS as f64));
    let mut rows =
        Table::new(["right % by confidence".to_string()].into_iter().chain(heading).chain(["BS".into(), "ECE".into()]));
    for record in records {
        let cell = |end: &usize| {
            let wide = 100.0 / e2bki_eval::BINS as f64;
            let within = |confidence: f64| confidence >= wide * (end - 1) as f64 && confidence <= wide * *end as f64;
            let bin = record.reliability.iter().find(|bin| within(bin.confidence));
            bin.map_or_else(|| DASH.into(), |bin| format!("{:.0}", bin.accuracy))
        };
        let scores = [percent(record.bs), percent(record.ece)];
        rows.row([record.method.clone()].into_iter().chain(ends.iter().map(cell)).chain(scores));
    }
    rows
}
