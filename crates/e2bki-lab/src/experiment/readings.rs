//! Where the paper is silent or says two things: its settings with one reading changed at a time.

use anyhow::Result;
use e2bki_eval::{Record, Table, View};
use e2bki_sim::Standard;

use super::context::Context;
use super::means::{Mean, shown};
use super::method::{Method, OURS_PAPER, paper_config};
use super::study::Study;

/// Drives of each set, unless more were asked for.
const SEEDS: u64 = 3;

/// The other readings, and the settings that make them.
const READINGS: [(&str, &[(&str, &str)]); 13] = [
    ("clusters in total, not of every class", &[("cluster_count", "total")]),
    ("at most one cluster per four points", &[("min_points_per_cluster", "4")]),
    ("clusters split at 20 m", &[("max_extent", "20")]),
    ("one iteration of K-means", &[("kmeans_iterations", "1")]),
    ("thirty iterations of K-means", &[("kmeans_iterations", "30")]),
    ("distance squared, as printed", &[("distance", "squared")]),
    ("stopped primitives muted, not dropped", &[("gated", "mute")]),
    ("pruning and merging in one pass", &[("refinement", "one-pass")]),
    ("posterior accumulated frame by frame", &[("posterior", "accumulate")]),
    ("evidence sparsity up to 1", &[("sparsity", "rescaled")]),
    ("no evidence sparsity", &[("sparsity", "none")]),
    ("points of a primitive correlate (ours)", &[("correlation", "0.2")]),
    ("doubt counts conflict (ours)", &[("doubt", "conflict")]),
];

pub(super) fn table(context: &mut Context) -> Result<()> {
    if context.options.data.is_none() {
        context.options.seeds = context.options.seeds.max(SEEDS);
    }
    let datasets = context.datasets(&[Standard::RellisLike, Standard::KittiLike])?;
    context.note(
        "The paper's settings, and what changes with one other reading of it: means over drives ± their standard error, drive by \
         drive. Negative BS and ECE are better.",
    )?;
    for group in datasets.chunk_by(|a, b| a.group == b.group) {
        let mut drives = Vec::new();
        for dataset in group {
            let paper = paper_config(dataset.stands_for, context.options.threads)?;
            let mut methods = vec![Method::ours(OURS_PAPER, paper.clone(), dataset.every())];
            for (name, settings) in READINGS {
                let mut config = paper.clone();
                for (key, value) in settings {
                    config.set_text(key, value)?;
                }
                methods.push(Method::ours(name, config, dataset.every()));
            }
            let study = Study { dataset, methods: &methods, views: &[View::Voxel], compare: false };
            drives.push(context.study(&study)?);
        }
        context.introduce(&group[0])?;
        context.note(&format!("{}: {} drives of {} frames.", group[0].group, group.len(), group[0].frames))?;
        context.table(&rows(&drives))?;
    }
    Ok(())
}

fn rows(drives: &[Vec<Record>]) -> Table {
    type Value = fn(&Record) -> Option<f64>;
    let scores: [Value; 5] = [|r| r.miou, |r| r.acc, |r| r.bs, |r| r.ece, |r| r.hz];
    let of = |drive: &[Record], name: &str, value: Value| drive.iter().find(|r| r.method == name).and_then(value);
    let mut table = Table::new(["", "mIoU", "Acc", "BS", "ECE", "Hz"]);
    let own = scores.map(|value| shown(Mean::of(drives.iter().map(|drive| of(drive, OURS_PAPER, value)))));
    table.row([OURS_PAPER.to_string()].into_iter().chain(own));
    for (name, _) in READINGS {
        let change = |value: Value| {
            let both = |drive: &Vec<Record>| of(drive, name, value).zip(of(drive, OURS_PAPER, value));
            let mean = Mean::of(drives.iter().map(|drive| both(drive).map(|(a, b)| a - b)));
            let text = shown(mean);
            if mean.is_some_and(|mean| mean.mean >= 0.0) { format!("+{text}") } else { text }
        };
        table.row([name.to_string()].into_iter().chain(scores.map(change)));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::Config;

    #[test]
    fn every_reading_is_a_configuration_that_differs_from_the_papers() {
        for preset in ["paper-rellis", "paper-urban"] {
            let paper = Config::preset(preset).unwrap();
            for (name, settings) in READINGS {
                let mut config = paper.clone();
                settings.iter().for_each(|(key, value)| config.set_text(key, value).unwrap());
                assert_ne!(config, paper, "{name}");
            }
        }
    }

    #[test]
    fn changes_are_taken_drive_by_drive() {
        let record = |name: &str, miou: f64| {
            let mut record = Record::new("x", name, View::Voxel);
            record.miou = Some(miou);
            record
        };
        let first = READINGS[0].0;
        let drives: Vec<Vec<Record>> =
            [10.0, 60.0].iter().map(|v| vec![record(OURS_PAPER, *v), record(first, v - 2.0)]).collect();
        let table = rows(&drives);
        assert_eq!(table.rows[2][..2], [first.to_string(), "-2.0 ± 0.0".to_string()]);
    }
}
