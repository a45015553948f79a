//! Maps with a limit of risk have ways for different pairs of places: here they are compared on the same ones.

use anyhow::Result;
use e2bki_eval::{Table, decimals};

use super::ways::{DEFAULT, Outcome, RISKS};
use crate::experiment::context::Context;

/// Ways between the same pairs on our map and on another, in one drive.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Tally {
    pairs: usize,
    /// Ways that collide on ours but not on theirs, on theirs but not on ours, and on both.
    only_ours: usize,
    only_theirs: usize,
    both: usize,
}

impl Tally {
    /// Over the pairs for which all maps of `among` have a way; the first is ours.
    fn of(ours: &Outcome, theirs: &Outcome, among: &[&Outcome]) -> Self {
        let mut tally = Self::default();
        for (pair, (a, b)) in ours.ways.iter().zip(&theirs.ways).enumerate() {
            if let (Some(a), Some(b), true) = (a, b, among.iter().all(|map| map.ways[pair].is_some())) {
                tally.pairs += 1;
                tally.only_ours += usize::from(a.hit && !b.hit);
                tally.only_theirs += usize::from(b.hit && !a.hit);
                tally.both += usize::from(a.hit && b.hit);
            }
        }
        tally
    }

    fn sum(drives: &[Self]) -> Self {
        let of = |value: fn(&Self) -> usize| drives.iter().map(value).sum();
        Self {
            pairs: of(|t| t.pairs),
            only_ours: of(|t| t.only_ours),
            only_theirs: of(|t| t.only_theirs),
            both: of(|t| t.both),
        }
    }
}

/// How many percent more of the pairs collide on their map than on ours, over all drives, and 1.96 standard errors. Pairs of
/// one drive are not independent: the error is that of a ratio of sums over drives.
fn more(drives: &[Tally]) -> Option<(f64, f64)> {
    let all = Tally::sum(drives);
    let (k, n) = (drives.len() as f64, all.pairs as f64);
    if all.pairs == 0 || drives.len() < 2 {
        return None;
    }
    let mean = (all.only_theirs as f64 - all.only_ours as f64) / n;
    let left = |t: &Tally| (t.only_theirs as f64 - t.only_ours as f64 - mean * t.pairs as f64).powi(2);
    let variance = k / (k - 1.0) * drives.iter().map(left).sum::<f64>() / (n * n);
    Some((100.0 * mean, 196.0 * variance.sqrt()))
}

/// A row for every risk and other map; `drives` hold outcomes by map and risk, ours first.
pub(super) fn table(context: &mut Context, names: &[&str], drives: &[&Vec<Vec<Outcome>>]) -> Result<()> {
    let ours = names[0];
    let side = |which: &str| {
        [format!("pairs: {which}"), format!("{ours} collides %"), "theirs collides %".into(), "more than ours".into()]
    };
    let heading = ["max_risk".to_string(), "against".into()].into_iter().chain(side("both")).chain(side("every map"));
    let mut rows = Table::new(heading);
    for (r, risk) in RISKS.iter().enumerate() {
        for (m, name) in names.iter().enumerate().skip(1) {
            let risk = if r == DEFAULT { format!("{risk} (default)") } else { risk.to_string() };
            let mut row = vec![risk, (*name).to_string()];
            for every in [false, true] {
                let of_drive = |drive: &&Vec<Vec<Outcome>>| {
                    let among: Vec<&Outcome> =
                        if every { drive.iter().map(|map| &map[r]).collect() } else { Vec::new() };
                    Tally::of(&drive[0][r], &drive[m][r], &among)
                };
                let tallies: Vec<Tally> = drives.iter().map(of_drive).collect();
                let all = Tally::sum(&tallies);
                let share = |n: usize| decimals((all.pairs > 0).then(|| 100.0 * n as f64 / all.pairs as f64), 1);
                let difference = more(&tallies).map_or("–".into(), |(mean, error)| {
                    format!("{mean:.1} ± {error:.1} ({} against {})", all.only_theirs, all.only_ours)
                });
                row.extend([
                    all.pairs.to_string(),
                    share(all.both + all.only_ours),
                    share(all.both + all.only_theirs),
                    difference,
                ]);
            }
            rows.row(row);
        }
    }
    context.note(&format!(
        "The same, compared on the same pairs: those for which {ours} and the other map have a way below the risk, and those for \
         which every map has. *More than ours* is the difference over all pairs ± 1.96 standard errors (of a ratio of sums over \
         drives), with the pairs that collide on theirs only against those that collide on ours only:"
    ))?;
    context.table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::planning::ways::Found;

    fn outcome(ways: &[Option<bool>]) -> Outcome {
        Outcome {
            ways: ways.iter().map(|hit| hit.map(|hit| Found { hit, ratio: 1.0 })).collect(),
            ..Outcome::default()
        }
    }

    #[test]
    fn only_pairs_that_both_have_count() {
        let (ours, theirs) = (
            outcome(&[Some(true), Some(false), None, Some(true), Some(false)]),
            outcome(&[Some(true), Some(true), Some(true), None, Some(false)]),
        );
        let tally = Tally { pairs: 3, only_ours: 0, only_theirs: 1, both: 1 };
        assert_eq!(Tally::of(&ours, &theirs, &[]), tally);
        let third = outcome(&[Some(false), None, None, None, Some(true)]);
        let tally = Tally { pairs: 2, only_ours: 0, only_theirs: 0, both: 1 };
        assert_eq!(Tally::of(&ours, &theirs, &[&ours, &theirs, &third]), tally);
    }

    #[test]
    fn the_error_is_that_of_drives_and_not_of_pairs() {
        let drive = |pairs, only_theirs, only_ours| Tally { pairs, only_ours, only_theirs, both: 0 };
        // Every drive has the same share: no error, however large the drives are.
        let (mean, error) = more(&[drive(10, 1, 0), drive(30, 3, 0)]).unwrap();
        assert!((mean - 10.0).abs() < 1e-9 && error < 1e-9);
        // Equal drives: the usual error of a mean, here of 0 and 20 %.
        let (mean, error) = more(&[drive(10, 0, 0), drive(10, 2, 0)]).unwrap();
        assert!((mean - 10.0).abs() < 1e-9 && (error - 1.96 * 10.0).abs() < 1e-9, "{error}");
        assert_eq!(more(&[drive(0, 0, 0), drive(0, 0, 0)]), None);
    }
}
