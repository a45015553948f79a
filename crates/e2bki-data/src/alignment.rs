//! How well two scans lie on each other: the median distance from points of one to the nearest of the other.

use rustc_hash::FxHashMap;

/// Side of a search cell, metres.
const CELL_M: f64 = 0.5;

/// Rings of cells that are searched: distances up to 2 m are exact, larger ones are at least that.
const RINGS: i32 = 4;

fn cell(p: [f64; 3]) -> [i32; 3] {
    p.map(|v| (v / CELL_M).floor() as i32)
}

/// Median distance from every `step`-th point of `from` to the nearest point of `to`, metres; points farther than 2 m
/// from all others count as infinitely far. Nothing if either is empty.
pub fn alignment(from: &[[f64; 3]], to: &[[f64; 3]], step: usize) -> Option<f64> {
    let mut order: Vec<([i32; 3], usize)> = to.iter().enumerate().map(|(i, p)| (cell(*p), i)).collect();
    order.sort_unstable();
    let mut cells: FxHashMap<[i32; 3], (usize, usize)> = FxHashMap::default();
    for (k, (cell, _)) in order.iter().enumerate() {
        cells.entry(*cell).or_insert((k, k)).1 = k + 1;
    }
    let nearest = |p: &[f64; 3]| {
        let home = cell(*p);
        let mut best = f64::INFINITY;
        for ring in 0..=RINGS {
            // Nothing in this ring is nearer than its inner side.
            if best <= f64::from(ring - 1) * CELL_M {
                break;
            }
            for x in -ring..=ring {
                for y in -ring..=ring {
                    for z in -ring..=ring {
                        if x.abs().max(y.abs()).max(z.abs()) != ring {
                            continue;
                        }
                        let at = [home[0].saturating_add(x), home[1].saturating_add(y), home[2].saturating_add(z)];
                        let Some((start, end)) = cells.get(&at) else { continue };
                        for (_, i) in &order[*start..*end] {
                            let q = to[*i];
                            best = best.min((0..3).map(|a| (p[a] - q[a]).powi(2)).sum::<f64>().sqrt());
                        }
                    }
                }
            }
        }
        if best <= f64::from(RINGS) * CELL_M { best } else { f64::INFINITY }
    };
    let mut distances: Vec<f64> = from.iter().step_by(step.max(1)).map(nearest).collect();
    if to.is_empty() || distances.is_empty() {
        return None;
    }
    distances.sort_unstable_by(f64::total_cmp);
    Some(distances[distances.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_brute_force_median(
            a in prop::collection::vec(prop::array::uniform3(-1.5..1.5_f64), 1..40),
            b in prop::collection::vec(prop::array::uniform3(-0.5..0.5_f64), 1..40),
        ) {
            let distance = |p: &[f64; 3], q: &[f64; 3]| (0..3).map(|i| (p[i] - q[i]).powi(2)).sum::<f64>().sqrt();
            let nearest = |p: &[f64; 3]| b.iter().map(|q| distance(p, q)).fold(f64::INFINITY, f64::min);
            let mut all: Vec<f64> = a.iter().map(nearest).map(|d| if d <= 2.0 { d } else { f64::INFINITY }).collect();
            all.sort_by(f64::total_cmp);
            prop_assert_eq!(alignment(&a, &b, 1), Some(all[all.len() / 2]));
        }
    }

    #[test]
    fn nothing_is_not_aligned() {
        assert_eq!(alignment(&[], &[[0.0; 3]], 1), None);
        assert_eq!(alignment(&[[0.0; 3]], &[], 1), None);
    }
}
