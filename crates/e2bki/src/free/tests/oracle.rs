//! The rule read word by word: for every cube, and every block that holds it, all pixels are looked at one by one.

use super::scans::{Random, patches, small_sensor, some_pose};
use crate::free::cubes::{centre_of, split};
use crate::free::pass::Pass;
use crate::free::range_image::RangeImage;
use crate::free::{CUBE_M, Sensor, Settings};
use crate::pose::Pose;

/// Row coordinate of an elevation.
fn row_of(elevations: &[f32], elevation: f64) -> f64 {
    let beams: Vec<f64> = elevations.iter().map(|v| f64::from(*v)).collect();
    let gap = (0..beams.len() - 2).find(|i| elevation >= beams[i + 1]).unwrap_or(beams.len() - 2);
    gap as f64 + 0.5 + (beams[gap] - elevation) / (beams[gap] - beams[gap + 1])
}

/// Whether a block of `level` around a centre (sensor coordinates) is passed; `shift` moves every limit by a little, for
/// the verdict must not hang on rounding.
fn passed(image: &RangeImage, sensor: &Sensor, s: &Settings, level: usize, centre: [f64; 3], shift: f64) -> bool {
    let side = CUBE_M * f64::from(1 << level);
    let spread = if level > 0 { 0.5 * 3_f64.sqrt() * (side - CUBE_M) + 1e-3 } else { 0.0 };
    let radius = s.radius * CUBE_M + 0.2 * s.pose_error_deg + spread;
    let across = centre[0].hypot(centre[1]);
    let range = across.hypot(centre[2]);
    if range < radius + s.min_range_m + shift || range + spread > s.max_range_m - shift {
        return false;
    }
    let (elevation, azimuth) = (centre[2].atan2(across), centre[1].atan2(centre[0]));
    let angle = |distance: f64| {
        let x = (radius / distance).min(1.0);
        let open = if level > 0 { x + (std::f64::consts::FRAC_PI_2 - 1.0) * x.powi(3) + 2e-6 } else { x };
        open + s.pose_error_deg.to_radians()
    };
    let (width, height) = (sensor.columns() as f64, sensor.beams() as f64);
    let column = (azimuth + std::f64::consts::PI) / std::f64::consts::TAU * width;
    let wide = angle(across) / std::f64::consts::TAU * width + 1.0 + shift;
    let top = row_of(sensor.elevations(), elevation + angle(range)) - 1.0 - shift;
    let bottom = row_of(sensor.elevations(), elevation - angle(range)) + 1.0 + shift;
    let centre_row = row_of(sensor.elevations(), elevation);
    let (first, last) = ((column - wide).floor(), (column + wide).floor());
    let all_around = across <= radius || last - first + 1.0 >= width;
    if level == 0 && !(centre_row >= shift && centre_row < height - shift) {
        return false;
    }
    if level > 0 && (top.floor() < 0.0 || bottom.floor() >= height) {
        return false;
    }
    let (mut least, mut seen) = (f64::INFINITY, 0.0);
    for row in 0..sensor.beams() {
        for pixel in 0..sensor.columns() {
            let (r, c) = (row as f64, pixel as f64);
            let in_columns = all_around || [c - width, c, c + width].iter().any(|c| *c >= first && *c <= last);
            if r >= top.floor()
                && r <= bottom.floor()
                && in_columns
                && let Some(range) = image.range(row, pixel)
            {
                least = least.min(f64::from(range));
                seen += 1.0;
            }
        }
    }
    let columns = if all_around { width } else { last - first + 1.0 };
    let all = (bottom.floor() - top.floor() + 1.0) * columns;
    let need = range + radius + s.margin_m + s.margin_per_m * (range + spread) + shift;
    let valid = if level > 0 { s.valid_block } else { s.valid };
    seen > 0.0 && least > need && seen >= valid * all - 1e-9
}

/// Compares all cubes around a sensor; returns how many were passed, and how many were too close to call.
fn compare(sensor: &Sensor, points: &[[f32; 3]], pose: &Pose, settings: &Settings) -> (usize, usize, usize) {
    let image = RangeImage::new(sensor, points, None).unwrap();
    let sight: std::collections::BTreeMap<_, _> = Pass::new(&image, pose, settings).all().into_iter().collect();
    let back = pose.inverse();
    let reach = (settings.max_range_m / CUBE_M) as i32 + 2;
    let here = pose.translation().map(|v| (v / CUBE_M).floor() as i32);
    let (mut free, mut close, mut all) = (0, 0, 0);
    let mut blocks = std::collections::HashMap::new();
    for i in -reach..=reach {
        for j in -reach..=reach {
            for k in -reach..=reach {
                let cube = [here[0] + i, here[1] + j, here[2] + k];
                let (key, place) = split(cube);
                let ours = sight.get(&key).is_some_and(|passed| passed.holds(place));
                let verdicts = [-1e-4, 1e-4].map(|shift: f64| {
                    (0..4).any(|level| {
                        let block = cube.map(|v| v.div_euclid(1 << level));
                        *blocks.entry((level, block, shift > 0.0)).or_insert_with(|| {
                            let side = CUBE_M * f64::from(1 << level);
                            let centre = back.apply(block.map(|v| (f64::from(v) + 0.5) * side));
                            passed(&image, sensor, settings, level, centre, shift)
                        })
                    })
                });
                all += 1;
                free += usize::from(ours);
                if verdicts[0] == verdicts[1] {
                    assert_eq!(ours, verdicts[0], "cube {cube:?}, block {key:?} at {:?}", centre_of(key));
                } else {
                    close += 1;
                }
            }
        }
    }
    (free, close, all)
}

#[test]
fn cubes_are_passed_exactly_where_a_direct_reading_says() {
    let sensor = small_sensor();
    for seed in 0..6 {
        let missing = [0.0, 0.1, 0.3][seed as usize % 3];
        let points = patches(&sensor, seed, missing);
        let settings =
            Settings { max_range_m: 7.0, pose_error_deg: if seed > 2 { 0.5 } else { 0.0 }, ..Settings::default() };
        let (free, close, all) = compare(&sensor, &points, &some_pose(seed), &settings);
        assert!(free > 200 && free < all / 2, "{free} of {all}");
        assert!(close < all / 200, "{close} of {all} too close to call");
    }
}

#[test]
fn open_space_is_passed_by_blocks_and_says_the_same() {
    // A dense image of a far wall: whole blocks of 2 m are passed.
    let sensor = Sensor::uniform(40, 40.0, -40.0, 120).unwrap();
    let mut random = Random(3);
    let points: Vec<[f32; 3]> = (0..40 * 120)
        .map(|i| {
            let elevation = f64::from(sensor.elevations()[i / 120]);
            super::scans::at(elevation, ((i % 120) as f64 + 0.5) / 120.0, 11.0 + random.next())
        })
        .collect();
    let settings = Settings { max_range_m: 8.0, ..Settings::default() };
    let image = RangeImage::new(&sensor, &points, None).unwrap();
    let sight = Pass::new(&image, &Pose::IDENTITY, &settings).all();
    let whole = sight.iter().filter(|(_, passed)| passed.whole).count();
    assert!(whole > 10, "{whole} blocks");
    let (free, ..) = compare(&sensor, &points, &Pose::IDENTITY, &settings);
    assert!(free > 20_000, "{free}");
}

#[test]
fn what_stands_at_the_seam_of_the_image_hides_what_is_behind_it() {
    let sensor = Sensor::uniform(16, 15.0, -15.0, 180).unwrap();
    let scan = |near: bool| -> Vec<[f32; 3]> {
        let columns = |row: usize| (0..180).map(move |column| (row, column));
        (0..16)
            .flat_map(columns)
            .map(|(row, column)| {
                // The last and the first column meet at azimuth ±π.
                let hidden = near && (column == 179 || column == 0);
                let range = if hidden { 3.0 } else { 12.0 };
                super::scans::at(f64::from(sensor.elevations()[row]), (f64::from(column) + 0.5) / 180.0, range)
            })
            .collect()
    };
    let passed = |points: &[[f32; 3]], world: [f64; 3]| {
        let image = RangeImage::new(&sensor, points, None).unwrap();
        let all = Pass::new(&image, &Pose::IDENTITY, &Settings::default()).all();
        let (key, place) = split(crate::free::cube_of(world));
        all.iter().any(|(block, passed)| *block == key && passed.holds(place))
    };
    for y in [-0.1, 0.1] {
        assert!(passed(&scan(false), [-6.0, y, 0.1]));
        assert!(!passed(&scan(true), [-6.0, y, 0.1]));
        assert!(passed(&scan(true), [-2.0, y, 0.1]));
        assert!(passed(&scan(true), [6.0, y, 0.1]));
    }
}
