//! Layers as pictures, north up: for looking, not for reading.

use std::ops::Range;
use std::path::{Path, PathBuf};

use e2bki_store::heat;
use image::{Rgb, RgbImage};

use super::png;
use crate::cell::LAYERS;
use crate::error::{Error, Result};
use crate::layers::Layers;
use crate::plan::Way;

/// Where nothing is known.
const BACKGROUND: [u8; 3] = [24, 26, 30];
/// Longest side of a picture, pixels, up to which cells are enlarged.
const LONGEST: usize = 1200;
/// What is drawn around a way, metres.
const AROUND_M: f64 = 8.0;

/// A layer as a picture: colours from the 2nd to the 98th percentile, or from 0 to 1 for what is a probability or a cost.
pub fn picture(layers: &Layers, name: &str, colors: &[[u8; 3]]) -> Result<RgbImage> {
    let [width, height] = layers.grid().size;
    picture_of(layers, name, colors, [0..width, 0..height])
}

/// The same of some columns and rows.
fn picture_of(layers: &Layers, name: &str, colors: &[[u8; 3]], part: [Range<usize>; 2]) -> Result<RgbImage> {
    let Some(values) = layers.layer(name) else {
        let known: Vec<&str> = LAYERS.iter().map(|(known, ..)| *known).collect();
        return Err(Error::Refused(format!("unknown layer `{name}`; known: {}", known.join(", "))));
    };
    let unit = LAYERS.iter().any(|(known, unit, ..)| *known == name && unit.is_empty());
    let mut known: Vec<f32> = values.iter().copied().filter(|v| v.is_finite()).collect();
    known.sort_by(f32::total_cmp);
    let at = |share: f64| known.get((share * known.len() as f64) as usize).copied().unwrap_or(0.0);
    let (low, high) = if unit { (0.0, 1.0) } else { (at(0.02), at(0.98)) };
    let color = |cell: usize| {
        let value = values[cell];
        match name {
            "class" => colors.get(value as i32 as usize).copied().unwrap_or(BACKGROUND),
            "state" => [BACKGROUND, [225, 230, 225], [170, 40, 40]][(value as usize).min(2)],
            _ if !value.is_finite() => BACKGROUND,
            _ => heat(f64::from((value - low) / (high - low).max(1e-6))),
        }
    };
    let ([columns, rows], width) = (part, layers.grid().size[0]);
    let scale = (LONGEST / columns.len().max(rows.len()).max(1)).clamp(1, 8);
    Ok(RgbImage::from_fn((columns.len() * scale) as u32, (rows.len() * scale) as u32, |x, y| {
        let (column, row) = (columns.start + x as usize / scale, rows.end - 1 - y as usize / scale);
        Rgb(color(row * width + column))
    }))
}

/// What costs and risks are like around a way, with the way on it: white, and red where it is most likely to meet an obstacle; the
/// robot at both ends.
pub fn picture_of_way(layers: &Layers, way: &Way) -> Result<RgbImage> {
    let grid = layers.grid();
    let ends = |axis: usize| {
        let along = way.steps.iter().map(|step| step.at[axis]);
        along.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(v), high.max(v)])
    };
    let part = [0, 1].map(|axis| {
        let [low, high] = ends(axis);
        grid.between(axis, low - AROUND_M, high + AROUND_M)
    });
    let mut image = picture_of(layers, "risk_cost", &[], part.clone())?;
    let scale = f64::from(image.width()) / part[0].len().max(1) as f64;
    let whole = grid.corner();
    let corner = [0, 1].map(|axis| whole[axis] + part[axis].start as f64 * grid.resolution);
    let top = whole[1] + part[1].end as f64 * grid.resolution;
    let pixels_per_m = scale / grid.resolution;
    let robot = &layers.settings().robot;
    let mut dot = |at: [f64; 2], radius: f64, color: [u8; 3]| {
        let center = [(at[0] - corner[0]) * pixels_per_m, (top - at[1]) * pixels_per_m];
        let low = center.map(|v| (v - radius).floor() as i64);
        let side = 2 * radius.ceil() as i64 + 1;
        for y in low[1]..low[1] + side {
            for x in low[0]..low[0] + side {
                let inside =
                    (x as f64 + 0.5 - center[0]).powi(2) + (y as f64 + 0.5 - center[1]).powi(2) <= radius * radius;
                let held = (0..i64::from(image.width())).contains(&x) && (0..i64::from(image.height())).contains(&y);
                if inside && held {
                    image.put_pixel(x as u32, y as u32, Rgb(color));
                }
            }
        }
    };
    let ends = [way.steps.first(), way.steps.last()].into_iter().flatten();
    ends.zip([[60, 200, 255], [255, 120, 255]]).for_each(|(step, color)| {
        dot([step.at[0], step.at[1]], 0.5 * robot.width * pixels_per_m, color);
    });
    for pair in way.steps.windows(2) {
        let length = (pair[1].at[0] - pair[0].at[0]).hypot(pair[1].at[1] - pair[0].at[1]);
        let parts = (length * pixels_per_m).ceil().max(1.0) as usize;
        let risk = (pair[0].risk.max(pair[1].risk) / robot.max_risk as f32).clamp(0.0, 1.0);
        let color = [255, (255.0 * (1.0 - risk)) as u8, (255.0 * (1.0 - risk)) as u8];
        for k in 0..=parts {
            let t = k as f64 / parts as f64;
            dot(std::array::from_fn(|i| pair[0].at[i] * (1.0 - t) + pair[1].at[i] * t), 1.6, color);
        }
    }
    Ok(image)
}

/// Writes NAME-LAYER.png for each layer named.
pub fn pictures(layers: &Layers, names: &[&str], colors: &[[u8; 3]], path: &Path) -> Result<Vec<PathBuf>> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let one = |name: &&str| {
        let image = picture(layers, name, colors)?;
        png(&path.with_file_name(format!("{stem}-{name}.png")), image.into())
    };
    names.iter().map(one).collect()
}
