//! Maps of all methods from above, side by side: classes, and how unsure each is of them.

use anyhow::Result;
use e2bki::{Belief, Cells};
use e2bki_eval::plot::caption;
use e2bki_eval::{Confidence, VarianceRange};
use e2bki_sim::Standard;
use image::imageops::{self, FilterType};
use image::{Rgb, RgbImage};

use super::context::Context;
use super::dataset::Dataset;
use crate::{pictures, table};

/// Size of one map in the picture.
const WIDTH: u32 = 420;
const HEIGHT: u32 = 300;
const CAPTION: u32 = 26;
/// Part of the drive that is shown, metres to each side of its middle: small enough to see cells.
const REACH_M: f64 = 28.0;

pub(super) fn figure(context: &mut Context) -> Result<()> {
    let dataset = context.dataset(Standard::KittiLike)?;
    let mut methods = context.all_methods(&dataset, dataset.every())?;
    let mut entrants =
        methods.iter().map(|method| method.entrant(&dataset.classes, true)).collect::<Result<Vec<_>>>()?;
    let bar = table::progress(dataset.frames, "mapping");
    let mut trajectory = Vec::new();
    for (index, frame) in dataset.iter().enumerate() {
        let frame = frame?;
        trajectory.push(frame.world_from_sensor.translation());
        for entrant in entrants.iter_mut().filter(|_| index % dataset.every() == 0) {
            entrant.insert(&frame)?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let middle = trajectory.get(trajectory.len() / 2).copied().unwrap_or([0.0; 3]);
    let (mut tiles, mut shown) = (Vec::new(), Vec::new());
    for (entrant, method) in entrants.iter().zip(methods.drain(..)) {
        let cells = near(&entrant.map.bev()?, middle);
        shown.extend(cells.iter().filter_map(|(_, belief)| belief.label()));
        let range = VarianceRange::of(cells.iter().map(|(_, belief)| *belief));
        let color = |belief: &Belief| belief.label().map_or([0; 3], |label| dataset.classes.colors()[label]);
        let unsure = |belief: &Belief| e2bki_store::heat(1.0 - method.confidence.of(belief, range));
        tiles.push((method.name.clone(), draw(&cells, middle, color), draw(&cells, middle, unsure)));
    }
    let picture = compose(&tiles)?;
    let labels = shown.into_iter();
    context.picture("All methods from above", &picture, &crate::report::seen(&dataset.classes, labels))?;
    explain(context, &dataset)
}

fn explain(context: &mut Context, dataset: &Dataset) -> Result<()> {
    let reading = Confidence::Decomposed.name();
    context.note(&format!(
        "{}, {} frames, every {}th mapped: {:.0} m around the middle of the drive from above. Left of each pair: the class; \
         right: 1 − confidence, dark blue sure, yellow unsure (E2-BKI and DST {reading}, the others by their variance).",
        dataset.name,
        dataset.frames,
        dataset.every(),
        2.0 * REACH_M
    ))
}

/// Cells around a place.
fn near(cells: &Cells, middle: [f64; 3]) -> Vec<([f64; 2], Belief)> {
    let all = cells.centers.iter().copied().zip(cells.beliefs.iter());
    all.filter(|(c, _)| (0..2).all(|a| (c[a] - middle[a]).abs() < REACH_M)).collect()
}

/// Cells of 0.2 m as pixels, y up.
fn draw(cells: &[([f64; 2], Belief)], middle: [f64; 3], color: impl Fn(&Belief) -> [u8; 3]) -> RgbImage {
    let side = (2.0 * REACH_M / 0.2) as u32;
    let mut picture = RgbImage::from_pixel(side, side, Rgb(pictures::BACKGROUND));
    for (center, belief) in cells {
        let column = ((center[0] - middle[0] + REACH_M) / 0.2) as u32;
        let row = ((middle[1] + REACH_M - center[1]) / 0.2) as u32;
        if column < side && row < side {
            picture.put_pixel(column, row, Rgb(color(belief)));
        }
    }
    let fitted = imageops::resize(&picture, HEIGHT, HEIGHT, FilterType::Nearest);
    let mut tile = RgbImage::from_pixel(WIDTH.min(HEIGHT + 4), HEIGHT, Rgb([255; 3]));
    imageops::overlay(&mut tile, &fitted, 2, 0);
    tile
}

/// Two pairs in a row, each under its name.
fn compose(tiles: &[(String, RgbImage, RgbImage)]) -> Result<RgbImage> {
    let width = HEIGHT + 4;
    let rows = tiles.len().div_ceil(2) as u32;
    let mut picture = RgbImage::from_pixel(4 * width + 12, rows * (HEIGHT + CAPTION), Rgb([255; 3]));
    for (i, (name, classes, unsure)) in tiles.iter().enumerate() {
        let left = (i as u32 % 2) * (2 * width + 12);
        let top = (i as u32 / 2) * (HEIGHT + CAPTION);
        let title = caption(name, 2 * width, CAPTION)?;
        imageops::overlay(&mut picture, &title, i64::from(left), i64::from(top));
        imageops::overlay(&mut picture, classes, i64::from(left), i64::from(top + CAPTION));
        imageops::overlay(&mut picture, unsure, i64::from(left + width), i64::from(top + CAPTION));
    }
    Ok(picture)
}
