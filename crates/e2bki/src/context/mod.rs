//! Step 2, context: what is known of the source and what the neighbours in the scan say, brought into every point's
//! opinion. Nothing of it is in the paper; with `context = 0` and no learned confusion, opinions stay as they were given.
//!
//! In this order: hard labels become opinions by the agreement of their neighbours ([`labels`]), the source's learned
//! confusion is applied ([`confusion`]), and every opinion is mixed with those around it ([`neighbours`]), classes
//! weighted by their [`trust`] and by what was learned of them (`class_weights`). Neighbours are the points of a cube and of those that touch its faces ([`cubes`]).

mod confusion;
mod cubes;
mod labels;
mod neighbours;
mod trust;

use self::cubes::Cubes;
use self::labels::odds_from_labels;
use self::trust::class_trust;
use crate::config::Config;
use crate::input::{EvidentialPoints, Said};

/// Brings context into the opinions of checked points.
pub(crate) fn add_context(points: &mut EvidentialPoints, said: Said, config: &Config) {
    let classes = points.classes;
    let weights = config.input.class_weights.of_classes();
    let mixes = config.input.context > 0.0 || !weights.is_empty();
    let side = config.input.label_neighbourhood as f32;
    let cubes = (said == Said::Labels || mixes).then(|| Cubes::new(&points.position, &points.label, classes, side));

    // Hard labels: evidence by the agreement around them.
    let mut cubes_of_rows = None;
    if let Some(cubes) = cubes.as_ref().filter(|_| said == Said::Labels) {
        let rows = odds_from_labels(cubes, &points.label, classes, config.input.label_strength as f32);
        (points.odds, points.row_of, cubes_of_rows) = (rows.odds, Some(rows.of_point), Some(rows.cubes));
    }

    // Learned confusion.
    points.apply_confusion(config.input.confusion.rows());

    // Neighbours, and the trust in each class.
    if let Some(cubes) = cubes.filter(|_| mixes) {
        let of_rows = cubes_of_rows.unwrap_or_else(|| cubes.numbers.of.iter().map(|cube| (*cube, 1)).collect());
        let power = if config.input.context > 0.0 { config.input.class_trust } else { 0.0 };
        let mut trust = class_trust(&cubes.counts, classes, power);
        trust.iter_mut().zip(weights).for_each(|(trust, weight)| *trust *= weight);
        points.mix_with_neighbours(&cubes, &of_rows, config.input.context as f32, &trust);
    }
}
