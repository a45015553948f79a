//! Where axes begin and end, and what their ticks say.

use super::{Kind, Panel};

/// A range of numbers on an axis; for a logarithmic axis, of their logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Span {
    /// The smallest span around finite values, or 0 to 1.
    fn around(values: impl Iterator<Item = f64>) -> Self {
        let nothing = Self { low: f64::INFINITY, high: f64::NEG_INFINITY };
        let span = values
            .filter(|v| v.is_finite())
            .fold(nothing, |span, v| Self { low: span.low.min(v), high: span.high.max(v) });
        if span.low <= span.high { span } else { Self { low: 0.0, high: 1.0 } }
    }

    /// With a share of its width added at both ends; never of no width.
    fn padded(self, share: f64) -> Self {
        let width = self.high - self.low;
        let pad = if width > 0.0 { width * share } else { (self.low.abs() * 0.1).max(0.5) };
        Self { low: self.low - pad, high: self.high + pad }
    }
}

impl Panel {
    /// A vertical value as the axis places it; nothing where it has no place.
    pub(super) fn place_y(&self, y: f64) -> Option<f64> {
        let y = if self.log_y { y.log10() } else { y };
        y.is_finite().then_some(y)
    }

    pub(super) fn x_span(&self) -> Span {
        if self.kind == Kind::Reliability {
            return Span { low: 0.0, high: 100.0 };
        }
        if !self.ticks.is_empty() {
            let margin = if self.kind == Kind::Bars { 0.5 } else { 0.25 };
            return Span { low: -margin, high: self.ticks.len() as f64 - 1.0 + margin };
        }
        Span::around(self.series.iter().flat_map(|s| s.points.iter().map(|(x, _)| *x))).padded(0.02)
    }

    pub(super) fn y_span(&self) -> Span {
        if self.kind == Kind::Reliability {
            return Span { low: 0.0, high: 100.0 };
        }
        let values = self.series.iter().flat_map(|s| s.points.iter().filter_map(|(_, y)| self.place_y(*y)));
        let span = Span::around(values);
        match self.kind {
            // Bars stand on zero, or their lengths would lie.
            Kind::Bars if !self.log_y => Span { low: span.low.min(0.0), high: span.high.max(1e-9) * 1.08 },
            _ => {
                let padded = span.padded(0.08);
                // Nothing that cannot be negative gets a negative axis.
                if span.low >= 0.0 && !self.log_y { Span { low: padded.low.max(0.0), ..padded } } else { padded }
            }
        }
    }

    /// Text of a vertical tick.
    pub(super) fn y_text(&self, y: f64) -> String {
        number(if self.log_y { 10.0_f64.powf(y) } else { y })
    }
}

/// A number in as few digits as it needs.
pub(super) fn number(v: f64) -> String {
    let size = v.abs();
    let text = match size {
        _ if size == 0.0 => "0".into(),
        _ if size >= 100.0 => format!("{v:.0}"),
        _ if size >= 10.0 => format!("{v:.1}"),
        _ if size >= 1.0 => format!("{v:.2}"),
        _ if size >= 0.01 => format!("{v:.3}"),
        _ => format!("{v:.1e}"),
    };
    if text.contains('.') && !text.contains('e') {
        return text.trim_end_matches('0').trim_end_matches('.').into();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Series;

    #[test]
    fn axes_hold_all_values_and_have_width() {
        let series = |values: &[f64]| vec![Series::at_ticks("a", values.iter().map(|v| Some(*v)))];
        let ticks = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
        let flat = Panel::lines("", "", "", ticks(3), series(&[5.0, 5.0, f64::NAN]));
        assert!(flat.y_span().low < 5.0 && flat.y_span().high > 5.0);
        let empty = Panel::lines("", "", "", Vec::new(), Vec::new());
        assert!(empty.x_span().low < empty.x_span().high && empty.y_span().low < empty.y_span().high);
        let bars = Panel::bars("", "", ticks(2), series(&[70.0, 80.0]));
        assert_eq!(bars.y_span().low, 0.0);
        let times = Panel::lines("", "", "", ticks(2), series(&[0.0, 100.0])).with_log_y();
        assert_eq!(times.place_y(0.0), None);
        assert!(times.y_span().low < 2.0 && times.y_span().high > 2.0);
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 50.0, 47.5, 0.25, 1234.4, 0.0002].map(number);
        assert_eq!(texts, ["0", "50", "47.5", "0.25", "1234", "2.0e-4"]);
    }
}
