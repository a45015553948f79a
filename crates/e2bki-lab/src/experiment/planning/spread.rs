//! Means over drives, with their errors.

use e2bki_eval::decimals;

/// Mean and 1.96 standard errors over drives.
pub(super) fn spread(values: impl Iterator<Item = Option<f64>>) -> Option<(f64, f64)> {
    let known: Vec<f64> = values.flatten().collect();
    let n = known.len() as f64;
    let mean = known.iter().sum::<f64>() / n;
    let variance = known.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (n > 0.0).then(|| (mean, 1.96 * (variance / n).sqrt()))
}

/// The mean alone; not a number without values.
pub(super) fn mean(values: impl Iterator<Item = Option<f64>>) -> f64 {
    spread(values).map_or(f64::NAN, |(mean, _)| mean)
}

pub(super) fn shown(value: Option<(f64, f64)>, digits: usize) -> String {
    match value {
        Some((mean, error)) => format!("{mean:.digits$} ± {error:.digits$}"),
        None => decimals(None, digits),
    }
}

/// Percent.
pub(super) fn share(part: usize, all: usize) -> Option<f64> {
    (all > 0).then(|| 100.0 * part as f64 / all as f64)
}
