//! Records as a table: scores in rows, methods in columns.

use e2bki::ClassSet;
use e2bki_eval::{Record, percent};

/// One column per record: its scores, then the classes.
pub fn rows(records: &[Record], classes: &ClassSet) -> Vec<Vec<String>> {
    let mut heading: Vec<String> = vec!["%".into()];
    heading.extend(records.iter().map(|record| record.method.clone()));
    let mut rows = vec![heading];
    let mut row = |name: &str, value: &dyn Fn(&Record) -> String| {
        rows.push([name.to_string()].into_iter().chain(records.iter().map(value)).collect());
    };
    row("mIoU", &|r| percent(r.miou));
    row("Acc (unoccupied = wrong)", &|r| percent(r.acc));
    row("occupied", &|r| percent(r.occupied_share()));
    row("Brier score (low is good)", &|r| percent(r.bs));
    row("ECE (low is good)", &|r| percent(r.ece));
    for name in classes.names() {
        row(&format!("IoU {name}"), &|r| percent(r.iou.get(name).copied().flatten()));
    }
    row("queries", &|r| r.queries.to_string());
    rows
}
