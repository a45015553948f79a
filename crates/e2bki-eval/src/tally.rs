//! Right and wrong answers, and the scores that come of them.
//!
//! Queries the map has nothing for are wrong for Acc and left out of IoU (docs/method.md#unobserved-queries); the mean IoU runs over the classes
//! that occur in the truth (A25) and have an answer or a claim. `strict_miou` counts them as missed in IoU too, as some public evaluations do.

use serde::{Deserialize, Serialize};

/// Counts behind a score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Queries by true class.
    asked: Vec<u64>,
    /// Answered queries by true class.
    answered: Vec<u64>,
    /// Right answers by class.
    hits: Vec<u64>,
    /// Answers by the class they give.
    claims: Vec<u64>,
}

/// Scores in percent; nothing where there is nothing to score.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// IoU by class, over answered queries.
    pub iou: Vec<Option<f64>>,
    /// The same where unanswered queries count as missed.
    pub strict_iou: Vec<Option<f64>>,
    /// Mean IoU over the classes that occur.
    pub miou: Option<f64>,
    /// Mean IoU where unanswered queries count as missed.
    pub strict_miou: Option<f64>,
    /// Share of all queries that were answered rightly.
    pub acc: Option<f64>,
    /// Number of queries.
    pub queries: u64,
    /// Number of answered queries.
    pub occupied: u64,
}

impl Tally {
    /// Nothing asked yet.
    pub fn new(classes: usize) -> Self {
        let zero = vec![0; classes];
        Self { asked: zero.clone(), answered: zero.clone(), hits: zero.clone(), claims: zero }
    }

    /// One query: its true class and the answer. Queries whose truth is no class are not counted.
    pub fn add(&mut self, truth: usize, answer: Option<usize>) {
        if truth >= self.asked.len() {
            return;
        }
        self.asked[truth] += 1;
        if let Some(label) = answer.filter(|label| *label < self.claims.len()) {
            self.answered[truth] += 1;
            self.claims[label] += 1;
            self.hits[truth] += u64::from(label == truth);
        }
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.asked.len()
    }

    /// Adds the answers of another of as many classes.
    pub fn merge(&mut self, other: &Self) {
        let ours = [&mut self.asked, &mut self.answered, &mut self.hits, &mut self.claims];
        let theirs = [&other.asked, &other.answered, &other.hits, &other.claims];
        for (ours, theirs) in ours.into_iter().zip(theirs) {
            ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| *ours += theirs);
        }
    }

    /// The scores so far.
    pub fn score(&self) -> Score {
        let classes = 0..self.asked.len();
        let iou = |of: &[u64]| -> Vec<Option<f64>> {
            let union = |c: usize| of[c] + self.claims[c] - self.hits[c];
            let present = |c: &usize| self.asked[*c] > 0;
            classes.clone().map(|c| Some(c).filter(present).and_then(|c| percent_of(self.hits[c], union(c)))).collect()
        };
        let (queries, occupied) = (self.asked.iter().sum(), self.answered.iter().sum());
        let (answered, strict) = (iou(&self.answered), iou(&self.asked));
        Score {
            miou: mean(&answered),
            strict_miou: mean(&strict),
            iou: answered,
            strict_iou: strict,
            acc: percent_of(self.hits.iter().sum(), queries),
            queries,
            occupied,
        }
    }
}

fn percent_of(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

fn mean(values: &[Option<f64>]) -> Option<f64> {
    let present: Vec<f64> = values.iter().flatten().copied().collect();
    (!present.is_empty()).then(|| present.iter().sum::<f64>() / present.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_count_in_accuracy_and_not_in_iou() {
        // Four of class 0 (two right, one called 1, one missed), two of class 1 (both right); class 2 never occurs.
        let mut tally = Tally::new(3);
        for answer in [Some(0), Some(0), Some(1), None] {
            tally.add(0, answer);
        }
        tally.add(1, Some(1));
        tally.add(1, Some(1));
        tally.add(7, Some(0)); // no such class: nothing to be right about
        let score = tally.score();
        let (mut first, mut second) = (Tally::new(3), Tally::new(3));
        [Some(0), Some(0), Some(1)].into_iter().for_each(|answer| first.add(0, answer));
        second.add(0, None);
        [Some(1), Some(1)].into_iter().for_each(|answer| second.add(1, answer));
        first.merge(&second);
        assert_eq!(first, tally, "halves add up");
        let close = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-9;
        assert!(close(score.iou[0], 200.0 / 3.0) && close(score.iou[1], 200.0 / 3.0) && score.iou[2].is_none());
        assert!(close(score.miou, 200.0 / 3.0) && close(score.acc, 400.0 / 6.0));
        // With the miss as missed, class 0 has 2 of 4.
        assert!(close(score.strict_iou[0], 50.0) && close(score.strict_iou[1], 200.0 / 3.0));
        assert!(close(score.strict_miou, (50.0 + 200.0 / 3.0) / 2.0));
        assert_eq!((score.queries, score.occupied), (6, 5));
    }

    #[test]
    fn a_class_that_is_claimed_but_never_found_scores_zero() {
        let mut tally = Tally::new(3);
        tally.add(0, Some(1)); // claimed to be 1
        tally.add(1, None); // where 1 is, nothing is known
        tally.add(2, None); // 2 is neither claimed nor answered
        assert_eq!(tally.score().iou, [Some(0.0), Some(0.0), None]);
    }

    #[test]
    fn nothing_asked_and_nothing_answered_have_no_scores() {
        let nothing = Tally::new(2).score();
        assert!(nothing.miou.is_none() && nothing.acc.is_none() && nothing.iou == [None, None]);
        let mut tally = Tally::new(2);
        tally.add(0, None);
        let missed = tally.score();
        assert_eq!((missed.miou, missed.strict_miou, missed.acc), (None, Some(0.0), Some(0.0)));
    }
}
