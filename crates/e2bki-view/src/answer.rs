//! The full belief at a position, as shown by the page.

use e2bki::{Beliefs, ClassSet, Mapper, Primitive};
use serde_json::{Value, json};

/// Maximum number of primitives in an answer: those with the highest weight.
const LISTED: usize = 12;

/// A map's belief at a position, and the primitives behind it.
pub fn answer(map: &Mapper, at: [f64; 3]) -> Value {
    let names = map.classes().names();
    let mut involved: Vec<(f64, Primitive<'_>)> =
        map.primitives_reaching(at, at).into_iter().map(|p| (kernel(&p, at), p)).collect();
    involved.retain(|(k, _)| *k > 0.0);
    involved.sort_by(|(a, p), (b, q)| b.total_cmp(a).then(p.id().cmp(&q.id())));
    let count = involved.len();
    let listed: Vec<Value> = involved
        .iter()
        .take(LISTED)
        .map(|(k, p)| {
            json!({
                "id": p.id(), "class": names[p.label()], "label": p.label(), "kernel": k, "points": p.weight(),
                "u": p.uncertainty(), "range": p.range(), "mean": p.mean(),
                "distance": p.ellipsoid().distance(at),
            })
        })
        .collect();
    let beliefs = map.query(&[at]);
    let mut said = belief(map.classes(), &beliefs, at);
    if map.free_space().is_some() {
        said["free_space"] = free_space_at(&beliefs, 0);
    }
    said["involved"] = count.into();
    said["primitives"] = listed.into();
    said
}

/// The first of some beliefs, which is the one at this position.
pub(crate) fn belief(classes: &ClassSet, beliefs: &Beliefs, at: [f64; 3]) -> Value {
    let belief = beliefs.get(0);
    json!({
        "at": at, "observed": belief.observed(), "label": belief.label(),
        "class": belief.label().map(|label| &classes.names()[label]),
        "alpha": beliefs.alpha(0).collect::<Vec<_>>(), "confidence": belief.confidence(),
        "u": belief.uncertainty(), "u_sem": belief.semantic_uncertainty(), "u_spa": belief.spatial_uncertainty(),
        "variance": belief.variance(), "evidence": belief.evidence(), "strength": belief.strength(),
    })
}

/// What is known of free space at one of the places: its state, existence, counts, and when it was first and last seen.
pub fn free_space_at(beliefs: &Beliefs, place: usize) -> Value {
    let (tally, seen) = (beliefs.tally(place), beliefs.seen(place));
    json!({
        "state": beliefs.state(place).name(), "existence": beliefs.existence(place),
        "hits": tally.hits, "passes": tally.passes,
        "first_seen": seen.map(|seen| seen.first), "last_seen": seen.map(|seen| seen.last),
    })
}

/// Kernel weight of a primitive at a position.
fn kernel(primitive: &Primitive<'_>, at: [f64; 3]) -> f64 {
    primitive.votes() * primitive.kernel(at)
}
