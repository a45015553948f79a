//! Class trust: a class whose points often stand alone among others is one that the network scatters.
//!
//! Beliefs in class c are weighted by t_c^γ, where t_c is the share of a point's company in its cube that has its class,
//! over all points of class c of the frame and a few that every class is credited with. The sum of a point's beliefs stays, so that this moves belief between classes
//! and makes no ignorance.

use crate::maths::{exp, ln};

/// Points in company of their own class that every class is credited with: a few stray points of a class say little about
/// it, and none is ever erased.
const CREDIT: f64 = 10.0;

/// How far the beliefs in each class are trusted: the share of company of its own class that its points have, to a
/// power. Classes whose points are all alone get 1, and none gets 0.
pub(super) fn class_trust(counts: &[u32], classes: usize, power: f64) -> Vec<f32> {
    if power == 0.0 {
        return vec![1.0; classes];
    }
    let (mut company, mut points) = (vec![0.0; classes], vec![0.0; classes]);
    for counts in counts.chunks_exact(classes) {
        let others = f64::from(counts.iter().sum::<u32>()) - 1.0;
        if others > 0.0 {
            for (class, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let count = f64::from(*count);
                company[class] += count * (count - 1.0) / others;
                points[class] += count;
            }
        }
    }
    let share = |(company, points): (&f64, &f64)| (company + CREDIT) / (points + CREDIT);
    let raised = |share: f64| exp(power * ln(share)) as f32;
    company.iter().zip(&points).map(share).map(raised).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_that_is_scattered_among_others_is_trusted_less() {
        // Class 1 always alone among three of class 0; class 2 only among its own.
        let cell_of: Vec<u32> = (0..80).map(|i| i / 4).collect();
        let labels: Vec<u16> = (0..80).map(|i| if i >= 40 { 2 } else { u16::from(i % 4 == 3) }).collect();
        let mut counts = vec![0; 60];
        cell_of.iter().zip(labels).for_each(|(cell, label)| counts[3 * *cell as usize + usize::from(label)] += 1);
        let trust = class_trust(&counts, 3, 1.0);
        // Points with company of their own class: 20 of 30, none of 10, and all 40; each credited with ten more.
        let expected = [30.0 / 40.0, 10.0 / 20.0, 1.0];
        assert!(trust.iter().zip(expected).all(|(t, e): (&f32, f32)| (t - e).abs() < 1e-6), "{trust:?}");
    }

    #[test]
    fn a_few_lonely_points_weaken_a_class_and_do_not_erase_it() {
        // Two points of class 1, each among three of class 0; and two thousand of them.
        for (cells, least, most) in [(2, 0.8, 0.9), (2000, 0.001, 0.01)] {
            let counts: Vec<u32> = (0..cells).flat_map(|_| [3, 1]).collect();
            let trust = class_trust(&counts, 2, 1.0)[1];
            assert!((least..most).contains(&trust), "{cells} cells: {trust}");
        }
    }
}
