//! Channels of a network's output become classes: several channels may mean one class, some mean none.

use e2bki::{LogitKind, maths};

use super::frame::OwnedSemantics;
use super::options::ValueKind;
use crate::classes::{Remap, VOID};

/// Rows of channel values, one by one, as semantics of the classes.
pub(super) struct Fold {
    kind: ValueKind,
    /// Class of each channel; nothing where channels are the classes.
    classes: Option<Vec<u32>>,
    class_count: usize,
    scratch: Vec<f32>,
    values: Vec<f32>,
}

impl Fold {
    pub(super) fn new(kind: ValueKind, channels: usize, remap: &Remap, class_count: usize, points: usize) -> Self {
        let classes: Vec<u32> = (0..channels as u32).map(|k| remap.class(k)).collect();
        let identity = channels == class_count && classes.iter().enumerate().all(|(k, c)| *c == k as u32);
        Self {
            kind,
            classes: (!identity).then_some(classes),
            class_count,
            scratch: vec![0.0; channels],
            values: Vec::with_capacity(points * class_count),
        }
    }

    /// Takes a point's row; false if its strongest channel is none of the classes, and then nothing is kept of it.
    pub(super) fn push(&mut self, row: &[f32]) -> bool {
        let Some(classes) = &self.classes else {
            self.values.extend_from_slice(row);
            return true;
        };
        // A row that is not finite is passed on as such: the mapper drops it and counts it.
        if row.iter().any(|v| !v.is_finite()) {
            self.values.resize(self.values.len() + self.class_count, f32::NAN);
            return true;
        }
        let strongest = maths::argmax(row);
        if classes[strongest] as usize >= self.class_count {
            return false;
        }
        let most = row[strongest];
        for (out, value) in self.scratch.iter_mut().zip(row) {
            *out = match self.kind {
                ValueKind::Logits => maths::exp(f64::from(value - most)) as f32,
                ValueKind::LogEvidence => maths::exp(f64::from(value.clamp(-10.0, 10.0))) as f32,
                ValueKind::Evidence | ValueKind::Probabilities => value.max(0.0),
                ValueKind::Dirichlet => (value - 1.0).max(0.0),
            };
        }
        let start = self.values.len();
        self.values.resize(start + self.class_count, 0.0);
        let sums = &mut self.values[start..];
        for (class, value) in classes.iter().zip(&self.scratch) {
            if *class != VOID
                && let Some(sum) = sums.get_mut(*class as usize)
            {
                *sum += value;
            }
        }
        // Probabilities are those given that the point is one of the classes.
        if matches!(self.kind, ValueKind::Logits | ValueKind::Probabilities) {
            let all: f32 = sums.iter().sum();
            if all > 0.0 {
                sums.iter_mut().for_each(|v| *v /= all);
            }
        }
        true
    }

    pub(super) fn finish(self) -> OwnedSemantics {
        let folded = self.classes.is_some();
        match self.kind {
            ValueKind::Logits if !folded => OwnedSemantics::Logits(self.values, LogitKind::Softmax),
            ValueKind::LogEvidence if !folded => OwnedSemantics::Logits(self.values, LogitKind::ExpEvidence),
            ValueKind::Logits | ValueKind::Probabilities => OwnedSemantics::Probabilities(self.values),
            ValueKind::Dirichlet if !folded => {
                OwnedSemantics::Evidence(self.values.into_iter().map(|v| v - 1.0).collect())
            }
            ValueKind::LogEvidence | ValueKind::Evidence | ValueKind::Dirichlet => {
                OwnedSemantics::Evidence(self.values)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClassTable;

    fn table() -> ClassTable {
        let text = "name = \"t\"\n[[class]]\nname = \"a\"\nnet = [0, 2]\n[[class]]\nname = \"b\"\nnet = [1]\n";
        ClassTable::from_toml(text, "t").unwrap()
    }

    #[test]
    fn channels_of_one_class_add_up_and_void_ones_drop_the_point() {
        let remap = table().remap("net").unwrap();
        let mut fold = Fold::new(ValueKind::Logits, 4, &remap, 2, 3);
        let ln = |p: f64| p.ln() as f32;
        assert!(fold.push(&[ln(0.3), ln(0.25), ln(0.25), ln(0.2)]));
        assert!(!fold.push(&[0.0, 0.0, 0.0, 1.0]));
        assert!(fold.push(&[f32::NAN, 0.0, 0.0, 0.0]));
        let OwnedSemantics::Probabilities(p) = fold.finish() else { panic!() };
        assert!((p[0] - 0.55 / 0.8).abs() < 1e-6 && (p[1] - 0.25 / 0.8).abs() < 1e-6, "{p:?}");
        assert!(p[2].is_nan() && p.len() == 4);
        let mut fold = Fold::new(ValueKind::Dirichlet, 4, &remap, 2, 1);
        assert!(fold.push(&[3.0, 4.0, 2.0, 1.0]));
        assert_eq!(fold.finish(), OwnedSemantics::Evidence(vec![3.0, 3.0]));
    }

    #[test]
    fn channels_that_are_the_classes_pass_through() {
        let remap = table().remap("classes").unwrap();
        let mut fold = Fold::new(ValueKind::LogEvidence, 2, &remap, 2, 1);
        assert!(fold.push(&[1.5, -2.0]));
        assert_eq!(fold.finish(), OwnedSemantics::Logits(vec![1.5, -2.0], LogitKind::ExpEvidence));
    }
}
