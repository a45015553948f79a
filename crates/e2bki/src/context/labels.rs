//! Evidence for hard labels from the agreement of their neighbours in the scan.
//!
//! A point labelled y lies in a cube (side `label_neighbourhood`, sensor coordinates) with n kept points, a share
//! s_c of them labelled c. Its odds are `label_strength · s_y · n/(n+1) · s_c`: few or disagreeing neighbours mean
//! more uncertainty, and classes that neighbours hold get their share. The point's own label stays its class.

use rayon::prelude::*;

use super::cubes::Cubes;

/// Rows of odds that points share: those of one label in one cube.
pub(super) struct LabelRows {
    pub(super) odds: Vec<f32>,
    /// The row of every point.
    pub(super) of_point: Vec<u32>,
    /// The cube of every row, and how many points share it.
    pub(super) cubes: Vec<(u32, u32)>,
}

/// The odds of labelled points.
pub(super) fn odds_from_labels(cubes: &Cubes, labels: &[u16], classes: usize, strength: f32) -> LabelRows {
    let counts = &cubes.counts;
    // A row for every label present in a cube.
    let mut present: Vec<u32> = Vec::new();
    let mut row_of = vec![0; counts.len()];
    for i in (0..counts.len()).filter(|i| counts[*i] > 0) {
        row_of[i] = present.len() as u32;
        present.push(i as u32);
    }
    let mut rows = vec![0.0; present.len() * classes];
    rows.par_chunks_mut(classes).zip(&present).with_min_len(1024).for_each(|(odds, i)| {
        let (cell, label) = (*i as usize / classes, *i as usize % classes);
        let counts = &counts[cell * classes..][..classes];
        let total = counts.iter().sum::<u32>() as f32;
        let own = counts[label] as f32 / total;
        let scale = strength * own / (total + 1.0);
        for (odds, count) in odds.iter_mut().zip(counts) {
            *odds = scale * *count as f32;
        }
        // A minority label keeps its class: the map decides between points, not the input.
        let most = odds.iter().copied().fold(0.0, f32::max);
        odds[label] = most * (1.0 + f32::EPSILON);
    });
    let of_point = |(cell, label): (&u32, &u16)| row_of[*cell as usize * classes + usize::from(*label)];
    LabelRows {
        odds: rows,
        of_point: cubes.numbers.of.par_iter().zip(labels).with_min_len(4096).map(of_point).collect(),
        cubes: present.iter().map(|i| (i / classes as u32, counts[*i as usize])).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_raises_evidence_and_isolation_lowers_it() {
        // Four agreeing points in one cube, one lonely point, and a cube split 3 : 1.
        let near = |x: f32| [x, 0.1, 0.1];
        let points: Vec<[f32; 3]> = [0.1, 0.1, 0.1, 0.1, 5.1, 9.1, 9.1, 9.1, 9.1].map(near).to_vec();
        let labels = [0, 0, 0, 0, 0, 1, 1, 1, 0];
        let cubes = Cubes::new(&points, &labels, 2, 0.4);
        let rows = odds_from_labels(&cubes, &labels, 2, 9.0);
        assert_eq!(rows.odds.len(), 2 * 4, "a row per cube and label");
        assert_eq!(rows.cubes.iter().map(|(_, points)| points).sum::<u32>(), 9);
        let odds: Vec<f32> =
            rows.of_point.iter().flat_map(|row| &rows.odds[2 * *row as usize..][..2]).copied().collect();
        let total = |i: usize| odds[2 * i] + odds[2 * i + 1];
        assert!((odds[0] - 9.0 * 0.8).abs() < 1e-5 && odds[1] == 0.0);
        assert!((odds[8] - 4.5).abs() < 1e-5);
        assert!(total(0) > total(5) && total(5) > total(8));
        assert!(odds[16] > odds[17], "the minority point keeps its class");
    }
}
