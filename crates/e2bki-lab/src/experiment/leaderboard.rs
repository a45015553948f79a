//! The leaderboard: all methods on simulated drives of held-out seeds and on real recordings, in every view.

use std::path::PathBuf;

use anyhow::{Result, bail};
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_eval::{Confidence, DASH, Record, Table, View, decimals};
use e2bki_sim::Standard;

use super::context::Context;
use super::dataset::{Dataset, Part};
use super::means::{self, Mean, shown};
use super::method::{Method, OURS, OURS_CALIBRATED};
use super::show;
use super::study::Study;
use crate::real::Eye;

pub(super) const SIMULATED: [Standard; 3] = [Standard::RellisLike, Standard::OffroadLike, Standard::KittiLike];
const VIEWS: [View; 3] = [View::Voxel, View::Bev, View::Continuous];

/// Real recordings below the data folder: name, folder, semantics, and the first frame that no setting was chosen on.
const REAL: [(&str, &str, &str, usize); 3] = [
    ("SemanticKITTI 08", "semantickitti/sequences/08", "labels:predictions", 5),
    ("SemanticKITTI 00", "semantickitti/sequences/00", "logits:espnetv2_pred", 0),
    ("KITTI-360", "kitti360", "logits:espnetv2_pred", 0),
];

/// What the rows are of, and the records of each of its drives.
type Group = (String, Vec<Vec<Record>>);

pub(super) fn table(context: &mut Context) -> Result<()> {
    let mut groups: Vec<Group> = Vec::new();
    let datasets = datasets(context)?;
    for of in datasets.chunk_by(|a, b| a.table_name() == b.table_name()) {
        let mut drives = Vec::new();
        for dataset in of {
            let mut methods = context.all_methods(dataset, dataset.every())?;
            if let Some(config) = context.calibrated_config(dataset)? {
                methods.push(Method::ours(OURS_CALIBRATED, config, dataset.every()));
            }
            drives.push(context.study(&Study { dataset, methods: &methods, views: &VIEWS, compare: true })?);
        }
        let (many, first) = (if of.len() == 1 { String::new() } else { format!("{} drives of ", of.len()) }, &of[0]);
        context.note(&format!(
            "{}: {many}{} frames. Semantics: {}.",
            first.table_name(),
            first.frames,
            first.semantics
        ))?;
        groups.push((of[0].table_name().into(), drives));
    }
    context.note(
        "Simulated drives of test seeds: points in the camera's view, every 5th frame mapped, all asked about; mean ± standard \
         error where there are several. Real recordings: every second frame mapped, the labelled points of the others asked \
         about; SemanticKITTI 08 from frame 5 on, as settings were chosen on the frames before. `near %`: places 0.25 to \
         0.75 m from everything seen that the map claims is occupied. `source calibrated` has temperature, label strength \
         and a confusion of classes learned where ConvBKI learns; no row where nothing was better than nothing.",
    )?;
    context.table(&scores(&groups))?;
    context.note(
        "Ours against the best other method of each column (ConvBKI learns from ground truth, the others do not), drive by \
         drive:",
    )?;
    context.table(&margins(&groups))?;
    context.figure(&figure(&groups))
}

/// The real frames that settings were chosen on, where they are there.
pub(super) fn tuning_half(context: &mut Context) -> Result<Option<Dataset>> {
    let part = real_parts(context)?.into_iter().find(|part| part.frames.start > 0);
    match part {
        Some(part) => {
            let name = part.name.map(|name| format!("{name}, first half"));
            Ok(Some(context.part(Part { name, frames: 0..part.frames.start, ..part })?))
        }
        None => Ok(None),
    }
}

/// Every dataset there is; says which are not.
pub(super) fn datasets(context: &mut Context) -> Result<Vec<Dataset>> {
    let mut all = context.stand_ins(&SIMULATED)?;
    for part in real_parts(context)? {
        all.push(context.part(part)?);
    }
    Ok(all)
}

/// Every recording that is there, whole, and what of it no setting was chosen on; says which are not there.
pub(super) fn recordings(context: &mut Context) -> Result<Vec<Dataset>> {
    let mut all = Vec::new();
    for part in real_parts(context)? {
        let first = part.frames.start;
        all.push(context.part(Part { frames: 0..usize::MAX, ..part.clone() })?);
        if first > 0 {
            let name = part.name.as_ref().map(|name| format!("{name}, from frame {first}"));
            all.push(context.part(Part { name, ..part })?);
        }
    }
    Ok(all)
}

/// The real recordings in the data folder; says which are not there.
fn real_parts(context: &mut Context) -> Result<Vec<Part>> {
    if context.options.semantics.is_some() {
        bail!("this experiment knows the semantics of its recordings; leave --semantics out");
    }
    let root = context.options.data.clone().or_else(|| std::env::var_os("E2BKI_DATA").map(PathBuf::from));
    let Some(root) = root else {
        context.note("Real recordings are left out: give their folder as --data or E2BKI_DATA.")?;
        return Ok(Vec::new());
    };
    let part = |(name, folder, semantics, first): (&str, &str, &str, usize)| Part {
        name: Some(name.into()),
        folder: root.join(folder),
        sequence: None,
        learn_from: Vec::new(),
        eye: Eye::Scan,
        semantics: semantics.into(),
        frames: first..usize::MAX,
        held_out: true,
    };
    let (there, missing): (Vec<Part>, Vec<Part>) = REAL.into_iter().map(part).partition(|part| part.folder.is_dir());
    if there.is_empty() {
        let wanted: Vec<&str> = REAL.iter().map(|(_, folder, ..)| *folder).collect();
        bail!("{} holds none of the recordings {}", root.display(), wanted.join(", "));
    }
    for part in missing {
        let name = part.name.unwrap_or_default();
        context.note(&format!("{name} is left out: {} is not there.", part.folder.display()))?;
    }
    Ok(there)
}

/// One row for each method and view of each group.
fn scores(groups: &[Group]) -> Table {
    let mut table = Table::new([
        "dataset", "view", "method", "mIoU", "common", "Acc", "occupied", "BS", "ECE", "BS var", "m³", "near %", "MB",
    ]);
    for (name, drives) in groups {
        let drives: Vec<&[Record]> = drives.iter().map(Vec::as_slice).collect();
        for row in means::rows(&drives).iter().filter(|row| !row.is_empty()) {
            let mean = |value: Value| Mean::of(row.iter().map(|record| value(record)));
            let one = |value: Value, digits: usize| decimals(mean(value).map(|mean| mean.mean), digits);
            table.row([
                name.clone(),
                row[0].view.name().into(),
                row[0].method.clone(),
                shown(mean(|r| r.miou)),
                shown(mean(|r| r.miou_common)),
                shown(mean(|r| r.acc)),
                one(|r| r.occupied_share(), 1),
                shown(mean(|r| r.bs)),
                shown(mean(|r| r.ece)),
                shown(mean(|r| r.calibrated(Confidence::Variance).bs)),
                one(|r| r.volume_m3, 0),
                one(|r| r.near_empty_claimed, 1),
                one(|r| r.bytes.map(|b| b as f64 / 1e6), 1),
            ]);
        }
    }
    table
}

type Value = fn(&Record) -> Option<f64>;

/// A score of a record, its name, and whether a high value is good.
type Column = (&'static str, Value, bool);

const COLUMNS: [Column; 5] = [
    ("mIoU", |r| r.miou, true),
    ("common", |r| r.miou_common, true),
    ("Acc", |r| r.acc, true),
    ("BS", |r| r.bs, false),
    ("ECE", |r| r.ece, false),
];

/// Our default against the best of the others, group by group and view by view.
fn margins(groups: &[Group]) -> Table {
    let mut table =
        Table::new(["dataset", "view", "ours", "against"].into_iter().chain(COLUMNS.map(|(name, ..)| name)));
    for (dataset, drives) in groups {
        for view in [View::Voxel, View::Bev] {
            let pairs =
                [(OURS, "all", true), (OURS, "those that learn nothing", false), (OURS_CALIBRATED, "all", true)];
            for (name, against, learned) in pairs {
                let margins: Vec<Option<Mean>> = COLUMNS
                    .iter()
                    .map(|column| Mean::of(drives.iter().map(|drive| margin(drive, view, name, learned, column))))
                    .collect();
                if margins.iter().any(Option::is_some) {
                    let row = [dataset.as_str(), view.name(), name, against].map(String::from);
                    table.row(row.into_iter().chain(margins.into_iter().map(signed)));
                }
            }
        }
    }
    table
}

/// One of ours less the best of the others on one drive.
fn margin(drive: &[Record], view: View, name: &str, learned: bool, (_, value, high): &Column) -> Option<f64> {
    let of_view = || drive.iter().filter(|r| r.view == view && r.bytes.is_some() && r.queries > 0);
    let ours = of_view().find(|r| r.method == name)?;
    let others = of_view().filter(|r| !r.method.starts_with(OURS) && (learned || r.method != "ConvBKI"));
    let order = |a: &f64, b: &f64| if *high { a.total_cmp(b) } else { b.total_cmp(a) };
    Some(value(ours)? - others.filter_map(value).max_by(order)?)
}

fn signed(mean: Option<Mean>) -> String {
    mean.map_or_else(|| DASH.into(), |mean| if mean.mean < 0.0 { mean.text() } else { format!("+{}", mean.text()) })
}

/// Scores of the voxel maps, and of those from above, a panel per group.
fn figure(groups: &[Group]) -> Figure {
    let (mut panels, mut above) = (Vec::new(), Vec::new());
    for (name, drives) in groups.iter().filter(|(_, drives)| drives.iter().flatten().any(|r| r.queries > 0)) {
        let drives: Vec<&[Record]> = drives.iter().map(Vec::as_slice).collect();
        let means = means::averaged(&drives);
        let of = |view: View| means.iter().filter(|r| r.view == view).cloned().collect::<Vec<_>>();
        panels.extend(show::panels(name, &of(View::Voxel)));
        let row = |r: &Record| Series::at_ticks(show::row_name(r), COLUMNS.iter().map(|(_, value, _)| value(r)));
        let series = of(View::Bev).iter().filter(|r| r.bytes.is_some()).map(row).collect();
        let ticks = COLUMNS.iter().map(|(name, ..)| name.to_string()).collect();
        above.push(Panel::bars(&format!("{name}, from above"), "%", ticks, series));
    }
    Figure::new("Leaderboard", 2, panels.into_iter().chain(above).collect())
}
