//! Value of each part of the default where the default was chosen: training drives, and the first half of the real scans.

use anyhow::Result;
use e2bki::Config;
use e2bki_baselines::Baseline;
use e2bki_eval::{Table, View, decimals, percent};
use e2bki_sim::Split;

use super::context::Context;
use super::dataset::Dataset;
use super::leaderboard;
use super::look::Look;
use super::method::{Method, OURS};
use super::study::Study;

/// Frames of a training drive: as many as ConvBKI learns from.
const FRAMES: usize = 60;

/// A part taken out, or another value tried: its name and the settings.
const WITHOUT: [(&str, &[(&str, &str)]); 22] = [
    (
        "the paper's weights, gate, reach and doubt (default before)",
        &[
            ("context", "0"),
            ("class_trust", "0"),
            ("vote_correlation", "1"),
            ("doubt", "ignorance"),
            ("correlation", "0.4"),
            ("reach", "uniform"),
            ("reach_growth", "0"),
            ("growth", "everywhere"),
            ("profile", "sparse"),
            ("uncertainty_sensitivity", "0.75"),
            ("drop_uncertain", "0.1"),
            ("label_strength", "3"),
        ],
    ),
    ("no context, no class trust", &[("context", "0"), ("class_trust", "0")]),
    ("no class trust", &[("class_trust", "0")]),
    ("class trust 2", &[("class_trust", "2")]),
    ("context 0.5", &[("context", "0.5")]),
    ("every primitive counts once", &[("vote_correlation", "1")]),
    ("every point counts", &[("vote_correlation", "0")]),
    ("doubt is ignorance", &[("doubt", "ignorance")]),
    ("doubt of one witness", &[("agreement", "1")]),
    ("independent points (ρ = 0)", &[("correlation", "0")]),
    ("ρ = 0.4", &[("correlation", "0.4")]),
    ("points of one frame correlate", &[("correlated", "frame")]),
    (
        "sparse kernel, growth everywhere (default before)",
        &[
            ("profile", "sparse"),
            ("growth", "everywhere"),
            ("reach_growth", "0.25"),
            ("uncertainty_sensitivity", "0.8"),
        ],
    ),
    ("sparse kernel", &[("profile", "sparse")]),
    ("growth everywhere", &[("growth", "everywhere"), ("reach_growth", "0.25")]),
    (
        "reach as far across surfaces (default before that)",
        &[
            ("reach", "uniform"),
            ("growth", "everywhere"),
            ("profile", "sparse"),
            ("reach_growth", "0.1"),
            ("uncertainty_sensitivity", "0.7"),
        ],
    ),
    ("reach does not grow", &[("reach_growth", "0")]),
    ("reach does not grow, β = 1", &[("reach_growth", "0"), ("uncertainty_sensitivity", "1")]),
    ("gate drops 10 %", &[("drop_uncertain", "0.1")]),
    ("no gate", &[("gate", "off")]),
    ("labels of strength 3", &[("label_strength", "3")]),
    ("no merging within a cube", &[("merge_same_cell", "false")]),
];

pub(super) fn table(context: &mut Context) -> Result<()> {
    for dataset in datasets(context)? {
        let every = dataset.every();
        let mut methods = vec![Method::ours(OURS, context.config(), every)];
        for (name, settings) in WITHOUT {
            let mut config: Config = context.config();
            for (key, value) in settings {
                config.set_text(key, value)?;
            }
            methods.push(Method::ours(name, config, every));
        }
        for baseline in [Baseline::SBki, Baseline::SeeCsom, Baseline::Ebs] {
            methods.push(Method::baseline(baseline, context.their_config()?, every));
        }
        let study = Study { dataset: &dataset, methods: &methods, views: &[View::Voxel], compare: false };
        let records = context.study(&study)?;
        context.note(&format!("{}: {} frames.", dataset.name, dataset.frames))?;
        let mut rows = Table::new(["", "mIoU", "Acc", "occupied", "BS", "ECE", "m³", "near %", "ms"]);
        for record in &records {
            rows.row([
                record.method.clone(),
                percent(record.miou),
                percent(record.acc),
                percent(record.occupied_share()),
                percent(record.bs),
                percent(record.ece),
                decimals(record.volume_m3, 0),
                percent(record.near_empty_claimed),
                decimals(record.hz.map(|hz| 1e3 / hz), 0),
            ]);
        }
        context.table(&rows)?;
    }
    Ok(())
}

/// Everything that settings were chosen on.
fn datasets(context: &mut Context) -> Result<Vec<Dataset>> {
    context.only_one_network("settings were chosen with the simulated one")?;
    let mut all = Vec::new();
    for standard in leaderboard::SIMULATED {
        let frames = context.options.frames.unwrap_or(FRAMES);
        let mut drive = Dataset::simulated(standard, Split::Train, &Look::default(), frames, &context.simulation())?;
        drive.name += ", training drive";
        all.push(drive);
    }
    all.extend(leaderboard::tuning_half(context)?);
    Ok(all)
}
