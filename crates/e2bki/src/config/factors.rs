//! A number for every class.

use std::fmt;

/// A factor for every class, in the order of the classes; empty: 1 for all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClassFactors(Vec<f32>);

impl ClassFactors {
    /// A class is never erased, and none outweighs all others.
    const RANGE: std::ops::RangeInclusive<f32> = 0.05..=20.0;

    /// A factor for every class.
    pub fn new(factors: Vec<f32>) -> Self {
        Self(factors)
    }

    /// The factors; none where all are 1.
    pub fn of_classes(&self) -> &[f32] {
        &self.0
    }

    /// The factor of a class.
    pub fn of(&self, class: usize) -> f32 {
        self.0.get(class).copied().unwrap_or(1.0)
    }

    /// The largest factor of any class.
    pub(super) fn largest(&self) -> f32 {
        self.0.iter().copied().reduce(f32::max).unwrap_or(1.0)
    }

    pub(super) fn is_proper(&self) -> bool {
        self.0.iter().all(|factor| Self::RANGE.contains(factor))
    }

    pub(super) fn of_toml(values: &[toml::Value]) -> Option<Self> {
        let number = |value: &toml::Value| match value {
            toml::Value::Float(v) => Some(*v as f32),
            toml::Value::Integer(v) => Some(*v as f32),
            _ => None,
        };
        values.iter().map(number).collect::<Option<Vec<_>>>().map(Self)
    }
}

impl fmt::Display for ClassFactors {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.0)
    }
}
