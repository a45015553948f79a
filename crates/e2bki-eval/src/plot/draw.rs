//! A panel on any surface.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axes::number;
use super::{Kind, Panel};

pub(super) const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(40, 40, 44);
const FAINT: RGBColor = RGBColor(222, 222, 226);

type Area<'a, B> = DrawingArea<B, Shift>;
type Chart<'a, 'b, B> = ChartContext<'a, B, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
pub(super) type Outcome<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

pub(super) fn text(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&INK)
}

/// Draws a panel; `color` gives each series its colour by name.
pub(super) fn panel<B: DrawingBackend>(
    area: &Area<'_, B>,
    panel: &Panel,
    color: &dyn Fn(&str) -> RGBColor,
) -> Outcome<B> {
    let (x, y) = (panel.x_span(), panel.y_span());
    let named = !panel.ticks.is_empty();
    let slanted = named && crowded(area, panel);
    // Turned names need as much room below as the longest is long, within reason.
    let longest = panel.ticks.iter().map(|tick| tick.chars().count()).max().unwrap_or(0) as u32;
    let below = if slanted { (8 * longest + 30).min(300) } else { 44 };
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, text(17))
        .margin(8)
        .margin_right(16)
        .x_label_area_size(below)
        .y_label_area_size(62)
        .build_cartesian_2d(x.low..x.high, y.low..y.high)?;
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh()
        .bold_line_style(FAINT)
        .light_line_style(WHITE)
        .axis_style(INK)
        .label_style(text(13))
        .axis_desc_style(text(14))
        .y_desc(&panel.y_label)
        .y_labels(6);
    let (x_text, y_text) = (|x: &f64| number(*x), |y: &f64| panel.y_text(*y));
    mesh.y_label_formatter(&y_text).x_label_formatter(&x_text);
    if named {
        mesh.x_labels(0);
    } else {
        mesh.x_labels(8).x_desc(&panel.x_label);
    }
    mesh.draw()?;
    if named {
        ticks(area, &chart, panel, slanted)?;
    }
    match panel.kind {
        Kind::Bars => bars(&mut chart, panel, color),
        Kind::Lines => lines(&mut chart, panel, color),
        Kind::Reliability => {
            chart.draw_series(DashedDiagonal::segments())?;
            lines(&mut chart, panel, color)
        }
    }
}

struct DashedDiagonal;

impl DashedDiagonal {
    fn segments() -> impl Iterator<Item = PathElement<(f64, f64)>> {
        (0..25).map(|i| {
            let (from, to) = (4.0 * f64::from(i), 4.0 * f64::from(i) + 2.0);
            PathElement::new(vec![(from, from), (to, to)], RGBColor(140, 140, 146))
        })
    }
}

/// Whether named ticks would run into each other side by side.
fn crowded<B: DrawingBackend>(area: &Area<'_, B>, panel: &Panel) -> bool {
    let room = (area.dim_in_pixel().0 as usize).saturating_sub(90) / panel.ticks.len().max(1);
    panel.ticks.iter().any(|tick| tick.chars().count() * 8 + 6 > room)
}

/// Names under the axis, and the name of the axis under them.
fn ticks<B: DrawingBackend>(area: &Area<'_, B>, chart: &Chart<'_, '_, B>, panel: &Panel, slanted: bool) -> Outcome<B> {
    let base = area.get_base_pixel();
    let span = panel.y_span();
    for (i, tick) in panel.ticks.iter().enumerate() {
        let (x, y) = chart.backend_coord(&(i as f64, span.low));
        let (x, y) = (x - base.0, y - base.1);
        area.draw(&PathElement::new(vec![(x, y), (x, y + 4)], INK))?;
        let style = if slanted {
            // The font is turned a quarter: a name ends at its tick.
            let turned = (FONT, 13).into_font().transform(FontTransform::Rotate270).color(&INK);
            turned.pos(Pos::new(HPos::Right, VPos::Center))
        } else {
            text(13).pos(Pos::new(HPos::Center, VPos::Top))
        };
        area.draw(&Text::new(tick.clone(), (x, y + 7), style))?;
    }
    let (width, height) = area.dim_in_pixel();
    let style = text(14).pos(Pos::new(HPos::Center, VPos::Bottom));
    area.draw(&Text::new(panel.x_label.clone(), ((width as i32 + 46) / 2, height as i32 - 6), style))
}

fn lines<B: DrawingBackend>(
    chart: &mut Chart<'_, '_, B>,
    panel: &Panel,
    color: &dyn Fn(&str) -> RGBColor,
) -> Outcome<B> {
    for series in &panel.series {
        let color = color(&series.name);
        let mut run: Vec<(f64, f64)> = Vec::new();
        let mut runs: Vec<Vec<(f64, f64)>> = Vec::new();
        for (x, y) in &series.points {
            match panel.place_y(*y).filter(|_| x.is_finite()) {
                Some(y) => run.push((*x, y)),
                None => runs.push(std::mem::take(&mut run)),
            }
        }
        runs.push(run);
        // Marks only where they can be told apart.
        let dots = series.points.len() <= 60;
        for run in runs.into_iter().filter(|run| !run.is_empty()) {
            if dots {
                chart.draw_series(run.iter().map(|at| Circle::new(*at, 3, color.filled())))?;
            }
            chart.draw_series(std::iter::once(PathElement::new(run, color.stroke_width(2))))?;
        }
    }
    Ok(())
}

fn bars<B: DrawingBackend>(
    chart: &mut Chart<'_, '_, B>,
    panel: &Panel,
    color: &dyn Fn(&str) -> RGBColor,
) -> Outcome<B> {
    let width = 0.8 / panel.series.len().max(1) as f64;
    let floor = panel.y_span().low.max(if panel.log_y { f64::NEG_INFINITY } else { 0.0 });
    for (number, series) in panel.series.iter().enumerate() {
        let color = color(&series.name);
        let placed = series.points.iter().filter_map(|(x, y)| Some((*x, panel.place_y(*y)?)));
        chart.draw_series(placed.map(|(x, y)| {
            let left = x - 0.4 + width * number as f64;
            Rectangle::new([(left, floor), (left + 0.92 * width, y)], color.filled())
        }))?;
    }
    Ok(())
}
