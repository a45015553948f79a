//! Evidence over time: uncertainty, accuracy and calibration by the number of frames that saw a place and by class; how far
//! frames and passes share a network's mistakes; what a second pass changes.

use anyhow::Result;
use e2bki::config::Correlated;
use e2bki::{Config, Mapper};
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_eval::{Asked, GroundTruth, Queries, Table, View};

use super::context::Context;
use super::dataset::Dataset;
use super::leaderboard;
use super::levels::{self, Group, Seen};
use super::means::{Mean, shown};
use super::shared::{Correlations, Errors};

const LIFETIME: &str = "points of a place correlate";
const FRAME: &str = "points of a frame correlate";

/// What a map answers.
struct Outcome {
    levels: Vec<Group>,
    by_class: Vec<Group>,
    all: Group,
}

/// What a drive says.
struct Drive {
    correlations: Correlations,
    /// Of one pass, a variant each.
    once: Vec<Outcome>,
    /// With a second pass over the same way, where there is one.
    twice: Vec<Outcome>,
}

pub(super) fn figure(context: &mut Context) -> Result<()> {
    let (recordings, simulated) = (leaderboard::recordings(context)?, context.stand_ins(&leaderboard::SIMULATED)?);
    let datasets: Vec<Dataset> = recordings.into_iter().chain(simulated).collect();
    let variants = variants(context);
    let (mut panels, mut shares) = (Vec::new(), correlation_table());
    let mut passes = Table::new(["second pass", "", "right %", "mean u %", "BS", "ECE"]);
    for group in datasets.chunk_by(|a, b| a.is_simulated() && b.is_simulated() && a.group == b.group) {
        let drives = group.iter().map(|dataset| drive(dataset, &variants)).collect::<Result<Vec<Drive>>>()?;
        let name = if group[0].is_simulated() { &group[0].group } else { &group[0].name };
        if drives.iter().all(|drive| drive.once.iter().all(|outcome| outcome.all.asked == 0)) {
            context.note(&format!("{name} has no ground truth and is left out."))?;
            continue;
        }
        let of = if drives.len() > 1 {
            format!("; mean of {} drives ± standard error", drives.len())
        } else {
            String::new()
        };
        context.note(&format!(
            "{name}, {} frames, one in {} mapped, semantics {}{of}. By the number of mapped frames that saw a place:",
            group[0].frames,
            group[0].every(),
            group[0].semantics
        ))?;
        context.table(&by_level(&drives, &variants))?;
        context.note(&format!("By the class that the map gives, {}:", variants[0].0))?;
        context.table(&by_class(group[0].classes.names(), &drives))?;
        panels.extend(figures(name, &drives, &variants));
        shares.row(correlation_row(name, &drives));
        for (i, (variant, _)) in variants.iter().enumerate().filter(|_| drives.iter().all(|d| !d.twice.is_empty())) {
            let (once, twice) = (drives.iter().map(|d| &d.once[i].all), drives.iter().map(|d| &d.twice[i].all));
            passes.row(pass_row(name, &format!("{variant}, one pass"), once.collect()));
            passes.row(pass_row("", &format!("{variant}, two passes"), twice.collect()));
        }
    }
    context.note(
        "Correlation between the errors of two points of one true class in one cube of 0.25 m, every cube counting the same: \
         both of one frame, of two mapped frames of a pass, of two passes.",
    )?;
    context.table(&shares)?;
    context.note("The same places with the frames of a second round of the same way mapped too:")?;
    context.table(&passes)?;
    context.figure(&Figure::new("Evidence over time", 2, panels))
}

/// The default first, and the other reading of what correlates.
fn variants(context: &Context) -> Vec<(&'static str, Config)> {
    let config = context.config();
    let of = |name, correlated| (name, config.clone().with(|c| c.fusion.correlated = correlated));
    let (lifetime, frame) = (of(LIFETIME, Correlated::Lifetime), of(FRAME, Correlated::Frame));
    if config.fusion.correlated == Correlated::Lifetime { vec![lifetime, frame] } else { vec![frame, lifetime] }
}

fn drive(dataset: &Dataset, variants: &[(&str, Config)]) -> Result<Drive> {
    let classes = dataset.classes.len();
    let asked = if dataset.held_out { Asked::Points } else { Asked::Cells };
    let mut truth = GroundTruth::new(classes, asked, dataset.max_range_m, &[View::Voxel]);
    let (mut seen, mut errors) = (Seen::new(variants[0].1.views.resolution), Errors::default());
    let map = |(_, config): &(&str, Config)| Mapper::new(dataset.classes.clone(), config.clone());
    let mut maps = variants.iter().map(map).collect::<e2bki::Result<Vec<Mapper>>>()?;
    for index in 0..dataset.frames {
        let frame = dataset.frame(index)?;
        if index % dataset.every() == 0 {
            seen.add(&frame);
            errors.add(&frame, classes, 0);
            for map in &mut maps {
                map.insert(&frame.borrow())?;
            }
        }
        if dataset.asks(index) {
            truth.add(&frame);
        }
    }
    let questions = truth.into_questions();
    let ask = |maps: &[Mapper]| {
        maps.iter().map(|map| outcome(map, classes, &seen, &questions.volume)).collect::<Result<Vec<Outcome>>>()
    };
    let (once, mut twice) = (ask(&maps)?, Vec::new());
    if let Some(again) = dataset.second_pass() {
        for index in (0..dataset.frames).step_by(dataset.every()) {
            let frame = dataset.frame(again + index)?;
            errors.add(&frame, classes, 1);
            for map in &mut maps {
                map.insert(&frame.borrow())?;
            }
        }
        twice = ask(&maps)?;
    }
    Ok(Drive { correlations: errors.correlations(), once, twice })
}

fn outcome(map: &Mapper, classes: usize, seen: &Seen, queries: &Queries<3>) -> Result<Outcome> {
    let (levels, by_class) = levels::groups(map, classes, seen, queries)?;
    let all = levels.iter().fold(Group::default(), |all, group| all.with(group));
    Ok(Outcome { levels, by_class, all })
}

/// A mean over drives of something of a group.
fn mean<'a>(groups: impl IntoIterator<Item = &'a Group>, value: impl Fn(&Group) -> Option<f64>) -> Option<Mean> {
    Mean::of(groups.into_iter().map(value))
}

fn by_level(drives: &[Drive], variants: &[(&str, Config)]) -> Table {
    let columns =
        variants.iter().flat_map(|(name, _)| ["right %", "mean u %", "BS", "ECE"].map(|c| format!("{c}, {name}")));
    let mut table = Table::new(["frames that saw it".to_string(), "places".into()].into_iter().chain(columns));
    for (level, name) in levels::names().into_iter().enumerate() {
        let places: u64 = drives.iter().map(|drive| drive.once[0].levels[level].asked).sum();
        if places == 0 {
            continue;
        }
        let mut row = vec![name, places.to_string()];
        for variant in 0..variants.len() {
            let of = || drives.iter().map(|drive| &drive.once[variant].levels[level]);
            row.push(shown(mean(of(), Group::right)));
            row.push(shown(mean(of(), Group::uncertainty)));
            row.push(shown(mean(of(), |g| g.calibration.brier())));
            row.push(shown(mean(of(), |g| g.calibration.ece())));
        }
        table.row(row);
    }
    table
}

fn by_class(names: &[String], drives: &[Drive]) -> Table {
    let mut table = Table::new(["class", "places", "right %", "mean u %", "BS", "ECE"]);
    for (class, name) in names.iter().enumerate() {
        let of = || drives.iter().map(|drive| &drive.once[0].by_class[class]);
        let places: u64 = of().map(|group| group.asked).sum();
        if places > 0 {
            let scores = [
                shown(mean(of(), Group::right)),
                shown(mean(of(), Group::uncertainty)),
                shown(mean(of(), |g| g.calibration.brier())),
                shown(mean(of(), |g| g.calibration.ece())),
            ];
            table.row([name.clone(), places.to_string()].into_iter().chain(scores));
        }
    }
    table
}

fn correlation_table() -> Table {
    Table::new(["errors correlate", "in a frame", "between frames of a pass", "between passes"])
}

fn correlation_row(name: &str, drives: &[Drive]) -> Vec<String> {
    let of = |value: fn(&Correlations) -> Option<f64>| {
        let mean = Mean::of(drives.iter().map(|drive| value(&drive.correlations)));
        mean.map_or_else(
            || shown(None),
            |mean| match mean.error {
                Some(error) => format!("{:.2} ± {error:.2}", mean.mean),
                None => format!("{:.2}", mean.mean),
            },
        )
    };
    vec![name.into(), of(|c| c.of_frame), of(|c| c.of_pass), of(|c| c.of_passes)]
}

fn pass_row(name: &str, variant: &str, groups: Vec<&Group>) -> Vec<String> {
    let of = |value: fn(&Group) -> Option<f64>| shown(mean(groups.iter().copied(), value));
    let scores = [of(Group::right), of(Group::uncertainty), of(|g| g.calibration.brier()), of(|g| g.calibration.ece())];
    [name.to_string(), variant.into()].into_iter().chain(scores).collect()
}

/// Two panels: what a map says and what is so; and how far they are apart.
fn figures(name: &str, drives: &[Drive], variants: &[(&str, Config)]) -> [Panel; 2] {
    let all = levels::names();
    let there = |level: &usize| drives.iter().any(|drive| drive.once[0].levels[*level].asked > 0);
    let levels: Vec<usize> = (0..all.len()).filter(there).collect();
    let ticks: Vec<String> = levels.iter().map(|level| all[*level].clone()).collect();
    let line = |name: String, variant: usize, value: fn(&Group) -> Option<f64>| {
        let at =
            |level: &usize| mean(drives.iter().map(|d| &d.once[variant].levels[*level]), value).map(|mean| mean.mean);
        Series::at_ticks(name, levels.iter().map(at))
    };
    let (mut says, mut apart) = (Vec::new(), Vec::new());
    for (i, (variant, _)) in variants.iter().enumerate() {
        says.push(line(format!("u, {variant}"), i, Group::uncertainty));
        says.push(line(format!("wrong, {variant}"), i, |g| g.right().map(|right| 100.0 - right)));
        apart.push(line(variant.to_string(), i, |g| g.calibration.ece()));
    }
    let x = "mapped frames that saw a place";
    [
        Panel::lines(&format!("{name}: uncertainty and errors"), x, "%", ticks.clone(), says),
        Panel::lines(&format!("{name}: calibration error"), x, "ECE %", ticks, apart),
    ]
}
