//! What moved and what stayed, by free space: on simulated urban drives whose objects know whether they move.

mod benchmark;
mod drive;
mod effect;
mod frames;
mod score;

use anyhow::Result;
use e2bki::free::Settings;
use e2bki_eval::Table;

use self::drive::{Recorded, record, with_fewer_beams, with_noise, with_other_origin};
use self::score::{accuracy, coverage};
use super::context::Context;

const SEEDS: [u64; 3] = [7, 11, 13];
const FRAMES: usize = 60;
const COLUMNS: usize = 512;

/// What may be wrong with a drive, and what is known of it.
struct Condition {
    name: &'static str,
    spoil: fn(&mut Recorded) -> Result<()>,
    pose_error_deg: f64,
}

const CONDITIONS: [Condition; 7] = [
    Condition { name: "as driven", spoil: |_| Ok(()), pose_error_deg: 0.0 },
    Condition { name: "as driven, pose_error = 0.1", spoil: |_| Ok(()), pose_error_deg: 0.1 },
    Condition {
        name: "pose noise of 0.05 m, 0.2°",
        spoil: |recorded| with_noise(recorded, 0.05, 0.2),
        pose_error_deg: 0.0,
    },
    Condition {
        name: "pose noise, pose_error = 0.1",
        spoil: |recorded| with_noise(recorded, 0.05, 0.2),
        pose_error_deg: 0.1,
    },
    Condition {
        name: "pose noise, pose_error = 0.2",
        spoil: |recorded| with_noise(recorded, 0.05, 0.2),
        pose_error_deg: 0.2,
    },
    Condition { name: "origin off by 0.4 m", spoil: |recorded| with_other_origin(recorded, 0.4), pose_error_deg: 0.0 },
    Condition { name: "16 beams of the 64", spoil: |recorded| with_fewer_beams(recorded, 4), pose_error_deg: 0.0 },
];

pub(super) fn table(context: &mut Context) -> Result<()> {
    if let Some(root) = context.options.data.clone() {
        return benchmark::table(context, &root);
    }
    context.only_one_network("its labels come from the simulated network")?;
    let (frames, columns) = (context.options.frames.unwrap_or(FRAMES), context.options.columns.unwrap_or(COLUMNS));
    let mut rows = Table::new([
        "drives",
        "SA",
        "DA",
        "AA",
        "SA voxels",
        "DA voxels",
        "AA voxels",
        "thin lost",
        "known free",
        "static called free",
    ]);
    for condition in &CONDITIONS {
        let far = Settings { max_range_m: 50.0, pose_error_deg: condition.pose_error_deg, ..Settings::default() };
        let near = Settings { max_range_m: 30.0, ..far };
        let mut scores: Vec<[f64; 9]> = Vec::new();
        for seed in SEEDS {
            let mut recorded = record(seed, frames, columns)?;
            (condition.spoil)(&mut recorded)?;
            let ([a, b, c, d, e, f, g], [h, i]) = (accuracy(&recorded, &far)?, coverage(&recorded, &near)?);
            scores.push([a, b, c, d, e, f, g, h, i]);
        }
        let column = |i: usize| spread(scores.iter().map(|row| row[i]).collect());
        rows.row(std::iter::once(condition.name.to_string()).chain((0..9).map(column)));
    }
    for seed in SEEDS {
        let folder = context.path(&format!("-frames/{seed}"));
        frames::write(&record(seed, frames, columns)?, &folder)?;
    }
    context.note(&format!(
        "Simulated urban drives of seeds 7, 11 and 13, {frames} frames of {columns} columns: mean ± standard error, in percent. SA and \
         DA: points (and cubes of 0.25 m) that stay called there, and that move called gone; AA is the root of their product. \
         Thin: poles, signs and fences. Known free: empty space 0.5 to 2 m above ground within 20 m, by the beams of frames that \
         were not counted; static returns are those of such frames, too. The frames are in {} for other programs \
         (`scripts/dufomap-table.py`).",
        context.path("-frames").display()
    ))?;
    context.table(&rows)
}

/// What free space does to the scores of a map.
pub(super) fn scores(context: &mut Context) -> Result<()> {
    effect::table(context)
}

/// Mean and standard error.
fn spread(values: Vec<f64>) -> String {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    format!("{mean:.2} ± {:.2}", (variance / count).sqrt())
}
