//! Every class counts: IoU by class, misses, calibration and claimed empty space of every method that learns nothing, on
//! real recordings and on simulated drives of several seeds.

use anyhow::Result;
use e2bki::config::Reach;
use e2bki_baselines::Baseline;
use e2bki_eval::{Asked, DASH, Entrant, GroundTruth, NearReturns, Record, Table, View, assess, decimals, percent, run};
use e2bki_sim::Split;

use super::context::Context;
use super::dataset::Dataset;
use super::leaderboard;
use super::levels::{self, Seen};
use super::method::{Method, OURS};
use super::show;
use super::state::key;
use crate::table;

/// Seeds of each simulated drive.
const SEEDS: u64 = 3;
/// Changes when results of the same inputs change.
const VERSION: &str = "classes 1";

pub(super) fn table(context: &mut Context) -> Result<()> {
    let mut all: Vec<(Dataset, Vec<Record>)> = Vec::new();
    for dataset in datasets(context)? {
        let methods = methods(context, &dataset)?;
        let records = compare(context, &dataset, &methods)?;
        context.note(&format!("{}: {} frames, semantics {}.", dataset.name, dataset.frames, dataset.semantics))?;
        context.table(&scores(&records))?;
        context.table(&show::by_class(&dataset.classes, &records))?;
        all.push((dataset, records));
    }
    context.note(
        "`near %`: share of places on beams, 0.3 to 6 m before the return and 0.25 to 0.75 m from any return of any frame, \
         that the map says are occupied. `with misses`: mIoU with unoccupied places as missed. Our default against the best \
         of the methods that learn nothing, and the class in which it is farthest behind the best of them:",
    )?;
    context.table(&margins(&all))
}

/// Recordings, and simulated drives of several seeds.
fn datasets(context: &mut Context) -> Result<Vec<Dataset>> {
    let mut all = leaderboard::recordings(context)?;
    for standard in leaderboard::SIMULATED {
        for nth in 0..SEEDS {
            let (look, simulation) = (&context.options.network, context.simulation());
            all.push(Dataset::simulated_nth(standard, Split::Test, nth, look, context.frames(), &simulation)?);
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
    methods.push(Method::ours(OURS, context.config(), every));
    Ok(methods)
}

/// The default as it was before kernels followed surfaces.
fn uniform(context: &Context) -> e2bki::Config {
    context.config().with(|c| {
        c.kernel.reach = Reach::Uniform;
        (c.kernel.uncertainty_sensitivity, c.kernel.reach_growth) = (0.7, 0.1);
    })
}

/// Maps the frames with every method whose record is not there yet, and asks.
fn compare(context: &mut Context, dataset: &Dataset, methods: &[Method]) -> Result<Vec<Record>> {
    let keys: Vec<String> = methods.iter().map(|m| key(&[VERSION, &dataset.identity, &m.identity()])).collect();
    let left: Vec<usize> = (0..methods.len()).filter(|i| context.state.get(&keys[*i]).is_none()).collect();
    if !left.is_empty() {
        let entrants = left.iter().map(|i| methods[*i].entrant(&dataset.classes, false));
        let mut entrants = entrants.collect::<Result<Vec<Entrant>>>()?;
        let asked = if dataset.held_out { Asked::Points } else { Asked::Cells };
        let mut truth = GroundTruth::new(dataset.classes.len(), asked, dataset.max_range_m, &[View::Voxel]);
        let (mut near, mut seen, mut number) = (NearReturns::new(0), Seen::new(context.config().views.resolution), 0);
        let frames = dataset.iter().inspect(|frame| {
            if let Ok(frame) = frame {
                near.add(frame);
                if number % dataset.every() == 0 {
                    seen.add(frame);
                }
            }
            number += 1;
        });
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
            if entrant.name == OURS {
                context.note(&format!(
                    "{}, {OURS} by the number of mapped frames that saw a place, and by class:",
                    dataset.name
                ))?;
                for table in levels::tables(&*entrant.map, &dataset.classes, &seen, &questions.volume)? {
                    context.table(&table)?;
                }
            }
            context.state.put(&keys[i], &record)?;
        }
    }
    let records: Vec<Record> = keys.iter().filter_map(|key| context.state.get(key).cloned()).collect();
    context.keep(&records);
    Ok(records)
}

fn scores(records: &[Record]) -> Table {
    let mut table = Table::new(["", "mIoU", "with misses", "Acc", "occupied", "BS", "ECE", "m³", "near %", "ms"]);
    for record in records {
        table.row([
            record.method.clone(),
            percent(record.miou),
            percent(record.miou_strict),
            percent(record.acc),
            percent(record.occupied_share()),
            percent(record.bs),
            percent(record.ece),
            decimals(record.volume_m3, 0),
            percent(record.before_hits_claimed),
            decimals(record.hz.map(|hz| 1e3 / hz), 0),
        ]);
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

/// Our default against the best of the others, score by score and in the class where it is farthest behind.
fn margins(all: &[(Dataset, Vec<Record>)]) -> Table {
    let mut table = Table::new([
        "dataset",
        "mIoU",
        "with misses",
        "Acc",
        "BS",
        "ECE",
        "near %",
        "classes behind by 1.0",
        "farthest behind",
    ]);
    for (dataset, records) in all {
        let Some(ours) = records.iter().find(|r| r.method == OURS) else { continue };
        let others: Vec<&Record> = records.iter().filter(|r| !r.method.starts_with(OURS)).collect();
        let margin = |(value, high): &Column| {
            let order = |a: &f64, b: &f64| if *high { a.total_cmp(b) } else { b.total_cmp(a) };
            let best = others.iter().filter_map(|r| value(r)).max_by(order);
            value(ours).zip(best).map_or_else(|| DASH.into(), |(ours, best)| format!("{:+.1}", ours - best))
        };
        let behind = dataset.classes.names().iter().filter_map(|name| {
            let iou = |r: &Record| r.iou.get(name).copied().flatten();
            let best = others.iter().filter_map(|r| iou(r)).max_by(f64::total_cmp)?;
            Some((best - iou(ours).unwrap_or(0.0), name))
        });
        let behind: Vec<(f64, &String)> = behind.collect();
        let worst = behind.iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let worst = worst.map_or_else(|| DASH.into(), |(gap, name)| format!("{name} {:+.1}", -gap));
        let count = behind.iter().filter(|(gap, _)| *gap > 1.0).count();
        let row = [dataset.name.clone()].into_iter().chain(COLUMNS.iter().map(margin));
        table.row(row.chain([format!("{count} of {}", behind.len()), worst]));
    }
    table
}
