//! Metrics and queries against the plainest implementations one can write.

use std::collections::BTreeMap;

use e2bki_eval::{Answers, BINS, Calibration, Cells, Tally, common_miou};
use proptest::prelude::*;

/// IoU of a class by counting over lists.
fn naive_iou(pairs: &[(usize, Option<usize>)], class: usize) -> Option<f64> {
    let answered: Vec<(usize, usize)> = pairs.iter().filter_map(|(t, a)| Some((*t, (*a)?))).collect();
    if !pairs.iter().any(|(t, _)| *t == class) {
        return None;
    }
    let both = answered.iter().filter(|(t, a)| *t == class && *a == class).count();
    let either = answered.iter().filter(|(t, a)| *t == class || *a == class).count();
    (either > 0).then(|| 100.0 * both as f64 / either as f64)
}

fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-9,
        (a, b) => a == b,
    }
}

proptest! {
    #[test]
    fn tallies_match_counting_over_lists(
        pairs in prop::collection::vec((0_usize..5, prop::option::of(0_usize..5)), 0..200),
    ) {
        let mut tally = Tally::new(5);
        pairs.iter().for_each(|(truth, answer)| tally.add(*truth, *answer));
        let score = tally.score();
        let ious: Vec<Option<f64>> = (0..5).map(|c| naive_iou(&pairs, c)).collect();
        prop_assert!(score.iou.iter().zip(&ious).all(|(a, b)| close(*a, *b)));
        let present: Vec<f64> = ious.iter().flatten().copied().collect();
        let mean = (!present.is_empty()).then(|| present.iter().sum::<f64>() / present.len() as f64);
        prop_assert!(close(score.miou, mean));
        let right = pairs.iter().filter(|(t, a)| Some(*t) == *a).count() as f64;
        prop_assert!(close(score.acc, (!pairs.is_empty()).then(|| 100.0 * right / pairs.len() as f64)));
        // Answering everything makes the strict score the ordinary one.
        let mut full = Tally::new(5);
        pairs.iter().for_each(|(truth, answer)| full.add(*truth, Some(answer.unwrap_or(0))));
        prop_assert!(close(full.score().miou, full.score().strict_miou));
    }

    #[test]
    fn calibration_matches_sorting_into_bins(
        answers in prop::collection::vec((any::<bool>(), prop_oneof![0.0..=1.0_f64, Just(0.0), Just(1.0)]), 1..200),
    ) {
        let mut calibration = Calibration::default();
        answers.iter().for_each(|(right, sure)| calibration.add(*right, *sure));
        let n = answers.len() as f64;
        let hit = |right: bool| f64::from(u8::from(right));
        let brier = answers.iter().map(|(r, c)| (hit(*r) - c).powi(2)).sum::<f64>() / n;
        prop_assert!(close(calibration.brier(), Some(100.0 * brier)));
        let mut ece = 0.0;
        for b in 0..BINS {
            let inside = |c: f64| (c * BINS as f64).floor() as usize == b || (b == BINS - 1 && c == 1.0);
            let bin: Vec<&(bool, f64)> = answers.iter().filter(|(_, c)| inside(*c)).collect();
            if !bin.is_empty() {
                let size = bin.len() as f64;
                let accuracy = bin.iter().map(|(r, _)| hit(*r)).sum::<f64>() / size;
                let confidence = bin.iter().map(|(_, c)| c).sum::<f64>() / size;
                ece += size / n * (accuracy - confidence).abs();
            }
        }
        prop_assert!(close(calibration.ece(), Some(100.0 * ece)));
        prop_assert!((calibration.reliability().iter().map(|b| b.share).sum::<f64>() - 100.0).abs() < 1e-9);
    }

    #[test]
    fn cells_match_grouping_all_points(
        points in prop::collection::vec((prop::array::uniform3(-0.3..0.3_f64), 0_usize..3), 0..150),
    ) {
        let mut cells = Cells::<3>::default();
        let mut groups: BTreeMap<[i64; 3], Vec<([f64; 3], usize)>> = BTreeMap::new();
        for (place, class) in &points {
            cells.add(*place, *class, None);
            groups.entry(place.map(|v| (v / 0.05).floor() as i64)).or_default().push((*place, *class));
        }
        let agreeing: Vec<&Vec<([f64; 3], usize)>> =
            groups.values().filter(|group| group.iter().all(|(_, class)| *class == group[0].1)).collect();
        let queries = cells.into_queries();
        prop_assert_eq!(queries.len(), agreeing.len());
        for (i, group) in agreeing.iter().enumerate() {
            prop_assert_eq!(usize::from(queries.truths()[i]), group[0].1);
            for axis in 0..3 {
                let mean = group.iter().map(|(place, _)| place[axis]).sum::<f64>() / group.len() as f64;
                prop_assert!((queries.places()[i][axis] - mean).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn the_common_score_is_that_of_the_common_queries(
        rows in prop::collection::vec((0_u16..3, prop::option::of(0_u16..3), prop::option::of(0_u16..3)), 0..80),
    ) {
        let label = |answer: &Option<u16>| answer.unwrap_or(Answers::NONE);
        let truths: Vec<u16> = rows.iter().map(|row| row.0).collect();
        let methods = [Answers(rows.iter().map(|r| label(&r.1)).collect()), Answers(rows.iter().map(|r| label(&r.2)).collect())];
        let common = common_miou(3, &truths, &methods);
        let mut first = Tally::new(3);
        for (truth, a, _) in rows.iter().filter(|row| row.1.is_some() && row.2.is_some()) {
            first.add(usize::from(*truth), a.map(usize::from));
        }
        prop_assert!(close(common[0], first.score().miou));
    }
}
