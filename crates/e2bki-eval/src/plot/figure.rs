//! A figure: panels in a grid under a title, with one legend.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use image::RgbImage;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Panel;
use super::draw::{self, FONT, Outcome};
use crate::error::{Error, Result};

/// Colours that can be told apart, also by most who see few.
const COLORS: [RGBColor; 12] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(213, 94, 0),
    RGBColor(86, 180, 233),
    RGBColor(120, 94, 60),
    RGBColor(90, 90, 96),
    RGBColor(220, 200, 50),
    RGBColor(130, 60, 150),
    RGBColor(110, 190, 60),
    RGBColor(190, 30, 60),
];
const TITLE_PX: u32 = 36;
const LEGEND_ROW_PX: u32 = 22;

/// Panels with a title.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Title of the whole.
    pub title: String,
    /// Panels side by side before a new row begins.
    pub columns: usize,
    /// Width and height of a panel in pixels.
    pub panel_px: (u32, u32),
    /// The panels, row by row.
    pub panels: Vec<Panel>,
}

impl Figure {
    /// A figure with panels of the usual size.
    pub fn new(title: impl Into<String>, columns: usize, panels: Vec<Panel>) -> Self {
        Self { title: title.into(), columns: columns.max(1), panel_px: (460, 340), panels }
    }

    /// Writes `stem.png` and `stem.svg`; returns both paths.
    pub fn save(&self, stem: &Path) -> Result<[PathBuf; 2]> {
        let (png, svg) = (stem.with_extension("png"), stem.with_extension("svg"));
        let failed = |path: &Path, why: String| Error::Write { path: path.into(), why };
        self.png()?.save(&png).map_err(|e| failed(&png, e.to_string()))?;
        std::fs::write(&svg, self.svg()?).map_err(|e| failed(&svg, e.to_string()))?;
        Ok([png, svg])
    }

    /// The figure as pixels.
    pub fn png(&self) -> Result<RgbImage> {
        let (width, height) = self.size();
        let mut pixels = vec![255; width as usize * height as usize * 3];
        let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
        self.draw_on(area)?;
        RgbImage::from_raw(width, height, pixels).ok_or_else(|| self.failed("the picture has the wrong size"))
    }

    /// The figure as a drawing.
    pub fn svg(&self) -> Result<String> {
        let mut text = String::new();
        self.draw_on(SVGBackend::with_string(&mut text, self.size()).into_drawing_area())?;
        Ok(text)
    }

    fn draw_on<B: DrawingBackend>(&self, area: DrawingArea<B, Shift>) -> Result<()> {
        if !font_ready() {
            return Err(self.failed("the font cannot be read"));
        }
        self.draw(&area).and_then(|()| area.present()).map_err(|e| self.failed(&e.to_string()))
    }

    fn failed(&self, why: &str) -> Error {
        Error::Figure { title: self.title.clone(), why: why.into() }
    }

    /// Names of all series, each once, in the order they appear.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.panels.iter().flat_map(|panel| panel.series.iter().map(|s| s.name.as_str())) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Legend entries row by row, with the left end of each.
    fn legend(&self) -> Vec<Vec<(u32, &str)>> {
        let room = self.panel_px.0 * self.used_columns();
        let (mut rows, mut left) = (vec![Vec::new()], 12);
        let names = self.names();
        // A single series needs no legend: the titles say what it is.
        for name in names.iter().filter(|_| names.len() > 1) {
            let width = 34 + 8 * name.chars().count() as u32;
            if left + width > room && left > 12 {
                rows.push(Vec::new());
                left = 12;
            }
            if let Some(row) = rows.last_mut() {
                row.push((left, *name));
            }
            left += width;
        }
        rows.retain(|row| !row.is_empty());
        rows
    }

    fn used_columns(&self) -> u32 {
        self.columns.min(self.panels.len().max(1)) as u32
    }

    fn size(&self) -> (u32, u32) {
        let rows = self.panels.len().max(1).div_ceil(self.columns) as u32;
        let legend = LEGEND_ROW_PX * self.legend().len() as u32 + 8;
        (self.panel_px.0 * self.used_columns(), TITLE_PX + self.panel_px.1 * rows + legend)
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Outcome<B> {
        area.fill(&WHITE)?;
        let (width, height) = self.size();
        let legend = self.legend();
        let middle = draw::text(19).pos(Pos::new(HPos::Center, VPos::Top));
        area.draw(&Text::new(self.title.clone(), (width as i32 / 2, 10), middle))?;
        let names = self.names();
        let color = |name: &str| {
            let number = names.iter().position(|other| *other == name).unwrap_or(0);
            COLORS[number % COLORS.len()]
        };
        for (i, panel) in self.panels.iter().enumerate() {
            let (column, row) = ((i % self.columns) as u32, (i / self.columns) as u32);
            let (left, top) = (column * self.panel_px.0, TITLE_PX + row * self.panel_px.1);
            let cell = area.clone().shrink((left, top), self.panel_px);
            draw::panel(&cell, panel, &color)?;
        }
        let top = height - LEGEND_ROW_PX * legend.len() as u32 - 6;
        for (number, row) in legend.iter().enumerate() {
            let y = (top + LEGEND_ROW_PX * number as u32 + LEGEND_ROW_PX / 2) as i32;
            for (left, name) in row {
                let x = *left as i32;
                area.draw(&Rectangle::new([(x, y - 5), (x + 16, y + 5)], color(name).filled()))?;
                let style = draw::text(14).pos(Pos::new(HPos::Left, VPos::Center));
                area.draw(&Text::new(name.to_string(), (x + 22, y), style))?;
            }
        }
        Ok(())
    }
}

/// Makes the font known, once.
fn font_ready() -> bool {
    static READY: OnceLock<bool> = OnceLock::new();
    let register = || plotters::style::register_font(FONT, FontStyle::Normal, dejavu::sans::regular()).is_ok();
    *READY.get_or_init(register)
}

/// A line of text in the middle of a white strip of that width and height, for pictures that are put together by hand.
pub fn caption(text: &str, width: u32, height: u32) -> Result<RgbImage> {
    let failed = |why: String| Error::Figure { title: text.into(), why };
    if !font_ready() {
        return Err(failed("the font cannot be read".into()));
    }
    let mut pixels = vec![255; width as usize * height as usize * 3];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
        let style = draw::text(16).pos(Pos::new(HPos::Center, VPos::Center));
        let place = (width as i32 / 2, height as i32 / 2);
        area.draw(&Text::new(text.to_string(), place, style)).map_err(|e| failed(e.to_string()))?;
        area.present().map_err(|e| failed(e.to_string()))?;
    }
    RgbImage::from_raw(width, height, pixels).ok_or_else(|| failed("the picture has the wrong size".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Series;

    #[test]
    fn a_figure_is_drawn_with_text_and_every_series() {
        let ticks = ["20 %", "10 %", "4 %"].map(String::from).to_vec();
        let series = vec![
            Series::at_ticks("S-BKI", [Some(80.0), Some(70.0), None]),
            Series::at_ticks("E2-BKI", [Some(85.0), Some(80.0), Some(72.0)]),
        ];
        let panels = vec![
            Panel::lines("Acc", "availability", "%", ticks.clone(), series.clone()),
            Panel::bars("Acc", "%", ticks, series),
        ];
        let figure = Figure::new("Sparsity", 2, panels);
        let picture = figure.png().unwrap();
        let count = |c: RGBColor| picture.pixels().filter(|p| p.0 == [c.0, c.1, c.2]).count();
        assert!(count(COLORS[0]) > 500 && count(COLORS[1]) > 500);
        // Text is dark; without a font there would be axes only.
        let title = picture.rows().take(34).flatten().filter(|p| p.0[0] < 120).count();
        assert!(title > 100, "{title}");
        let svg = figure.svg().unwrap();
        assert!(svg.contains("E2-BKI") && svg.contains("availability") && svg.contains("Sparsity"));
        assert_eq!(figure.png().unwrap(), picture);
    }

    #[test]
    fn nothing_to_draw_is_a_picture_all_the_same() {
        assert!(Figure::new("nothing", 2, Vec::new()).png().is_ok());
        let empty = Panel::lines("no values", "x", "y", Vec::new(), Vec::new());
        assert!(Figure::new("", 1, vec![empty]).svg().is_ok());
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("no").join("such");
        assert!(Figure::new("f", 1, Vec::new()).save(&missing).unwrap_err().to_string().contains("such"));
    }
}
