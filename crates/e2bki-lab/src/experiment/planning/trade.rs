//! Collisions at equal length: a robot that may drive anywhere, for which risk is a matter of price only. Every map then has a
//! way for every pair, and the price of risk trades length for collisions.

use anyhow::Result;
use e2bki_eval::Table;
use e2bki_eval::plot::{Panel, Series};
use e2bki_layers::{Layers, Planner, Robot};
use rayon::prelude::*;

use super::pairs::Pair;
use super::score::collides;
use super::spread::{mean, shown, spread};
use super::truth::Truth;
use crate::experiment::context::Context;

/// What a metre of certain collision costs, in metres of best ground. At no price all maps have the same straight ways.
const PRICES: [f64; 8] = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// The ways of one drive on one map, at one price.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Trade {
    /// Mean length, percent of the ways planned with perfect knowledge.
    length: f64,
    /// Ways that meet a true obstacle, percent.
    hit: f64,
}

/// Plans between the pairs on every map, for every price.
pub(super) fn trades(truth: &Truth, maps: &[Layers], pairs: &[Pair]) -> Vec<Vec<Trade>> {
    let one = |map: &Layers, price: f64| {
        let robot = map.settings().robot.clone();
        // Just not forbidden.
        let robot = Robot { max_risk: 1.0, cost_weight: price, unknown_cost: e2bki::LETHAL_COST - 1, ..robot };
        let planner = Planner::with(map, robot);
        let each = |pair: &Pair| -> Option<(f64, bool)> {
            let way = planner.plan(pair.from, pair.to).ok()?;
            Some((way.length / pair.best_m, collides(truth, &way)))
        };
        let done: Vec<(f64, bool)> = pairs.par_iter().filter_map(each).collect();
        let share = |sum: f64| 100.0 * sum / done.len() as f64;
        Trade {
            length: share(done.iter().map(|(length, _)| length).sum()),
            hit: share(done.iter().filter(|(_, hit)| *hit).count() as f64),
        }
    };
    maps.iter().map(|map| PRICES.iter().map(|price| one(map, *price)).collect()).collect()
}

/// Collisions of a map when its ways are so long, between the prices next to it; nothing if they never are.
fn hit_at(trades: &[Trade], length: f64) -> Option<f64> {
    trades.windows(2).find_map(|pair| {
        let [a, b] = [pair[0], pair[1]];
        let between = (a.length..=b.length).contains(&length);
        let t = if b.length > a.length { (length - a.length) / (b.length - a.length) } else { 0.0 };
        between.then_some(a.hit + t * (b.hit - a.hit))
    })
}

/// For every price, collisions of our map, and of the others when their ways are as long as ours. The drives hold trades by
/// map and price; our map is the first.
pub(super) fn table(context: &mut Context, names: &[&str], drives: &[&Vec<Vec<Trade>>]) -> Result<()> {
    let heading = ["price of risk".to_string(), "length %".into(), format!("{} collides %", names[0])];
    let others = names[1..].iter().flat_map(|name| [format!("{name} collides %"), "more than ours".into()]);
    let mut rows = Table::new(heading.into_iter().chain(others));
    for (k, price) in PRICES.iter().enumerate().skip(1) {
        let length = spread(drives.iter().map(|d| Some(d[0][k].length)));
        let mut row =
            vec![price.to_string(), shown(length, 1), shown(spread(drives.iter().map(|d| Some(d[0][k].hit))), 1)];
        for other in 1..names.len() {
            // Only if their ways are as long in every drive: the means are then over the same drives.
            let theirs: Option<Vec<f64>> = drives.iter().map(|d| hit_at(&d[other], d[0][k].length)).collect();
            let of = |value: fn(f64, f64) -> f64| {
                let pairs = theirs.iter().flatten().zip(drives);
                shown(spread(pairs.map(|(hit, d)| Some(value(*hit, d[0][k].hit)))), 1)
            };
            row.extend([of(|theirs, _| theirs), of(|theirs, ours| theirs - ours)]);
        }
        rows.row(row);
    }
    context.note(&format!(
        "Collisions at equal length. A robot that may drive anywhere and does not mind on which ground, for which a metre of \
         certain collision costs as much as `price` metres of way: every map has a way for every pair. Lengths are those of \
         {}; the collisions of the others are those at the same length in the same drive, between two prices; *more than \
         ours* is the mean difference within a drive.",
        names[0]
    ))?;
    context.table(&rows)
}

/// Collisions over length.
pub(super) fn panel(names: &[&str], drives: &[&Vec<Vec<Trade>>]) -> Panel {
    let series = names.iter().enumerate().map(|(m, name)| {
        let of = |k: usize, value: fn(&Trade) -> f64| mean(drives.iter().map(|d| Some(value(&d[m][k]))));
        let points = (1..PRICES.len()).map(|k| (of(k, |t| t.length), of(k, |t| t.hit))).collect();
        Series { name: (*name).into(), points }
    });
    Panel::lines("Ways that collide, by length", "length [% of the true way]", "%", Vec::new(), series.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collisions_are_read_between_the_lengths_next_to_it() {
        let trades =
            [(95.0, 40.0), (100.0, 10.0), (100.0, 8.0), (110.0, 2.0)].map(|(length, hit)| Trade { length, hit });
        assert_eq!(hit_at(&trades, 97.5), Some(25.0));
        assert_eq!(hit_at(&trades, 100.0), Some(10.0));
        assert_eq!(hit_at(&trades, 105.0), Some(5.0));
        assert_eq!((hit_at(&trades, 94.0), hit_at(&trades, 111.0)), (None, None));
    }
}
