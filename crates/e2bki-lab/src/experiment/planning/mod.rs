//! What calibrated uncertainty is for: ways planned on the maps of several methods, against true obstacles.

mod paired;
mod pairs;
mod score;
mod spread;
mod trade;
mod truth;
mod ways;

use std::time::Instant;

use anyhow::Result;
use e2bki::{ClassSet, Config, Frame, Mapper, Pose, SemanticMapper, Semantics};
use e2bki_baselines::Baseline;
use e2bki_eval::Table;
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_layers::{ClassCosts, Grid, Layers, Robot, Settings, UnknownClasses};
use e2bki_sim::{Drive, DriveOptions, ErrorModel, Sensor, WorldKind};

use super::context::Context;
use super::method::OURS;
use crate::table;
use score::{LayerScore, common, layers};
use spread::{mean, shown, spread};
use trade::Trade;
use truth::Seen;
use ways::{Outcome, RISKS};

/// Drives, and pairs of places in each. Layers and planner were made with drives 101 to 116.
const FIRST_SEED: u64 = 201;
const DRIVES: u64 = 16;
const PAIRS: usize = 40;
/// Every so many frames one is mapped; the truth is of all.
const EVERY: usize = 5;
/// Half the side of the grid around the middle of the drive, metres, and of its cells.
const HALF_M: f64 = 30.0;
const CELL_M: f64 = 0.2;
/// The same map read by its expectations, without its uncertainty.
const PLAIN: &str = "E2-BKI, expectation only";

/// What came of one drive.
struct DriveScore {
    scores: Vec<LayerScore>,
    /// Ways by map and risk.
    outcomes: Vec<Vec<Outcome>>,
    /// Ways by map and price.
    trades: Vec<Vec<Trade>>,
}

pub(super) fn table(context: &mut Context) -> Result<()> {
    context.needs_simulation("compares with the true obstacles of simulated worlds")?;
    context.only_one_network("its drives are seen by a simulated network with 30 % of the training data")?;
    let names = [OURS, PLAIN, Baseline::SBki.name(), Baseline::Ebs.name()];
    let seeds = FIRST_SEED..FIRST_SEED + if context.options.seeds > 1 { context.options.seeds } else { DRIVES };
    let bar = table::progress(seeds.clone().count(), "drives");
    let mut drives = Vec::new();
    for seed in seeds.clone() {
        drives.push(one_drive(context, seed)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    context.note(&format!(
        "{} simulated off-road drives of {} frames, every {EVERY}th mapped (seeds {} to {}, which nothing here was made with), seen \
         by a network with 30 % of the training data; {} pairs of free places {} to {} m apart in each, of which a planner with perfect knowledge finds a way. True obstacles: \
         where any frame truly saw one. All maps have the surfaces of E2-BKI's primitives, so that only \
         what they believe of the classes differs. Values are means over the drives ± 1.96 standard errors.",
        drives.len(),
        context.frames(),
        seeds.start,
        seeds.end - 1,
        PAIRS,
        pairs::APART_M.0,
        pairs::APART_M.1
    ))?;
    trade::table(context, &names, &drives.iter().map(|d| &d.trades).collect::<Vec<_>>())?;
    let outcomes: Vec<_> = drives.iter().map(|d| &d.outcomes).collect();
    ways::table(context, &names, &outcomes)?;
    paired::table(context, &names, &outcomes)?;
    grounds(context, &names, &drives)?;
    context.figure(&figure(&names, &drives))
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
    context.table(&rows)?;
    let mut rows = Table::new(["map", "max_risk", "blocked cells missed %", "free cells refused %"]);
    for (m, name) in names.iter().enumerate() {
        for (r, risk) in RISKS.iter().enumerate() {
            let of = |value: fn(&LayerScore) -> &[Option<f64>; RISKS.len()]| {
                shown(spread(drives.iter().map(|d| value(&d.scores[m])[r])), 1)
            };
            rows.row([(*name).to_string(), risk.to_string(), of(|s| &s.missed), of(|s| &s.refused)]);
        }
    }
    context.note(
        "Why, cell by cell: truly blocked ones whose risk is not above the limit, and truly free ones whose is:",
    )?;
    context.table(&rows)
}

fn figure(names: &[&str], drives: &[DriveScore]) -> Figure {
    let ticks: Vec<String> = RISKS.iter().map(ToString::to_string).collect();
    let panel = |title: &str, unit: &str, value: fn(&Outcome) -> Option<f64>| {
        let series = names.iter().enumerate().map(|(m, name)| {
            let mean = |r: usize| Some(mean(drives.iter().map(|d| value(&d.outcomes[m][r]))));
            Series::at_ticks(*name, (0..RISKS.len()).map(mean))
        });
        Panel::lines(title, "max_risk of the robot", unit, ticks.clone(), series.collect())
    };
    let panels = vec![
        trade::panel(names, &drives.iter().map(|d| &d.trades).collect::<Vec<_>>()),
        panel("Ways found below a risk", "%", Outcome::found),
        panel("Of these collide", "%", Outcome::hit),
        panel("Their length against the true way", "%", Outcome::length),
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
            let input = Frame {
                points: &frame.points,
                semantics: Semantics::Evidence(&evidence),
                world_from_sensor: pose,
                scan: None,
            };
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
    Layers::of(&ours, grid, settings.clone())?;
    let whole = start.elapsed().as_secs_f64() * 1e3;
    table::say(&format!(
        "drive {seed}: {} primitives; layers of {} cells {whole:.0} ms anew, {:.0} ms per frame (median)",
        ours.len(),
        grid.len(),
        score::median(times).unwrap_or(0.0)
    ));
    let truth = seen.finish(&drive, &settings)?;
    // To this robot all ground that it can drive on is the same: its ways are long because of risk only.
    let mut careless = robot.clone();
    careless.costs = classes.names().iter().cloned().map(|name| (name, 0)).collect();
    for (class, name) in classes.names().iter().enumerate().filter(|(class, _)| settings.costs.is_lethal(*class)) {
        careless.costs.insert(name.clone(), classes.cost(class).unwrap_or(e2bki::LETHAL_COST));
    }
    let only_risk = Settings::new(careless.clone(), ClassCosts::of(&classes, &careless, UnknownClasses::Refuse)?);
    let believed = |settings: &Settings| -> Result<Vec<Layers>> {
        let mut maps = vec![Layers::of(&ours, grid, settings.clone())?];
        maps.push(Layers::as_believed(&ours, &ours, grid, settings.clone())?);
        for other in &others {
            maps.push(Layers::as_believed(&ours, other.as_ref(), grid, settings.clone())?);
        }
        Ok(maps)
    };
    let maps = believed(&settings)?;
    let asked = common(&truth, &maps);
    let scores = maps.iter().map(|map| layers(&truth, map, &asked)).collect();
    let pairs = pairs::pairs(&truth, PAIRS, seed);
    let outcomes = ways::plans(&truth, &maps, &pairs);
    Ok(DriveScore { scores, outcomes, trades: trade::trades(&truth, &believed(&only_risk)?, &pairs) })
}
