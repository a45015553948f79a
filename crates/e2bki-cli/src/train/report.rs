//! Results of training: a table, curves, example predictions.

use std::path::Path;

use anyhow::Result;
use e2bki_eval::percent;
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_segment::evidence_opinion;
use e2bki_segment::infer::Segmenter;
use e2bki_segment::network::Weights;
use e2bki_segment::train::{Calibrated, Epoch, Sample, Samples, Scores, Trainer};
use e2bki_store::heat;
use e2bki_view::{Legend, Report};
use image::imageops;
use image::{Rgb, RgbImage};
use serde_json::{Value, json};

use super::data::Data;
use crate::{report, table};

/// Example predictions shown.
const EXAMPLES: usize = 4;

/// Everything that was found.
pub(super) struct Found<'a> {
    pub(super) trainer: &'a Trainer,
    pub(super) data: &'a Data,
    /// The network as it was stored.
    pub(super) stored: &'a Weights,
    pub(super) calibrated: Option<Calibrated>,
    pub(super) test: Option<Scores>,
}

impl Found<'_> {
    /// Scores in columns.
    fn rows(&self) -> Vec<Vec<String>> {
        let mut columns: Vec<(&str, &Scores)> = Vec::new();
        match &self.calibrated {
            Some(calibrated) => {
                columns.push(("validation", &calibrated.before));
                columns.push(("calibrated", &calibrated.after));
            }
            None => columns.extend(self.trainer.history().last().map(|epoch| ("validation", &epoch.scores))),
        }
        columns.extend(self.test.as_ref().map(|scores| ("test", scores)));
        let mut rows = vec![["%".to_string()].into_iter().chain(columns.iter().map(|c| c.0.to_string())).collect()];
        let mut row = |name: &str, value: &dyn Fn(&Scores) -> String| {
            rows.push([name.to_string()].into_iter().chain(columns.iter().map(|c| value(c.1))).collect::<Vec<_>>());
        };
        row("mIoU", &|s| percent(s.miou));
        row("Acc", &|s| percent(s.accuracy));
        row("ECE of 1 − u (low is good)", &|s| percent(s.ece));
        row("ECE of p (low is good)", &|s| percent(s.ece_probability));
        row("mean u, labelled", &|s| percent(s.uncertainty));
        row("mean u, void and sky", &|s| percent(s.uncertainty_of_void));
        for (c, name) in self.data.classes.iter().enumerate() {
            row(&format!("IoU {name}"), &|s| percent(s.iou.get(c).copied().flatten()));
        }
        rows
    }

    pub(super) fn print(&self) -> Result<()> {
        table::print(&self.rows())?;
        if let Some(c) = &self.calibrated {
            table::line(&format!("calibration: temperature {}, evidence × {}", c.temperature, c.evidence_scale))?;
        }
        Ok(())
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "options": self.trainer.options(),
            "images": { "train": self.data.train.len(), "validation": self.data.validation.len(), "test": self.data.test.len() },
            "classes": self.data.classes,
            "parameters": self.stored.len(),
            "epochs": self.trainer.history(),
            "calibration": self.calibrated.as_ref().map(|c| json!({
                "temperature": c.temperature, "evidence_scale": c.evidence_scale, "before": c.before, "after": c.after,
            })),
            "test": self.test,
        })
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let about = format!(
            "{} training images, {} validation images; {} parameters",
            self.data.train.len(),
            self.data.validation.len(),
            self.stored.len()
        );
        let mut page = Report::new("e2bki train: an evidential network", &about);
        page.section("Scores");
        page.table(&self.rows());
        page.section("Curves");
        page.drawing(&curves(self.trainer.history()).svg()?);
        page.section("Predictions");
        page.text("Image, ground truth, prediction, uncertainty (dark: certain, bright: uncertain).");
        let names = self.data.classes.iter().cloned().zip(self.data.colors.iter().copied()).collect();
        let picture = self.examples()?;
        page.picture("Held-out images", &picture, Some(&Legend::Classes(names)), None)?;
        page.code("Settings", &serde_json::to_string_pretty(self.trainer.options())?, false);
        report::again(&mut page, None);
        report::write(&page, path)
    }

    fn examples(&self) -> Result<RgbImage> {
        let segmenter = Segmenter::from_weights(self.stored.clone(), "network")?;
        let shown: &Samples = if self.data.test.is_empty() { &self.data.validation } else { &self.data.test };
        let all: Vec<&Sample> = shown.iter().collect();
        let chosen: Vec<&Sample> =
            (0..EXAMPLES.min(all.len())).map(|i| all[i * all.len() / EXAMPLES.min(all.len())]).collect();
        let [width, height] = self.trainer.options().size.map(|side| side as u32);
        let gap = 4;
        let mut picture =
            RgbImage::from_pixel(4 * (width + gap), chosen.len().max(1) as u32 * (height + gap), Rgb([255; 3]));
        for (row, sample) in chosen.iter().enumerate() {
            let output = segmenter.segment(sample.image())?;
            let found = output.argmax([width as usize, height as usize]);
            let color = |class: Option<usize>| class.and_then(|c| self.data.colors.get(c)).copied().unwrap_or([0; 3]);
            let mut p = vec![0.0; output.grid.channels];
            let mut tile = |column: u32, value: &mut dyn FnMut(usize, u32, u32) -> [u8; 3]| {
                let tile = RgbImage::from_fn(width, height, |x, y| Rgb(value((y * width + x) as usize, x, y)));
                let (left, top) = (i64::from(column * (width + gap)), row as i64 * i64::from(height + gap));
                imageops::overlay(&mut picture, &tile, left, top);
            };
            tile(0, &mut |_, x, y| sample.image().get_pixel(x, y).0);
            tile(1, &mut |at, _, _| color(sample.class(at)));
            tile(2, &mut |at, _, _| color(Some(usize::from(found[at]))));
            tile(3, &mut |_, x, y| heat(f64::from(evidence_opinion(output.grid.cell(x as usize, y as usize), &mut p))));
        }
        Ok(picture)
    }
}

fn curves(history: &[Epoch]) -> Figure {
    let line = |name: &str, value: &dyn Fn(&Epoch) -> Option<f64>| Series {
        name: name.into(),
        points: history.iter().map(|e| (e.number as f64, value(e).unwrap_or(f64::NAN))).collect(),
    };
    let panel = |title: &str, unit: &str, series: Vec<Series>| Panel::lines(title, "epoch", unit, Vec::new(), series);
    Figure::new(
        "",
        2,
        vec![
            panel("Loss", "", vec![line("data term", &|e| Some(e.data)), line("with divergence", &|e| Some(e.loss()))]),
            panel("Held back", "%", vec![line("mIoU", &|e| e.scores.miou), line("Acc", &|e| e.scores.accuracy)]),
            panel(
                "Calibration error",
                "%",
                vec![line("of 1 − u", &|e| e.scores.ece), line("of p", &|e| e.scores.ece_probability)],
            ),
            panel(
                "Uncertainty",
                "%",
                vec![
                    line("labelled", &|e| e.scores.uncertainty),
                    line("void and sky", &|e| e.scores.uncertainty_of_void),
                ],
            ),
        ],
    )
}
