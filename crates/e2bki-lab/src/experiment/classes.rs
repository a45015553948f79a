//! Every class counts: IoU by class, with and without what a map has no answer for, and claimed empty space of every method
//! that learns nothing, on real recordings and on simulated drives of several seeds.

use anyhow::Result;
use e2bki::config::{Growth, Profile, Reach};
use e2bki_baselines::Baseline;
use e2bki_eval::{Asked, DASH, Entrant, GroundTruth, NearReturns, Record, Table, View, assess, run};
use e2bki_sim::Split;

use super::context::Context;
use super::dataset::Dataset;
use super::leaderboard;
use super::means::{Mean, rows, shown};
use super::method::{Method, OURS};
use super::state::key;
use crate::table;

/// Seeds of each simulated drive, unless more are asked for.
const SEEDS: u64 = 3;
/// Changes when results of the same inputs change.
const VERSION: &str = "classes 2";
/// Points of IoU that a class may be behind.
const BEHIND: f64 = 1.0;

pub(super) fn table(context: &mut Context) -> Result<()> {
    let mut all: Vec<OfSet> = Vec::new();
    let datasets = datasets(context)?;
    for group in datasets.chunk_by(|a, b| a.is_simulated() && b.is_simulated() && a.group == b.group) {
        let mut drives = Vec::new();
        for dataset in group {
            let methods = methods(context, dataset)?;
            drives.push(compare(context, dataset, &methods)?);
        }
        let first = &group[0];
        let name = if first.is_simulated() { first.group.clone() } else { first.name.clone() };
        context.note(&format!(
            "{name}: {} of {} frames, semantics {}; mean ± standard error.",
            if group.len() == 1 { "one drive".into() } else { format!("{} drives", group.len()) },
            first.frames,
            first.semantics
        ))?;
        context.table(&scores(&drives))?;
        if drives.iter().flatten().any(|record| record.queries > 0) {
            context.note("IoU by class over the places that a map answers, and with the others as missed:")?;
            context.table(&by_class(first.classes.names(), &drives, |r| &r.iou))?;
            context.table(&by_class(first.classes.names(), &drives, |r| &r.iou_strict))?;
        }
        all.push((name, first.classes.names().to_vec(), drives));
    }
    context.note(
        "`near %`: share of places on beams, 0.3 to 6 m before the return and 0.25 to 0.75 m from any return of any frame, \
         that the map says are occupied. `with misses`: unoccupied places count as missed. Our default against the best of \
         the methods that learn nothing, score by score:",
    )?;
    context.table(&margins(&all))?;
    context.note(
        "The classes in which our default is more than 1.0 behind the best of them; `decided` where that is more than two \
         standard errors from 1.0 behind:",
    )?;
    context.table(&behind(&all))
}

/// Recordings, and simulated drives of several seeds; of both what settings are chosen on, if that was asked for.
pub(super) fn datasets(context: &mut Context) -> Result<Vec<Dataset>> {
    let (mut all, split) = if context.options.validation {
        (leaderboard::tuning_half(context)?.into_iter().collect(), Split::Validation)
    } else {
        (leaderboard::recordings(context)?, Split::Test)
    };
    let look = context.look()?;
    for standard in leaderboard::SIMULATED {
        for nth in 0..SEEDS.max(context.options.seeds) {
            let simulation = context.simulation();
            all.push(Dataset::simulated_nth(standard, split, nth, &look, context.frames(), &simulation)?);
        }
    }
    Ok(all)
}

/// Our default, what it is without the reach along surfaces, and everybody else who learns nothing.
fn methods(context: &mut Context, dataset: &Dataset) -> Result<Vec<Method>> {
    let every = dataset.every();
    let mut methods = Vec::new();
    for baseline in Baseline::ALL.into_iter().filter(|baseline| *baseline != Baseline::ConvBki) {
        methods.push(Method::baseline(baseline, context.their_config()?, every));
    }
    methods.push(Method::ours("E2-BKI, reach as far across surfaces", uniform(context), every));
    methods.push(Method::ours("E2-BKI, sparse kernel, growth everywhere", sparse(context), every));
    methods.push(Method::ours(OURS, context.config(), every));
    Ok(methods)
}

/// The default as it was before kernels followed surfaces.
fn uniform(context: &Context) -> e2bki::Config {
    context.config().with(|c| {
        (c.kernel.reach, c.kernel.profile, c.kernel.growth) = (Reach::Uniform, Profile::Sparse, Growth::Everywhere);
        (c.kernel.uncertainty_sensitivity, c.kernel.reach_growth) = (0.7, 0.1);
    })
}

/// The default as it was with the paper's sparse kernel and a reach that grew with range on everything.
fn sparse(context: &Context) -> e2bki::Config {
    context.config().with(|c| {
        (c.kernel.profile, c.kernel.growth) = (Profile::Sparse, Growth::Everywhere);
        (c.kernel.uncertainty_sensitivity, c.kernel.reach_growth) = (0.8, 0.25);
    })
}

/// Maps the frames with every method whose record is not there yet, and asks.
pub(super) fn compare(context: &mut Context, dataset: &Dataset, methods: &[Method]) -> Result<Vec<Record>> {
    let keys: Vec<String> = methods.iter().map(|m| key(&[VERSION, &dataset.identity, &m.identity()])).collect();
    let left: Vec<usize> = (0..methods.len()).filter(|i| context.state.get(&keys[*i]).is_none()).collect();
    if !left.is_empty() {
        let entrants = left.iter().map(|i| methods[*i].entrant(&dataset.classes, false));
        let mut entrants = entrants.collect::<Result<Vec<Entrant>>>()?;
        let asked = if dataset.held_out { Asked::Points } else { Asked::Cells };
        let mut truth = GroundTruth::new(dataset.classes.len(), asked, dataset.max_range_m, &[View::Voxel]);
        let mut near = NearReturns::new(0);
        let frames = dataset.iter().inspect(|frame| frame.iter().for_each(|frame| near.add(frame)));
        let bar = table::progress(dataset.frames, &dataset.name);
        run(frames, &mut entrants, &mut truth, |i| dataset.asks(i), |done| bar.set_position(done as u64))?;
        bar.finish_and_clear();
        let (questions, near) = (truth.into_questions(), near.places());
        for (entrant, i) in entrants.iter().zip(left) {
            let (mut record, _) = assess(&dataset.name, entrant, View::Voxel, &questions)?;
            let claimed = entrant.map.query_voxels(&near)?.iter().filter(|belief| belief.observed()).count();
            record.before_hits_claimed = (!near.is_empty()).then(|| 100.0 * claimed as f64 / near.len() as f64);
            record.frames = dataset.frames;
            record.semantics = Some(dataset.semantics.clone());
            context.state.put(&keys[i], &record)?;
        }
    }
    let records: Vec<Record> = keys.iter().filter_map(|key| context.state.get(key).cloned()).collect();
    context.keep(&records);
    Ok(records)
}

pub(super) fn scores(drives: &[Vec<Record>]) -> Table {
    let mut table = Table::new(["", "mIoU", "with misses", "Acc", "occupied", "BS", "ECE", "m³", "near %"]);
    for row in rows(&drives.iter().map(Vec::as_slice).collect::<Vec<_>>()) {
        let mean = |value: fn(&Record) -> Option<f64>| shown(Mean::of(row.iter().map(|record| value(record))));
        table.row([
            row[0].method.clone(),
            mean(|r| r.miou),
            mean(|r| r.miou_strict),
            mean(|r| r.acc),
            mean(Record::occupied_share),
            mean(|r| r.bs),
            mean(|r| r.ece),
            mean(|r| r.volume_m3),
            mean(|r| r.before_hits_claimed),
        ]);
    }
    table
}

/// IoU of every class that occurs.
pub(super) type Iou = fn(&Record) -> &std::collections::BTreeMap<String, Option<f64>>;

pub(super) fn by_class(names: &[String], drives: &[Vec<Record>], iou: Iou) -> Table {
    let occurs = |name: &&String| drives.iter().flatten().any(|r| iou(r).get(*name).copied().flatten().is_some());
    let names: Vec<&String> = names.iter().filter(occurs).collect();
    let mut table = Table::new(["IoU %".to_string()].into_iter().chain(names.iter().map(|name| (*name).clone())));
    for row in rows(&drives.iter().map(Vec::as_slice).collect::<Vec<_>>()) {
        let cell = |name: &&String| shown(Mean::of(row.iter().map(|record| iou(record).get(*name).copied().flatten())));
        table.row([row[0].method.clone()].into_iter().chain(names.iter().map(cell)));
    }
    table
}

/// A score of a record, and whether a high value is good.
type Column = (fn(&Record) -> Option<f64>, bool);

const COLUMNS: [Column; 6] = [
    (|r| r.miou, true),
    (|r| r.miou_strict, true),
    (|r| r.acc, true),
    (|r| r.bs, false),
    (|r| r.ece, false),
    (|r| r.before_hits_claimed, false),
];

/// The other method that is best by its mean over the drives, and ours less that, drive by drive.
fn against_best(drives: &[Vec<Record>], value: impl Fn(&Record) -> Option<f64>, high: bool) -> Option<(String, Mean)> {
    let of = |drive: &[Record], name: &str| drive.iter().find(|r| r.method == name).and_then(&value);
    let others = drives.first()?.iter().map(|r| &r.method).filter(|name| !name.starts_with(OURS));
    let means = others.filter_map(|name| Some((name, Mean::of(drives.iter().map(|drive| of(drive, name)))?.mean)));
    let order = |a: &f64, b: &f64| if high { a.total_cmp(b) } else { b.total_cmp(a) };
    let (best, _) = means.max_by(|a, b| order(&a.1, &b.1))?;
    let difference = |drive: &Vec<Record>| Some(of(drive, OURS)? - of(drive, best)?);
    Some((best.clone(), Mean::of(drives.iter().map(difference))?))
}

/// Name of a set, its classes, and the records of every drive.
type OfSet = (String, Vec<String>, Vec<Vec<Record>>);

fn signed(mean: Mean) -> String {
    let error = mean.error.map_or_else(String::new, |error| format!(" ± {error:.1}"));
    format!("{:+.1}{error}", mean.mean)
}

/// Our default against the best of the others, score by score.
fn margins(all: &[OfSet]) -> Table {
    let mut table = Table::new(["dataset", "mIoU", "with misses", "Acc", "BS", "ECE", "near %"]);
    for (name, _, drives) in all {
        let margin = |(value, high): &Column| {
            against_best(drives, value, *high).map_or_else(|| DASH.into(), |(_, difference)| signed(difference))
        };
        table.row([name.clone()].into_iter().chain(COLUMNS.iter().map(margin)));
    }
    table
}

/// Every class in which our default is far behind the best of the others, by either count.
fn behind(all: &[OfSet]) -> Table {
    let mut table = Table::new(["dataset", "class", "counted", "best of the others", "ours less that", ""]);
    for (dataset, names, drives) in all {
        for (counted, iou) in [("answered", (|r| &r.iou) as Iou), ("with misses", |r| &r.iou_strict)] {
            for name in names {
                let value = |r: &Record| iou(r).get(name).copied().flatten();
                let Some((best, difference)) = against_best(drives, value, true) else { continue };
                if difference.mean < -BEHIND {
                    let decided = difference.error.is_some_and(|error| difference.mean + 2.0 * error < -BEHIND);
                    let decided = if decided { "decided" } else { "" };
                    let row = [dataset.clone(), name.clone(), counted.into(), best, signed(difference), decided.into()];
                    table.row(row);
                }
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_behind_the_method_that_is_best_in_the_mean() {
        let record = |method: &str, iou: f64| {
            let mut record = Record::new("x", method, View::Voxel);
            record.iou.insert("pole".into(), Some(iou));
            record
        };
        // `b` is better on one drive, `a` in the mean.
        let drives = [[30.0, 20.0, 27.0], [28.0, 29.0, 26.0], [29.0, 20.0, 25.0]]
            .map(|[a, b, ours]| vec![record("a", a), record("b", b), record(OURS, ours)]);
        let (best, difference) = against_best(&drives, |r| r.iou["pole"], true).unwrap();
        assert_eq!((best.as_str(), signed(difference).as_str()), ("a", "-3.0 ± 0.6"));
        let table = behind(&[("set".into(), vec!["pole".into()], drives.to_vec())]);
        assert_eq!(table.rows[1], ["set", "pole", "answered", "a", "-3.0 ± 0.6", "decided"]);
        assert_eq!(table.rows.len(), 2, "without misses there is nothing to count");
    }
}
