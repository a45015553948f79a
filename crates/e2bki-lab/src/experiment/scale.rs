//! A straight drive that never sees the same place twice: does a frame cost more as the map grows?

use anyhow::Result;
use e2bki::ClassSet;
use e2bki_baselines::Baseline;
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_eval::{LabelledFrame, Record, Said, Table, View, decimals};

use super::context::Context;
use super::method::{Method, OURS};
use super::state::key;
use crate::bench::line;
use crate::table;

const FRAMES: usize = 2500;
const FRAMES_FULL: usize = 25_000;
/// Points of the curves.
const BINS: usize = 50;

pub(super) fn drive(context: &mut Context) -> Result<()> {
    context.needs_simulation("drives without end, which no recording does")?;
    let frames = context.options.frames.unwrap_or(if context.options.full { FRAMES_FULL } else { FRAMES });
    let methods =
        [Method::baseline(Baseline::SBki, context.their_config()?, 1), Method::ours(OURS, context.config(), 1)];
    let mut rows = Table::new(["straight drive", "ms a frame, first tenth", "last tenth", "ratio", "total s", "MB"]);
    let (mut each, mut sums) = (Vec::new(), Vec::new());
    for method in methods {
        let record = measure(context, frames, &method)?;
        let curve = curve(&record);
        let tenth = (curve.len() / 10).max(1);
        let mean = |part: &[(f64, f64)]| part.iter().map(|(_, ms)| ms).sum::<f64>() / part.len().max(1) as f64;
        let (early, late) = (mean(&curve[..tenth.min(curve.len())]), mean(&curve[curve.len().saturating_sub(tenth)..]));
        let total = record.hz.map(|hz| frames as f64 / hz);
        rows.row([
            method.name.clone(),
            decimals(Some(early), 2),
            decimals(Some(late), 2),
            decimals(Some(late / early), 2),
            decimals(total, 1),
            decimals(record.bytes.map(|b| b as f64 / 1e6), 0),
        ]);
        let step = frames as f64 / curve.len().max(1) as f64;
        let mut sum = 0.0;
        let cumulative = curve.iter().map(|(frame, ms)| {
            sum += ms * step / 1e3;
            (*frame, sum)
        });
        sums.push(Series { name: method.name.clone(), points: cumulative.collect() });
        each.push(Series { name: method.name, points: curve });
    }
    context.note(&format!("{frames} frames of {} points, a metre apart, {} classes.", line::POINTS, line::CLASSES))?;
    context.table(&rows)?;
    let panels = vec![
        Panel::lines("time of a frame", "frame", "ms", Vec::new(), each),
        Panel::lines("time so far", "frame", "s", Vec::new(), sums),
    ];
    context.figure(&Figure::new("A straight drive", 2, panels))
}

/// The curve of a record: mean time of a frame in each stretch of the drive.
fn curve(record: &Record) -> Vec<(f64, f64)> {
    let text = record.parameters.get("ms_by_stretch").map(String::as_str).unwrap_or_default();
    let values: Vec<f64> = text.split(' ').filter_map(|v| v.parse().ok()).collect();
    let step = record.frames as f64 / values.len().max(1) as f64;
    values.iter().enumerate().map(|(i, ms)| ((i as f64 + 0.5) * step, *ms)).collect()
}

fn measure(context: &mut Context, frames: usize, method: &Method) -> Result<Record> {
    let key = key(&["line", &frames.to_string(), &method.identity(), &context.options.threads.to_string()]);
    if let Some(record) = context.state.get(&key).cloned() {
        context.keep(std::slice::from_ref(&record));
        return Ok(record);
    }
    let classes = ClassSet::from_names((0..line::CLASSES).map(|c| format!("class {c}")))?;
    let mut entrant = method.entrant(&classes, false)?;
    let bar = table::progress(frames, &method.name);
    for metre in 0..frames {
        let (points, evidence) = line::strip(metre as u64);
        let frame = LabelledFrame {
            points,
            said: Said::Evidence(evidence),
            truth: Vec::new(),
            world_from_sensor: line::pose(metre)?,
        };
        entrant.insert(&frame)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mut record = Record::new("straight drive", &method.name, View::Voxel);
    (record.frames, record.mapped, record.hz) = (frames, frames, entrant.hz());
    record.bytes = Some(entrant.map.byte_size() as u64);
    let stretch = frames.div_ceil(BINS).max(1);
    // The middle frame of a stretch: one that another program interrupted does not count.
    let middle = |part: &[f64]| crate::bench::median(&mut part.to_vec()) * 1e3;
    let text: Vec<String> = entrant.seconds.chunks(stretch).map(|part| format!("{:.4}", middle(part))).collect();
    record.parameters.insert("ms_by_stretch".into(), text.join(" "));
    context.state.put(&key, &record)?;
    context.keep(std::slice::from_ref(&record));
    Ok(record)
}
