//! The picture: points over the camera image, or from above.

use e2bki_data::{Dataset, VOID};
use image::{Rgb, RgbImage};

use super::facts::Facts;
use e2bki_store::heat;

/// Colour of points without a class.
const NONE: [u8; 3] = [255, 255, 255];

/// Distance at which colours end where classes are not known, metres.
const FAR_M: f64 = 40.0;

/// Side of the picture from above, pixels, and metres shown to each side.
const SIDE: u32 = 1000;
const REACH_M: f64 = 40.0;

pub(crate) fn draw(dataset: &Dataset, facts: &Facts) -> RgbImage {
    match (&facts.projected, dataset.camera()) {
        (Some(projected), Ok(camera)) if facts.in_image() > 0 => {
            let [width, height] = camera.size.map(|v| v as u32);
            let mut picture = background(facts, width, height);
            // Far points first, so that near ones cover them.
            let mut order: Vec<usize> = (0..projected.len()).filter(|i| projected[*i].is_some()).collect();
            let depth = |i: usize| projected[i].map_or(0.0, |p| p.depth);
            order.sort_by(|a, b| depth(*b).total_cmp(&depth(*a)));
            let side = (width / 400).clamp(2, 6);
            for i in order {
                let Some(place) = projected[i] else { continue };
                let [column, row] = place.pixel().map(|v| v as u32);
                dot(&mut picture, column, row, side, color(dataset, facts, i, place.depth));
            }
            picture
        }
        _ => from_above(dataset, facts),
    }
}

/// The camera image, darkened a little; plain where there is none of that size.
fn background(facts: &Facts, width: u32, height: u32) -> RgbImage {
    let read = || facts.frame.image.as_ref()?.picture().ok().filter(|p| p.width() == width && p.height() == height);
    match read() {
        Some(mut picture) => {
            picture.pixels_mut().for_each(|p| p.0 = p.0.map(|v| (u16::from(v) * 3 / 5) as u8));
            picture
        }
        None => RgbImage::from_pixel(width, height, Rgb([24, 26, 30])),
    }
}

fn from_above(dataset: &Dataset, facts: &Facts) -> RgbImage {
    let mut picture = RgbImage::from_pixel(SIDE, SIDE, Rgb([24, 26, 30]));
    let scale = f64::from(SIDE) / (2.0 * REACH_M);
    for (i, p) in facts.frame.points.iter().enumerate() {
        // x up, y to the left.
        let (column, row) = ((REACH_M - f64::from(p[1])) * scale, (REACH_M - f64::from(p[0])) * scale);
        let inside = |v: f64| v >= 0.0 && v < f64::from(SIDE);
        if inside(column) && inside(row) {
            let range = p.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
            dot(&mut picture, column as u32, row as u32, 2, color(dataset, facts, i, range));
        }
    }
    picture
}

fn color(dataset: &Dataset, facts: &Facts, point: usize, distance: f64) -> [u8; 3] {
    match &facts.labels {
        Some((_, labels)) if labels[point] == VOID => NONE,
        Some((_, labels)) => dataset.classes().colors().get(labels[point] as usize).copied().unwrap_or(NONE),
        None => heat(1.0 - distance / FAR_M),
    }
}

fn dot(picture: &mut RgbImage, column: u32, row: u32, side: u32, color: [u8; 3]) {
    for r in row..(row + side).min(picture.height()) {
        for c in column..(column + side).min(picture.width()) {
            picture.put_pixel(c, r, Rgb(color));
        }
    }
}
