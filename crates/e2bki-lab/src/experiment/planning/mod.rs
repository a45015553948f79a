//! What calibrated uncertainty is for: ways planned on the maps of several methods, against true obstacles.

mod score;
mod truth;

use std::time::Instant;

use anyhow::Result;
use e2bki::random::Rng;
use e2bki::{ClassSet, Config, Frame, Mapper, Pose, SemanticMapper, Semantics};
use e2bki_baselines::Baseline;
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_eval::{Table, decimals};
use e2bki_layers::{ClassCosts, Grid, Layers, Planner, Robot, Settings, UnknownClasses};
use e2bki_sim::{Drive, DriveOptions, ErrorModel, Sensor, WorldKind};

use super::context::Context;
use super::method::OURS;
use crate::table;
use score::{LayerScore, collides, common, layers};
use truth::{Seen, Truth};

/// Drives, and pairs of places in each.
const SEEDS: [u64; 6] = [101, 102, 103, 104, 105, 106];
const PAIRS: usize = 40;
/// Every so many frames one is mapped; the truth is of all.
const EVERY: usize = 5;
/// Half the side of the grid around the middle of the drive, metres, and of its cells.
const HALF_M: f64 = 30.0;
const CELL_M: f64 = 0.2;
/// Straight distance of start and goal, metres.
const APART_M: (f64, f64) = (10.0, 40.0);
/// Risks that the robot is willing to take.
const RISKS: [f64; 6] = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7];
const DEFAULT: usize = 3;

/// The same map read by its expectations, without its uncertainty.
const PLAIN: &str = "E2-BKI, expectation only";

/// What became of the pairs of one drive, by method and risk.
#[derive(Clone, Default)]
struct Outcome {
    tried: usize,
    planned: usize,
    collided: usize,
    /// Lengths against planning with perfect knowledge, of the ways that all methods found.
    ratios: Vec<f64>,
}

/// What came of one drive.
struct DriveScore {
    scores: Vec<LayerScore>,
    outcomes: Vec<Vec<Outcome>>,
}

pub(super) fn table(context: &mut Context) -> Result<()> {
    context.needs_simulation("compares with the true obstacles of simulated worlds")?;
    context.only_one_network("its drives are seen by a simulated network with 30 % of the training data")?;
    let names = [OURS, PLAIN, Baseline::SBki.name(), Baseline::Ebs.name()];
    let bar = table::progress(SEEDS.len(), "drives");
    let mut drives = Vec::new();
    for seed in SEEDS {
        drives.push(one_drive(context, seed)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    context.note(&format!(
        "{} simulated off-road drives of {} frames, every {EVERY}th mapped, seen by a network with 30 % of the training data; {} \
         pairs of free places {} to {} m apart in each, of which a planner with perfect knowledge finds a way. True obstacles: \
         where any frame truly saw one. All maps have the surfaces of E2-BKI's primitives, so that only \
         what they believe of the classes differs. Values are means over the drives ± 1.96 standard errors.",
        SEEDS.len(),
        context.frames(),
        PAIRS,
        APART_M.0,
        APART_M.1
    ))?;
    ways(context, &names, &drives)?;
    grounds(context, &names, &drives)?;
    context.figure(&figure(&names, &drives))
}

/// Mean and 1.96 standard errors over drives.
fn spread(values: impl Iterator<Item = Option<f64>>) -> Option<(f64, f64)> {
    let known: Vec<f64> = values.flatten().collect();
    let n = known.len() as f64;
    let mean = known.iter().sum::<f64>() / n;
    let variance = known.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (n > 0.0).then(|| (mean, 1.96 * (variance / n).sqrt()))
}

fn shown(value: Option<(f64, f64)>, digits: usize) -> String {
    match value {
        Some((mean, error)) => format!("{mean:.digits$} ± {error:.digits$}"),
        None => decimals(None, digits),
    }
}

fn share(part: usize, all: usize) -> Option<f64> {
    (all > 0).then(|| 100.0 * part as f64 / all as f64)
}

impl Outcome {
    fn found(&self) -> Option<f64> {
        share(self.planned, self.tried)
    }

    fn hit(&self) -> Option<f64> {
        share(self.collided, self.planned)
    }

    fn length(&self) -> Option<f64> {
        let n = self.ratios.len();
        (n > 0).then(|| 100.0 * self.ratios.iter().sum::<f64>() / n as f64)
    }
}

fn ways(context: &mut Context, names: &[&str], drives: &[DriveScore]) -> Result<()> {
    let mut rows = Table::new(["map", "max_risk", "way found %", "collides %", "length % of the true way"]);
    for (m, name) in names.iter().enumerate() {
        for (r, risk) in RISKS.iter().enumerate() {
            let of = |value: fn(&Outcome) -> Option<f64>| spread(drives.iter().map(|d| value(&d.outcomes[m][r])));
            let risk = if r == DEFAULT { format!("{risk} (default)") } else { risk.to_string() };
            let (found, hit, length) = (of(Outcome::found), of(Outcome::hit), of(Outcome::length));
            rows.row([(*name).into(), risk, shown(found, 1), shown(hit, 1), shown(length, 1)]);
        }
    }
    context.note("Ways. Lengths are of the pairs for which every map has a way:")?;
    context.table(&rows)
}

fn grounds(context: &mut Context, names: &[&str], drives: &[DriveScore]) -> Result<()> {
    let heading = ["map", "height error m", "within 2 σ %", "slope error °", "AUROC %", "ECE %", "known %"];
    let mut rows = Table::new(heading);
    for (m, name) in names.iter().enumerate() {
        let of = |value: fn(&LayerScore) -> Option<f64>| spread(drives.iter().map(|d| value(&d.scores[m])));
        rows.row([
            (*name).to_string(),
            shown(of(|s| s.height_m), 3),
            shown(of(|s| s.within_two), 1),
            shown(of(|s| s.slope_deg), 2),
            shown(of(|s| s.auroc), 1),
            shown(of(|s| s.ece), 1),
            shown(of(|s| s.known), 1),
        ]);
    }
    context.note(
        "Layers within 20 m of the way driven: medians of the errors of height and slope on free ground; the probability of \
         not being traversable against the truth, at cells that every map knows.",
    )?;
    context.table(&rows)
}

fn figure(names: &[&str], drives: &[DriveScore]) -> Figure {
    let ticks: Vec<String> = RISKS.iter().map(ToString::to_string).collect();
    let panel = |title: &str, unit: &str, value: fn(&Outcome) -> Option<f64>| {
        let series = names.iter().enumerate().map(|(m, name)| {
            let mean = |r: usize| spread(drives.iter().map(|d| value(&d.outcomes[m][r]))).map(|(mean, _)| mean);
            Series::at_ticks(*name, (0..RISKS.len()).map(mean))
        });
        Panel::lines(title, "max_risk of the robot", unit, ticks.clone(), series.collect())
    };
    // Collisions over length: who collides least at equal length.
    let trade = names.iter().enumerate().map(|(m, name)| {
        let mean = |r: usize, value: fn(&Outcome) -> Option<f64>| {
            spread(drives.iter().map(|d| value(&d.outcomes[m][r]))).map_or(f64::NAN, |(mean, _)| mean)
        };
        let points = (0..RISKS.len()).map(|r| (mean(r, Outcome::length), mean(r, Outcome::hit))).collect();
        Series { name: (*name).into(), points }
    });
    let trade = Panel::lines("Collisions at a length", "length [% of the true way]", "%", Vec::new(), trade.collect());
    let panels = vec![
        panel("Ways that collide", "%", Outcome::hit),
        panel("Ways found", "%", Outcome::found),
        panel("Length against the true way", "%", Outcome::length),
        trade,
    ];
    Figure::new("Planning on the maps", 2, panels)
}

fn one_drive(context: &mut Context, seed: u64) -> Result<DriveScore> {
    let mut options = DriveOptions::new(WorldKind::Offroad, seed, Sensor::Os1_64);
    options.columns = context.options.columns.or(Some(512));
    let drive = Drive::new(options)?;
    let errors = ErrorModel::for_drive(&drive, 0.3)?;
    let classes = ClassSet::new(drive.classes().iter().map(|class| (class.name, class.color)))?;
    let classes = e2bki_layers::with_known_costs(classes)?;
    let robot = Robot::default();
    let settings = Settings::new(robot.clone(), ClassCosts::of(&classes, &robot, UnknownClasses::Refuse)?);
    let middle = drive.world_from_sensor(context.frames() / 2).to_matrix();
    let corner = |sign: f64| [middle[0][3] + sign * HALF_M, middle[1][3] + sign * HALF_M];
    let grid = Grid::covering(corner(-1.0), corner(1.0), CELL_M)?;
    let mut ours = Mapper::new(classes.clone(), Config::default().with(|c| c.views.live_voxels = false))?;
    let their = context.their_config()?;
    let mut others: Vec<Box<dyn SemanticMapper>> = Vec::new();
    for baseline in [Baseline::SBki, Baseline::Ebs] {
        others.push(baseline.build(classes.clone(), &their)?);
    }
    let (mut seen, mut follow) = (Seen::new(grid), Layers::of(&ours, grid, settings.clone())?);
    let mut times = Vec::new();
    for index in 0..context.frames() {
        let frame = drive.frame(index);
        seen.add(&drive, &frame, &settings);
        if index % EVERY == 0 {
            let evidence = errors.evidence(&frame);
            let pose = Pose::from_matrix(frame.world_from_sensor)?;
            let input =
                Frame { points: &frame.points, semantics: Semantics::Evidence(&evidence), world_from_sensor: pose };
            ours.insert(&input)?;
            for other in &mut others {
                other.insert(&input)?;
            }
            let start = Instant::now();
            follow.refresh(&ours)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    let start = Instant::now();
    let anew = Layers::of(&ours, grid, settings.clone())?;
    let whole = start.elapsed().as_secs_f64() * 1e3;
    table::say(&format!(
        "drive {seed}: {} primitives; layers of {} cells {whole:.0} ms anew, {:.0} ms per frame (median)",
        ours.len(),
        grid.len(),
        score::median(times).unwrap_or(0.0)
    ));
    let truth = seen.finish(&drive, &settings)?;
    let mut maps = vec![anew, Layers::as_believed(&ours, &ours, grid, settings.clone())?];
    for other in &others {
        maps.push(Layers::as_believed(&ours, other.as_ref(), grid, settings.clone())?);
    }
    let asked = common(&truth, &maps);
    let scores = maps.iter().map(|map| layers(&truth, map, &asked)).collect();
    Ok(DriveScore { scores, outcomes: plans(&truth, &maps, seed) })
}

/// Plans between random places on every map, for every risk.
fn plans(truth: &Truth, maps: &[Layers], seed: u64) -> Vec<Vec<Outcome>> {
    let mut outcomes = vec![vec![Outcome::default(); RISKS.len()]; maps.len()];
    let grid = *truth.layers.grid();
    let open: Vec<usize> =
        (0..grid.len()).filter(|cell| truth.away[*cell] < 15.0 && truth.layers.cells()[*cell].lethal == 0.0).collect();
    if open.is_empty() {
        return outcomes;
    }
    let robot = &truth.layers.settings().robot;
    let knowing = Planner::of(&truth.layers);
    let planner = |map, risk: &f64| Planner::with(map, Robot { max_risk: *risk, ..robot.clone() });
    let planners: Vec<Vec<Planner<'_>>> =
        RISKS.iter().map(|risk| maps.iter().map(|map| planner(map, risk)).collect()).collect();
    let mut random = Rng::new(seed);
    let mut any = || grid.center(open[random.below(open.len())]);
    let (mut made, mut tries) = (0, 0);
    while made < PAIRS && tries < 60 * PAIRS {
        tries += 1;
        let (from, to) = (any(), any());
        let apart = (to[0] - from[0]).hypot(to[1] - from[1]);
        if !(APART_M.0..APART_M.1).contains(&apart) {
            continue;
        }
        let Ok(best) = knowing.plan(from, to) else { continue };
        made += 1;
        for (r, planners) in planners.iter().enumerate() {
            let found: Vec<_> = planners.iter().map(|planner| planner.plan(from, to).ok()).collect();
            let all = found.iter().all(Option::is_some);
            for (m, way) in found.iter().enumerate() {
                let outcome = &mut outcomes[m][r];
                outcome.tried += 1;
                let Some(way) = way else { continue };
                outcome.planned += 1;
                outcome.collided += usize::from(collides(truth, way));
                if all {
                    outcome.ratios.push(way.length / best.length.max(1e-6));
                }
            }
        }
    }
    outcomes
}
