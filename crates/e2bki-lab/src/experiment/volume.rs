//! Not bought by inflation: our map held to the occupied volume of EBS's.

use anyhow::Result;
use e2bki_baselines::Baseline;
use e2bki_eval::{Record, Table, View, decimals, percent};

use super::context::Context;
use super::leaderboard;
use super::method::{Method, OURS};
use super::study::Study;

/// Shares of the default β to try.
const SHARES: [f64; 9] = [1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6];

pub(super) fn table(context: &mut Context) -> Result<()> {
    let mut rows = Table::new(["dataset", "map", "β", "mIoU", "Acc", "occupied", "m³", "near %"]);
    for dataset in leaderboard::datasets(context)? {
        let every = dataset.every();
        let ebs = Method::baseline(Baseline::Ebs, context.their_config()?, every);
        let mut methods = vec![ebs];
        for share in SHARES {
            let default = context.config();
            let uncertainty_sensitivity = (share * default.kernel.uncertainty_sensitivity * 1e4).round() / 1e4;
            let config = default.with(|c| c.kernel.uncertainty_sensitivity = uncertainty_sensitivity);
            methods.push(Method::ours(OURS, config, every).with("β", uncertainty_sensitivity));
        }
        let study = Study { dataset: &dataset, methods: &methods, views: &[View::Voxel], compare: false };
        let records = context.study(&study)?;
        let Some((ebs, ours)) = records.split_first() else { continue };
        let mut row = |name: &str, record: &Record| {
            rows.row([
                dataset.name.clone(),
                name.into(),
                record.parameters.get("β").cloned().unwrap_or_default(),
                percent(record.miou),
                percent(record.acc),
                percent(record.occupied_share()),
                decimals(record.volume_m3, 0),
                percent(record.near_empty_claimed),
            ]);
        };
        row("EBS", ebs);
        if let Some(default) = ours.first() {
            row(OURS, default);
        }
        if let Some(matched) = ours.iter().find(|r| r.volume_m3 <= ebs.volume_m3) {
            row("E2-BKI, at most EBS's volume", matched);
        }
    }
    context.note("E2-BKI with β lowered until it fills no more space than EBS, everything else as it is:")?;
    context.table(&rows)
}
