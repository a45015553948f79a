//! Ways for robots that do not enter places above a risk: how many there are, and what becomes of them.

use anyhow::Result;
use e2bki_eval::Table;
use e2bki_layers::{Layers, Planner, Robot};
use rayon::prelude::*;

use super::pairs::Pair;
use super::score::collides;
use super::spread::{share, shown, spread};
use super::truth::Truth;
use crate::experiment::context::Context;

/// Risks that the robot is willing to take.
pub(super) const RISKS: [f64; 6] = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7];
pub(super) const DEFAULT: usize = 3;

/// A way that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    /// Whether it meets a true obstacle.
    pub(super) hit: bool,
    /// Its length against planning with perfect knowledge.
    pub(super) ratio: f64,
}

/// What became of the pairs of one drive, with one map and risk.
#[derive(Clone, Default)]
pub(super) struct Outcome {
    /// The way of every pair, if there is one.
    pub(super) ways: Vec<Option<Found>>,
    /// Whether every map has a way.
    pub(super) common: Vec<bool>,
}

impl Outcome {
    pub(super) fn found(&self) -> Option<f64> {
        share(self.ways.iter().flatten().count(), self.ways.len())
    }

    pub(super) fn hit(&self) -> Option<f64> {
        share(self.ways.iter().flatten().filter(|way| way.hit).count(), self.ways.iter().flatten().count())
    }

    /// Mean length of the ways of pairs for which every map has one, percent.
    pub(super) fn length(&self) -> Option<f64> {
        let ways = self.ways.iter().zip(&self.common).filter(|(_, common)| **common);
        let ratios: Vec<f64> = ways.filter_map(|(way, _)| Some(way.as_ref()?.ratio)).collect();
        (!ratios.is_empty()).then(|| 100.0 * ratios.iter().sum::<f64>() / ratios.len() as f64)
    }
}

/// Plans between the pairs on every map, for every risk.
pub(super) fn plans(truth: &Truth, maps: &[Layers], pairs: &[Pair]) -> Vec<Vec<Outcome>> {
    let robot = &truth.layers.settings().robot;
    let planner = |map, risk: f64| Planner::with(map, Robot { max_risk: risk, ..robot.clone() });
    let of_risk = |risk: f64| -> Vec<Outcome> {
        let planners: Vec<Planner<'_>> = maps.iter().map(|map| planner(map, risk)).collect();
        let ways = |pair: &Pair| -> Vec<_> { planners.iter().map(|p| p.plan(pair.from, pair.to).ok()).collect() };
        let found: Vec<Vec<_>> = pairs.par_iter().map(ways).collect();
        let mut outcomes = vec![Outcome::default(); maps.len()];
        for (pair, ways) in pairs.iter().zip(found) {
            let all = ways.iter().all(Option::is_some);
            for (outcome, way) in outcomes.iter_mut().zip(ways) {
                let way = way.map(|way| Found { hit: collides(truth, &way), ratio: way.length / pair.best_m });
                outcome.ways.push(way);
                outcome.common.push(all);
            }
        }
        outcomes
    };
    let by_risk: Vec<Vec<Outcome>> = RISKS.iter().map(|risk| of_risk(*risk)).collect();
    (0..maps.len()).map(|m| by_risk.iter().map(|outcomes| outcomes[m].clone()).collect()).collect()
}

/// A row for every map and risk; `drives` hold outcomes by map and risk.
pub(super) fn table(context: &mut Context, names: &[&str], drives: &[&Vec<Vec<Outcome>>]) -> Result<()> {
    let mut rows = Table::new(["map", "max_risk", "way found %", "collides %", "length % of the true way"]);
    for (m, name) in names.iter().enumerate() {
        for (r, risk) in RISKS.iter().enumerate() {
            let of = |value: fn(&Outcome) -> Option<f64>| spread(drives.iter().map(|d| value(&d[m][r])));
            let risk = if r == DEFAULT { format!("{risk} (default)") } else { risk.to_string() };
            let (found, hit, length) = (of(Outcome::found), of(Outcome::hit), of(Outcome::length));
            rows.row([(*name).into(), risk, shown(found, 1), shown(hit, 1), shown(length, 1)]);
        }
    }
    context.note(
        "Ways of a robot that enters no place above its `max_risk`: each map then has ways for other pairs. Lengths are of \
         the pairs for which every map has a way:",
    )?;
    context.table(&rows)
}
