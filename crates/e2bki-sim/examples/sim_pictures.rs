//! Writes camera images, label images and a bird's-eye view of one drive, to look at.
//! Usage: `cargo run --release -p e2bki-sim --example sim_pictures -- OUT_DIR [offroad|urban] [seed] [frame] [spring|summer|autumn|winter]`

use std::path::Path;

use e2bki_sim::{Drive, DriveOptions, Season, Sensor, VOID, WorldKind};
use image::{Rgb, RgbImage};

/// Picture above labels, shrunk to `width` and with fewer shades, small enough for a page.
fn sheet(rgb: &[[u8; 3]], labels: &[[u8; 3]], from: usize, width: u32) -> RgbImage {
    let down = rgb.len() / from;
    let height = down as u32 * width / from as u32;
    let mean = |x: u32, y: u32, k: usize| {
        let range = |a: u32, size: usize, n: u32| a as usize * size / n as usize..(a as usize + 1) * size / n as usize;
        let (columns, rows) = (range(x, from, width), range(y, down, height));
        let count = columns.len() * rows.len();
        let sum: usize = rows.flat_map(|r| columns.clone().map(move |c| usize::from(rgb[r * from + c][k]))).sum();
        ((sum / count.max(1)) & 0xF8) as u8
    };
    RgbImage::from_fn(width, 2 * height, |x, y| {
        if y < height {
            return Rgb([mean(x, y, 0), mean(x, y, 1), mean(x, y, 2)]);
        }
        let (c, r) = (x as usize * from / width as usize, (y - height) as usize * down / height as usize);
        Rgb(labels[r * from + c])
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |k: usize, default: &str| arguments.get(k).cloned().unwrap_or_else(|| default.into());
    let out = argument(0, "pictures");
    std::fs::create_dir_all(&out)?;
    let kind: WorldKind = argument(1, "offroad").parse()?;
    let (seed, frame): (u64, usize) = (argument(2, "1").parse()?, argument(3, "0").parse()?);
    let sensor = if kind == WorldKind::Urban { Sensor::Hdl64e } else { Sensor::Os1_64 };
    let mut options = DriveOptions::new(kind, seed, sensor);
    options.season = match argument(4, "summer").as_str() {
        "spring" => Season::Spring,
        "autumn" => Season::Autumn,
        "winter" => Season::Winter,
        _ => Season::Summer,
    };
    let drive = Drive::new(options)?;
    let name = |what: &str| Path::new(&out).join(format!("{}_{seed}_{frame}_{what}.png", argument(1, "offroad")));
    let shot = drive.image(frame);
    let size = (shot.width as u32, shot.height as u32);
    let color = |label: u8| if label == VOID { [196, 255, 255] } else { drive.classes()[usize::from(label)].color };
    let at = |x: u32, y: u32| y as usize * shot.width + x as usize;
    RgbImage::from_fn(size.0, size.1, |x, y| Rgb(shot.rgb[at(x, y)])).save(name("camera"))?;
    RgbImage::from_fn(size.0, size.1, |x, y| Rgb(color(shot.labels[at(x, y)]))).save(name("labels"))?;
    sheet(&shot.rgb, &shot.labels.iter().map(|l| color(*l)).collect::<Vec<_>>(), shot.width, size.0 * 2 / 5)
        .save(name("sheet"))?;
    let scan = drive.frame(frame);
    let mut bev = RgbImage::new(600, 600);
    for (p, label) in scan.points.iter().zip(&scan.labels) {
        let (x, y) = (300.0 - p[1] * 7.5, 300.0 - p[0] * 7.5);
        if (0.0..600.0).contains(&x) && (0.0..600.0).contains(&y) {
            bev.put_pixel(x as u32, y as u32, Rgb(color(*label)));
        }
    }
    bev.save(name("scan"))?;
    println!("{} returns of {} beams", scan.points.len(), scan.slot_count);
    for (k, class) in drive.classes().iter().enumerate() {
        let count = scan.labels.iter().filter(|l| usize::from(**l) == k).count();
        println!("{:>12} {:>6.2} %", class.name, 100.0 * count as f64 / scan.labels.len() as f64);
    }
    Ok(())
}
