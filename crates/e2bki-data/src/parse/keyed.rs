//! Calibration text: lines of `KEY: numbers`, or numbers alone.

use super::Parsed;
use crate::error::Flaw;

/// Lines of `KEY: values`.
#[derive(Debug, Clone, Default)]
pub struct Keyed {
    lines: Vec<(usize, String, String)>,
}

impl Keyed {
    /// Splits text in keys and values; lines without a colon are passed over.
    pub fn parse(text: &str) -> Self {
        let split = |(i, line): (usize, &str)| {
            let (key, value) = line.split_once(':')?;
            Some((i + 1, key.trim().to_string(), value.trim().to_string()))
        };
        Self { lines: text.lines().enumerate().filter_map(split).collect() }
    }

    /// The numbers of a key.
    pub fn numbers<const N: usize>(&self, key: &str) -> Parsed<[f64; N]> {
        let Some((line, _, value)) = self.lines.iter().find(|(_, k, _)| k == key) else {
            let known: Vec<&str> = self.lines.iter().map(|(_, k, _)| k.as_str()).collect();
            let known = if known.is_empty() { "no keys at all".to_string() } else { known.join(", ") };
            return Err(Flaw::new(format!("no line `{key}:`; found {known}")));
        };
        exactly(value).map_err(|what| Flaw::at_line(*line, format!("`{key}`: {what}")))
    }

    /// Whether there is such a key.
    pub fn has(&self, key: &str) -> bool {
        self.lines.iter().any(|(_, k, _)| k == key)
    }
}

/// A text of exactly N numbers.
pub fn numbers<const N: usize>(text: &str) -> Parsed<[f64; N]> {
    exactly(text).map_err(Flaw::new)
}

fn exactly<const N: usize>(text: &str) -> std::result::Result<[f64; N], String> {
    let row = row(text)?;
    row[..].try_into().map_err(|_| format!("{N} numbers expected, {} found", row.len()))
}

/// All numbers of a line; they must be finite.
pub(super) fn row(line: &str) -> std::result::Result<Vec<f64>, String> {
    let number = |token: &str| match token.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(format!("`{token}` is not finite")),
        Err(_) => Err(format!("`{token}` is not a number")),
    };
    line.split_whitespace().map(number).collect()
}
