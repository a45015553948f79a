//! All methods on the same frames in the same run: time and memory.

use std::time::Instant;

use anyhow::Result;
use e2bki::config::Update;
use e2bki::{ClassSet, Config, Frame, Mapper, Pose, SemanticMapper};
use e2bki_baselines::Baseline;
use e2bki_eval::LabelledFrame;
use serde_json::{Value, json};

use super::measure::{every_frame, median};
use crate::table;

/// Metres between scans, so that every one of them sees new ground.
const APART_M: f64 = 120.0;

pub(super) fn run(input: &[LabelledFrame], classes: &ClassSet, threads: usize, repeats: usize) -> Result<Value> {
    let config = every_frame(&Config::default(), threads);
    let mut rows =
        vec![["method", "best ms", "median ms", "times E2-BKI", "MB per new scan"].map(str::to_string).to_vec()];
    let mut methods = Vec::new();
    let mut ours = None;
    // Ours with voxels kept with every frame, as the others have them; without anybody who looks at them; and so with free
    // space, as `map` has it.
    let names = [(None, Update::EveryFrame, false), (None, Update::OnDemand, false), (None, Update::OnDemand, true)];
    let others = Baseline::ALL.map(|b| (Some(b), Update::EveryFrame, false));
    for (baseline, update, free) in names.into_iter().chain(others) {
        let changed = |c: &mut Config| (c.views.update, c.free_space.enabled) = (update, free);
        let build = || -> Result<Box<dyn SemanticMapper>> {
            Ok(match baseline {
                Some(baseline) => baseline.build(classes.clone(), &config)?,
                None => Box::new(Mapper::new(classes.clone(), config.clone().with(changed))?),
            })
        };
        let name = match (baseline, update) {
            (Some(baseline), _) => baseline.name().to_string(),
            (None, Update::OnDemand) if free => "E2-BKI, views on demand, free space".to_string(),
            (None, Update::OnDemand) => "E2-BKI, views on demand".to_string(),
            (None, _) => "E2-BKI".to_string(),
        };
        let (mut times, mut bytes) = (Vec::new(), 0.0);
        for repeat in 0..=repeats.max(1) {
            let mut map = build()?;
            let mut first = 0;
            for (i, frame) in input.iter().enumerate() {
                let moved = Pose::from_translation([APART_M * i as f64, 0.0, 0.0])?;
                let frame = Frame { world_from_sensor: moved, ..frame.borrow() };
                let start = Instant::now();
                map.insert(&frame)?;
                if repeat > 0 {
                    times.push(1e3 * start.elapsed().as_secs_f64());
                }
                if i == 0 {
                    first = map.byte_size();
                }
            }
            bytes = (map.byte_size() - first) as f64 / (input.len().max(2) - 1) as f64;
        }
        let middle = median(&mut times);
        let ours = *ours.get_or_insert(middle);
        rows.push(vec![
            name.clone(),
            format!("{:.1}", times[0]),
            format!("{middle:.1}"),
            format!("{:.2}", middle / ours),
            format!("{:.2}", bytes / 1e6),
        ]);
        methods.push(json!({"method": name, "min_ms": times[0], "median_ms": middle, "bytes_per_scan": bytes}));
    }
    let points = input.iter().map(|frame| frame.points.len()).sum::<usize>() / input.len().max(1);
    table::line(&format!("methods: {} scans of {points} points on new ground each\n", input.len()))?;
    table::print(&rows)?;
    Ok(json!({"name": "methods", "points": points, "classes": classes.len(), "methods": methods}))
}
