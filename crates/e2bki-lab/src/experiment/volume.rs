//! Not bought by inflation: our map held to the occupied volume of EBS's.

use anyhow::Result;
use e2bki_baselines::Baseline;
use e2bki_eval::{Record, Table, decimals};

use super::context::Context;
use super::leaderboard;
use super::means::{self, Mean, shown};
use super::method::{Method, OURS};

/// Shares of the default β to try.
const SHARES: [f64; 9] = [1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6];

pub(super) fn table(context: &mut Context) -> Result<()> {
    let mut rows = Table::new(["dataset", "map", "β", "mIoU", "Acc", "occupied", "m³", "near %"]);
    let datasets = leaderboard::datasets(context)?;
    for group in datasets.chunk_by(|a, b| a.table_name() == b.table_name()) {
        let mut drives = Vec::new();
        for dataset in group {
            let every = dataset.every();
            let mut methods = vec![Method::baseline(Baseline::Ebs, context.their_config()?, every)];
            for share in SHARES {
                let default = context.config();
                let uncertainty_sensitivity = (share * default.kernel.uncertainty_sensitivity * 1e4).round() / 1e4;
                let config = default.with(|c| c.kernel.uncertainty_sensitivity = uncertainty_sensitivity);
                methods.push(Method::ours(OURS, config, every).with("β", uncertainty_sensitivity));
            }
            drives.push(context.ask_voxels(dataset, &methods)?);
        }
        let drives: Vec<&[Record]> = drives.iter().map(Vec::as_slice).collect();
        let found = means::rows(&drives);
        let Some((ebs, ours)) = found.split_first() else { continue };
        let mean = |row: &[&Record], value: fn(&Record) -> Option<f64>| Mean::of(row.iter().map(|r| value(r)));
        let volume = |row: &[&Record]| mean(row, |r| r.volume_m3).map(|mean| mean.mean);
        let mut row = |name: &str, of: &[&Record]| {
            let one = |value: fn(&Record) -> Option<f64>, digits| decimals(mean(of, value).map(|m| m.mean), digits);
            rows.row([
                group[0].table_name().into(),
                name.into(),
                of.first().and_then(|r| r.parameters.get("β").cloned()).unwrap_or_default(),
                shown(mean(of, |r| r.miou)),
                shown(mean(of, |r| r.acc)),
                one(|r| r.occupied_share(), 1),
                decimals(volume(of), 0),
                one(|r| r.near_empty_claimed, 1),
            ]);
        };
        row("EBS", ebs);
        if let Some(default) = ours.first() {
            row(OURS, default);
        }
        // The widest that stays within EBS's volume, where the default does not.
        let matched = ours.iter().find(|of| volume(of) <= volume(ebs));
        if let Some(matched) = matched.filter(|_| ours.first().is_some_and(|default| volume(default) > volume(ebs))) {
            row("E2-BKI, at most EBS's volume", matched);
        }
    }
    context.note("E2-BKI with β lowered until it fills no more space than EBS, everything else as it is:")?;
    context.table(&rows)
}
