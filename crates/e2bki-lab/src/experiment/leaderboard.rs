//! The leaderboard: all methods on simulated drives of held-out seeds and on real recordings, in every view.

use std::path::PathBuf;

use anyhow::{Result, bail};
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_eval::{DASH, Record, Table, View, decimals, percent};
use e2bki_sim::{Split, Standard};

use super::context::Context;
use super::dataset::{Dataset, Part};
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

pub(super) fn table(context: &mut Context) -> Result<()> {
    let mut records = Vec::new();
    for dataset in datasets(context)? {
        let mut methods = context.all_methods(&dataset, dataset.every())?;
        if let Some(config) = context.calibrated_config(&dataset)? {
            context.note(&format!(
                "{}: {OURS_CALIBRATED} has temperature {}, label strength {} and a confusion of classes learned where ConvBKI \
                 learns.",
                dataset.name, config.input.temperature, config.input.label_strength
            ))?;
            methods.push(Method::ours(OURS_CALIBRATED, config, dataset.every()));
        }
        records.extend(context.study(&Study { dataset: &dataset, methods: &methods, views: &VIEWS, compare: true })?);
    }
    context.note(
        "Simulated drives of test seeds: points in the camera's view, every 5th frame mapped, all asked about. Real \
         recordings: every second frame mapped, the labelled points of the others asked about; SemanticKITTI 08 from \
         frame 5 on, as settings were chosen on the frames before. `near %`: places 0.25 to 0.75 m from everything seen \
         that the map claims is occupied.",
    )?;
    context.table(&scores(&records))?;
    context.note(
        "Ours against the best other method of each column (ConvBKI learns from ground truth, the others do not):",
    )?;
    context.table(&margins(&records))?;
    context.figure(&figure(&records))
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
    let mut all = Vec::new();
    for standard in SIMULATED {
        all.push(context.simulated(standard, Split::Test, &context.options.network)?);
    }
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

/// All records, one row each.
fn scores(records: &[Record]) -> Table {
    let mut table = Table::new([
        "dataset", "view", "method", "mIoU", "common", "Acc", "occupied", "BS", "ECE", "m³", "near %", "ms", "MB",
    ]);
    for record in records {
        table.row([
            record.dataset.clone(),
            record.view.name().into(),
            record.method.clone(),
            percent(record.miou),
            percent(record.miou_common),
            percent(record.acc),
            percent(record.occupied_share()),
            percent(record.bs),
            percent(record.ece),
            decimals(record.volume_m3, 0),
            percent(record.near_empty_claimed),
            decimals(record.hz.map(|hz| 1e3 / hz), 0),
            decimals(record.bytes.map(|b| b as f64 / 1e6), 1),
        ]);
    }
    table
}

/// A score of a record, its name, and whether a high value is good.
type Column = (&'static str, fn(&Record) -> Option<f64>, bool);

const COLUMNS: [Column; 5] = [
    ("mIoU", |r| r.miou, true),
    ("common", |r| r.miou_common, true),
    ("Acc", |r| r.acc, true),
    ("BS", |r| r.bs, false),
    ("ECE", |r| r.ece, false),
];

/// Our default against the best of the others, dataset by dataset and view by view.
fn margins(records: &[Record]) -> Table {
    let heading =
        ["dataset", "view", "ours", "against"].into_iter().chain(COLUMNS.map(|(name, ..)| name)).chain(["ECE : S-BKI"]);
    let mut table = Table::new(heading);
    let mut groups: Vec<(&str, View)> = records.iter().map(|r| (r.dataset.as_str(), r.view)).collect();
    groups.dedup();
    for (dataset, view) in groups.into_iter().filter(|(_, view)| *view != View::Continuous) {
        let of = |name: &str| records.iter().find(|r| r.dataset == dataset && r.view == view && r.method == name);
        let pairs = [(OURS, "all", true), (OURS, "those that learn nothing", false), (OURS_CALIBRATED, "all", true)];
        for (name, against, learned) in pairs {
            let Some(ours) = of(name).filter(|r| r.queries > 0) else { continue };
            let others = records.iter().filter(|r| r.dataset == dataset && r.view == view && r.bytes.is_some());
            let others: Vec<&Record> =
                others.filter(|r| !r.method.starts_with(OURS) && (learned || r.method != "ConvBKI")).collect();
            let margin = |(_, value, high): &Column| {
                let order = |a: &f64, b: &f64| if *high { a.total_cmp(b) } else { b.total_cmp(a) };
                let best = others.iter().filter_map(|r| value(r)).max_by(order);
                value(ours).zip(best).map_or_else(|| DASH.into(), |(ours, best)| format!("{:+.1}", ours - best))
            };
            let ratio = of("S-BKI").and_then(|r| Some(ours.ece? / r.ece?));
            let row = [dataset.into(), view.name().into(), name.into(), against.into()].into_iter();
            table.row(row.chain(COLUMNS.iter().map(margin)).chain([decimals(ratio, 2)]));
        }
    }
    table
}

/// Scores of the voxel maps, a panel per dataset.
fn figure(records: &[Record]) -> Figure {
    let mut names: Vec<&str> = records.iter().filter(|r| r.queries > 0).map(|r| r.dataset.as_str()).collect();
    names.dedup();
    let mut panels = Vec::new();
    for name in names {
        let of: Vec<Record> = records.iter().filter(|r| r.dataset == name && r.view == View::Voxel).cloned().collect();
        panels.extend(show::panels(name, &of));
    }
    let ticks: Vec<String> = COLUMNS.iter().map(|(name, ..)| name.to_string()).collect();
    let row = |r: &Record| Series::at_ticks(show::row_name(r), COLUMNS.iter().map(|(_, value, _)| value(r)));
    let bev = records.iter().filter(|r| r.view == View::Bev && r.bytes.is_some() && r.queries > 0);
    let mut by_dataset: Vec<(&str, Vec<Series>)> = Vec::new();
    for record in bev {
        match by_dataset.last_mut().filter(|(name, _)| *name == record.dataset) {
            Some((_, series)) => series.push(row(record)),
            None => by_dataset.push((&record.dataset, vec![row(record)])),
        }
    }
    for (name, series) in by_dataset {
        panels.push(Panel::bars(&format!("{name}, from above"), "%", ticks.clone(), series));
    }
    Figure::new("Leaderboard", 2, panels)
}
