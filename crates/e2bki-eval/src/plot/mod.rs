//! Figures of one or more panels with a common legend, as PNG and SVG. The font is part of the program.

mod axes;
mod draw;
mod figure;

pub use figure::{Figure, caption};

use crate::calibration::ReliabilityBin;

/// A named row of values.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend; the same name has the same colour in every panel.
    pub name: String,
    /// Horizontal and vertical values; what is not finite leaves a gap.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// Values at the positions 0, 1, 2, … of named ticks.
    pub fn at_ticks(name: impl Into<String>, values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let points = values.into_iter().enumerate().map(|(i, v)| (i as f64, v.unwrap_or(f64::NAN))).collect();
        Self { name: name.into(), points }
    }
}

/// How a panel shows its series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Points joined by lines.
    Lines,
    /// Bars side by side at every tick.
    Bars,
    /// Lines over a dashed diagonal, both axes from 0 to 100.
    Reliability,
}

/// One diagram of a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Heading.
    pub title: String,
    /// Name of the horizontal axis.
    pub x_label: String,
    /// Name of the vertical axis.
    pub y_label: String,
    /// How the series are shown.
    pub kind: Kind,
    /// Names at the horizontal positions 0, 1, 2, …; empty for an axis of numbers.
    pub ticks: Vec<String>,
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
    /// The series.
    pub series: Vec<Series>,
}

impl Panel {
    /// A panel of lines over named ticks.
    pub fn lines(title: &str, x_label: &str, y_label: &str, ticks: Vec<String>, series: Vec<Series>) -> Self {
        let text = |s: &str| s.to_string();
        let (title, x_label, y_label) = (text(title), text(x_label), text(y_label));
        Self { title, x_label, y_label, kind: Kind::Lines, ticks, log_y: false, series }
    }

    /// A panel of bars over named ticks.
    pub fn bars(title: &str, y_label: &str, ticks: Vec<String>, series: Vec<Series>) -> Self {
        Self { kind: Kind::Bars, ..Self::lines(title, "", y_label, ticks, series) }
    }

    /// A reliability diagram: accuracy over confidence of each method.
    pub fn reliability<'a>(title: &str, methods: impl IntoIterator<Item = (String, &'a [ReliabilityBin])>) -> Self {
        let series = methods.into_iter().map(|(name, bins)| Series {
            name,
            points: bins.iter().map(|bin| (bin.confidence, bin.accuracy)).collect(),
        });
        let (x, y) = ("confidence [%]", "right [%]");
        Self { kind: Kind::Reliability, ..Self::lines(title, x, y, Vec::new(), series.collect()) }
    }

    /// The same with a logarithmic vertical axis.
    pub fn with_log_y(self) -> Self {
        Self { log_y: true, ..self }
    }
}
