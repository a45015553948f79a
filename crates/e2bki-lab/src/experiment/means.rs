//! Means over drives of one set, or over folds of one recording, with their standard errors.

use e2bki::ClassSet;
use e2bki_eval::{Confidence, DASH, Record, Table, View, decimals};

use super::dataset::Dataset;
use super::paper;

/// A mean and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mean {
    pub(super) mean: f64,
    /// Nothing where there is one value only.
    pub(super) error: Option<f64>,
}

impl Mean {
    /// Of those values that there are; nothing if there are none.
    pub(super) fn of(values: impl IntoIterator<Item = Option<f64>>) -> Option<Self> {
        let known: Vec<f64> = values.into_iter().flatten().filter(|v| v.is_finite()).collect();
        let n = known.len() as f64;
        if known.is_empty() {
            return None;
        }
        let mean = known.iter().sum::<f64>() / n;
        let variance = known.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Some(Self { mean, error: (known.len() > 1).then(|| (variance / n).sqrt()) })
    }

    /// `47.3 ± 0.4`.
    pub(super) fn text(self) -> String {
        match self.error {
            Some(error) => format!("{:.1} ± {error:.1}", self.mean),
            None => format!("{:.1}", self.mean),
        }
    }
}

/// The same, or a dash.
pub(super) fn shown(mean: Option<Mean>) -> String {
    mean.map_or_else(|| DASH.into(), Mean::text)
}

/// Rows of a comparison: method and view, each with its records of every drive.
pub(super) fn rows<'a>(all: &[&'a [Record]]) -> Vec<Vec<&'a Record>> {
    let Some(first) = all.first() else { return Vec::new() };
    let same = |a: &Record, b: &Record| a.method == b.method && a.view == b.view && a.parameters == b.parameters;
    let of = |row: &&'a Record| all.iter().filter_map(|of| of.iter().find(|r| same(r, row))).collect();
    first.iter().map(|row| of(&row)).collect()
}

/// One record a row with the means of all drives.
pub(super) fn averaged(all: &[&[Record]]) -> Vec<Record> {
    let mean = |row: &[&Record], value: fn(&Record) -> Option<f64>| {
        Mean::of(row.iter().map(|record| value(record))).map(|mean| mean.mean)
    };
    let of = |row: Vec<&Record>| {
        let mut record = row[0].clone();
        (record.miou, record.acc) = (mean(&row, |r| r.miou), mean(&row, |r| r.acc));
        (record.bs, record.ece) = (mean(&row, |r| r.bs), mean(&row, |r| r.ece));
        record.reliability.clear();
        record
    };
    rows(all).into_iter().filter(|row| !row.is_empty()).map(of).collect()
}

/// Scores with their standard errors, and the paper's numbers beside them.
pub(super) fn scores(dataset: &Dataset, all: &[&[Record]]) -> Table {
    let planar = all.iter().flat_map(|of| of.iter()).any(|record| record.view.is_planar());
    let beside = dataset.stands_for.map(|standard| {
        format!("paper, real {}: mIoU / Acc / BS{}", paper::real_name(standard), if planar { "" } else { " / ECE" })
    });
    let columns = [
        "mean ± standard error",
        "mIoU",
        "common",
        "with misses",
        "Acc",
        "BS",
        "ECE",
        "BS var",
        "ECE var",
        "m³",
        "near %",
    ];
    let mut table = Table::new(columns.map(String::from).into_iter().chain(beside));
    for row in rows(all).iter().filter(|row| !row.is_empty()) {
        let mean = |value: fn(&Record) -> Option<f64>| shown(Mean::of(row.iter().map(|record| value(record))));
        let mut cells = vec![
            super::show::row_name(row[0]),
            mean(|r| r.miou),
            mean(|r| r.miou_common),
            mean(|r| r.miou_strict),
            mean(|r| r.acc),
            mean(|r| r.bs),
            mean(|r| r.ece),
            mean(|r| r.calibrated(Confidence::Variance).bs),
            mean(|r| r.calibrated(Confidence::Variance).ece),
            decimals(Mean::of(row.iter().map(|r| r.volume_m3)).map(|mean| mean.mean), 0),
            decimals(Mean::of(row.iter().map(|r| r.near_empty_claimed)).map(|mean| mean.mean), 1),
        ];
        if let Some(standard) = dataset.stands_for {
            let numbers = paper::scores(standard, &row[0].method, row[0].view);
            cells.push(numbers.unwrap_or_else(|| DASH.into()));
        }
        table.row(cells);
    }
    table
}

/// IoU by class with standard errors; voxels and cells from above only.
pub(super) fn by_class(classes: &ClassSet, all: &[&[Record]]) -> Table {
    let mut table = Table::new(["IoU %".to_string()].into_iter().chain(classes.names().iter().cloned()));
    for row in rows(all).iter().filter(|row| row.first().is_some_and(|r| matches!(r.view, View::Voxel | View::Bev))) {
        let iou = |name: &String| shown(Mean::of(row.iter().map(|record| record.iou.get(name).copied().flatten())));
        table.row([super::show::row_name(row[0])].into_iter().chain(classes.names().iter().map(iou)));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_has_the_standard_error_of_its_values() {
        let mean = Mean::of([Some(1.0), None, Some(3.0), Some(5.0)]).unwrap();
        // Standard deviation 2, three values.
        assert!((mean.mean - 3.0).abs() < 1e-12 && (mean.error.unwrap() - 2.0 / 3.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(mean.text(), "3.0 ± 1.2");
        assert_eq!(Mean::of([Some(4.0)]).unwrap().text(), "4.0");
        assert_eq!(shown(Mean::of([None])), DASH);
    }

    #[test]
    fn rows_are_joined_by_method_and_view() {
        let record = |method: &str, miou: f64| {
            let mut record = Record::new("x", method, View::Voxel);
            record.miou = Some(miou);
            record
        };
        let (a, b) = (vec![record("p", 10.0), record("q", 20.0)], vec![record("q", 40.0), record("p", 12.0)]);
        let means = averaged(&[&a, &b]);
        assert_eq!(means.iter().map(|r| r.miou).collect::<Vec<_>>(), [Some(11.0), Some(30.0)]);
    }
}
