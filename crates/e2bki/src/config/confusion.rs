//! What a source means by the classes that it says.

use std::fmt;

/// For every class that a source says, the shares of its evidence that go to each class; empty: it means what it says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Confusion(Vec<Vec<f32>>);

impl Confusion {
    /// Rows by the class that is said, shares by the class that is meant.
    pub fn new(rows: Vec<Vec<f32>>) -> Self {
        Self(rows)
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<f32>] {
        &self.0
    }

    /// Whether it is empty, or square with shares from 0 to 1 that add up to 1 in every row.
    pub(super) fn is_proper(&self) -> bool {
        self.0.iter().all(|row| {
            row.len() == self.0.len()
                && row.iter().all(|share| (0.0..=1.0).contains(share))
                && (row.iter().sum::<f32>() - 1.0).abs() < 1e-3
        })
    }

    pub(super) fn of_toml(rows: &[toml::Value]) -> Option<Self> {
        let number = |value: &toml::Value| match value {
            toml::Value::Float(v) => Some(*v as f32),
            toml::Value::Integer(v) => Some(*v as f32),
            _ => None,
        };
        let row = |row: &toml::Value| row.as_array()?.iter().map(number).collect::<Option<Vec<f32>>>();
        rows.iter().map(row).collect::<Option<Vec<_>>>().map(Self)
    }
}

impl fmt::Display for Confusion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |row: &Vec<f32>| format!("{row:?}");
        write!(out, "[{}]", self.0.iter().map(row).collect::<Vec<_>>().join(", "))
    }
}
