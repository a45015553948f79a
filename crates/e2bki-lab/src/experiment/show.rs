//! Records as tables and diagrams.

use e2bki::ClassSet;
use e2bki_eval::plot::{Panel, Series};
use e2bki_eval::{Confidence, DASH, Record, Table, decimals, percent};

use super::dataset::Dataset;
use super::paper;

/// Name of a record's row: its method, and its view where it is asked between voxels.
pub(super) fn row_name(record: &Record) -> String {
    use e2bki_eval::View::{BevContinuous, Continuous};
    match record.view {
        Continuous | BevContinuous => format!("{}, continuous", record.method),
        _ => record.method.clone(),
    }
}

/// All scores of a comparison, with the paper's beside them.
pub(super) fn scores(dataset: &Dataset, records: &[Record]) -> Table {
    let held_out =
        dataset.held_out && dataset.semantics == crate::real::PREDICTIONS && dataset.name.contains("SemanticKITTI 08");
    let beside = match dataset.stands_for {
        Some(standard) if records.iter().any(|r| r.view.is_planar()) => {
            format!("paper, real {}: mIoU / Acc / BS", paper::real_name(standard))
        }
        Some(standard) => format!("paper, real {}: mIoU / Acc / BS / ECE", paper::real_name(standard)),
        None if held_out => "public programs: mIoU with misses / Acc".into(),
        None => String::new(),
    };
    let mut heading: Vec<String> =
        ["method", "mIoU", "common", "with misses", "Acc", "occupied", "BS", "ECE", "BS var", "ECE var"]
            .map(String::from)
            .to_vec();
    if !beside.is_empty() {
        heading.push(beside);
    }
    let mut table = Table::new(heading);
    for record in records {
        let variance = record.calibrated(Confidence::Variance);
        let mut row = vec![
            row_name(record),
            percent(record.miou),
            percent(record.miou_common),
            percent(record.miou_strict),
            percent(record.acc),
            percent(record.occupied_share()),
            percent(record.bs),
            percent(record.ece),
            percent(variance.bs),
            percent(variance.ece),
        ];
        let peers = || {
            let found = paper::PEERS_HELD_OUT.iter().find(|(name, _)| *name == record.method);
            found.map(|(_, [miou, acc])| format!("{miou:.1} / {acc:.1}"))
        };
        let other = match dataset.stands_for {
            Some(standard) => paper::scores(standard, &record.method, record.view),
            None if held_out => peers(),
            None => None,
        };
        if table.rows[0].len() > row.len() {
            row.push(other.unwrap_or_else(|| DASH.into()));
        }
        table.row(row);
    }
    table
}

/// Time, memory and occupied volume of each map.
pub(super) fn costs(records: &[Record]) -> Table {
    let mut table =
        Table::new(["method", "m³ occupied", "empty claimed %", "near %", "Hz", "MB", "BS min–max", "ECE min–max"]);
    for record in records.iter().filter(|record| record.bytes.is_some()) {
        let scaled = record.calibrated(Confidence::MinMax);
        table.row([
            row_name(record),
            decimals(record.volume_m3, 0),
            decimals(record.empty_claimed, 2),
            decimals(record.near_empty_claimed, 1),
            percent(record.hz),
            decimals(record.bytes.map(|b| b as f64 / 1e6), 1),
            percent(scaled.bs),
            percent(scaled.ece),
        ]);
    }
    table
}

/// IoU by class.
pub(super) fn by_class(classes: &ClassSet, records: &[Record]) -> Table {
    let mut table = Table::new(["IoU %".to_string()].into_iter().chain(classes.names().iter().cloned()));
    for record in records {
        let iou = |name: &String| percent(record.iou.get(name).copied().flatten());
        table.row([row_name(record)].into_iter().chain(classes.names().iter().map(iou)));
    }
    table
}

/// The numbers of one dataset side by side.
pub(super) fn panels(dataset: &str, records: &[Record]) -> Vec<Panel> {
    let mapped: Vec<&Record> = records.iter().filter(|record| record.bytes.is_some()).collect();
    let ticks = ["mIoU", "Acc", "BS ↓", "ECE ↓"].map(String::from).to_vec();
    let series = mapped.iter().map(|r| Series::at_ticks(row_name(r), [r.miou, r.acc, r.bs, r.ece])).collect();
    let bars = Panel::bars(dataset, "%", ticks, series);
    // Means over drives have no curve: an empty diagram says nothing.
    if mapped.iter().all(|r| r.reliability.is_empty()) {
        return vec![bars];
    }
    let curves = mapped.iter().map(|r| (row_name(r), r.reliability.as_slice()));
    vec![bars, Panel::reliability(&format!("{dataset}: reliability"), curves)]
}
