//! Class trust: a class whose points often stand alone among others is one that the network scatters.
//!
//! Beliefs in class c are weighted by t_c^γ, where t_c is the share of a point's company in its cube that has its class,
//! over all points of class c of the frame. The sum of a point's beliefs stays, so that this moves belief between classes
//! and makes no ignorance.

use crate::maths::{exp, ln};

/// How far the beliefs in each class are trusted: the share of company of its own class that its points have, to a
/// power. Classes whose points are all alone get 1.
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
    let share = |(company, points): (&f64, &f64)| if *points > 0.0 { company / points } else { 1.0 };
    let raised = |share: f64| if share > 0.0 { exp(power * ln(share)) as f32 } else { f32::MIN_POSITIVE };
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
        assert!(trust[1] < 1e-6 && (trust[0] - 2.0 / 3.0).abs() < 1e-6 && (trust[2] - 1.0).abs() < 1e-6, "{trust:?}");
    }
}
