//! Which classes are taken for which, and how hard each class is.
//! Rows follow the class order of the kind of world; classes absent from a drive are never predicted.

use crate::world::WorldKind;

/// For each true class, wrong classes and their weights.
pub(super) fn confusions(kind: WorldKind) -> &'static [&'static [(u8, f64)]] {
    match kind {
        WorldKind::Offroad => &[
            &[(4, 0.45), (5, 0.35), (2, 0.20)],
            &[(6, 0.60), (5, 0.30), (4, 0.10)],
            &[(4, 0.45), (3, 0.40), (5, 0.15)],
            &[(4, 0.50), (2, 0.25), (5, 0.25)],
            &[(3, 0.40), (5, 0.40), (2, 0.10), (0, 0.10)],
            &[(6, 0.55), (4, 0.28), (3, 0.17)],
            &[(5, 0.75), (1, 0.25)],
        ],
        WorldKind::Urban => &[
            &[(1, 0.60), (7, 0.25), (9, 0.15)],
            &[(0, 0.50), (7, 0.45), (3, 0.05)],
            &[(6, 0.40), (3, 0.35), (10, 0.25)],
            &[(6, 0.40), (2, 0.40), (7, 0.20)],
            &[(6, 0.40), (2, 0.30), (5, 0.20), (3, 0.10)],
            &[(4, 0.50), (2, 0.30), (6, 0.20)],
            &[(7, 0.45), (3, 0.30), (2, 0.25)],
            &[(1, 0.40), (6, 0.48), (0, 0.12)],
            &[(6, 0.30), (4, 0.25), (2, 0.25), (9, 0.20)],
            &[(10, 0.40), (0, 0.20), (6, 0.20), (2, 0.20)],
            &[(9, 0.55), (2, 0.45)],
        ],
    }
}

/// Error rate of each class relative to the average.
pub(super) fn difficulty(kind: WorldKind) -> &'static [f64] {
    match kind {
        WorldKind::Offroad => &[1.8, 2.2, 1.0, 1.1, 2.0, 0.8, 0.8],
        WorldKind::Urban => &[0.45, 1.2, 0.8, 1.7, 2.2, 2.4, 0.7, 1.3, 2.6, 0.7, 2.0],
    }
}

/// Picks a wrong class for `truth` by `pick` in [0, 1), among classes that occur.
pub(super) fn pick_wrong(kind: WorldKind, truth: u8, present: &[bool], pick: f64) -> Option<u8> {
    let row = confusions(kind).get(usize::from(truth))?;
    let usable = || row.iter().filter(|(c, _)| present.get(usize::from(*c)).copied().unwrap_or(false));
    let total: f64 = usable().map(|(_, w)| w).sum();
    let mut left = pick * total;
    for (class, weight) in usable() {
        left -= weight;
        if left <= 0.0 {
            return Some(*class);
        }
    }
    usable().next_back().map(|(class, _)| *class)
}
