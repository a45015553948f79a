//! Range images, and sensors estimated from scans.

use super::scans::{Random, at, patches};
use crate::free::{RangeImage, SENSORS, Sensor, estimate, of_rings};

/// Ranges of a street: ground, walls on both sides.
fn street(elevation: f64, turn: f64) -> f64 {
    let azimuth = std::f64::consts::TAU * turn - std::f64::consts::PI;
    let ground = if elevation < -0.01 { 1.7 / -elevation.sin() } else { f64::INFINITY };
    let wall = 8.0 / azimuth.sin().abs().max(1e-9) / elevation.cos();
    ground.min(wall).min(70.0)
}

fn scan(sensor: &Sensor, jitter_deg: f64) -> Vec<[f32; 3]> {
    let mut random = Random(4);
    let mut points = Vec::new();
    for elevation in sensor.elevations() {
        for column in 0..sensor.columns() {
            let turn =
                (column as f64 + 0.6 * (random.next() - 0.5) * f64::from(jitter_deg > 0.0)) / sensor.columns() as f64;
            let off = jitter_deg.to_radians() * (random.next() - 0.5);
            let range = street(f64::from(*elevation), turn);
            if range < 70.0 && random.next() > 0.05 {
                points.push(at(f64::from(*elevation) + off, turn, range));
            }
        }
    }
    points
}

#[test]
fn every_pixel_holds_the_nearest_return_of_its_beam_and_column() {
    let sensor = Sensor::named("hdl-64e").unwrap().with_columns(512).unwrap();
    let points = scan(&sensor, 0.0);
    let image = RangeImage::new(&sensor, &points, None).unwrap();
    // Beams fire where pixels would meet: rows are moved so that none is lost.
    let filled = (0..64).flat_map(|row| (0..512).map(move |column| (row, column)));
    assert_eq!(filled.filter(|(row, column)| image.range(*row, *column).is_some()).count(), points.len());
    for point in &points {
        let range = f64::from(point[0]).hypot(f64::from(point[1])).hypot(f64::from(point[2]));
        let elevation = (f64::from(point[2]) / range).asin();
        let nearest =
            |a: &&f32, b: &&f32| (f64::from(**a) - elevation).abs().total_cmp(&(f64::from(**b) - elevation).abs());
        let beam = sensor.elevations().iter().min_by(nearest).unwrap();
        let row = sensor.elevations().iter().position(|e| e == beam).unwrap();
        let turn = (f64::from(point[1]).atan2(f64::from(point[0])) / std::f64::consts::TAU + 0.5) * 512.0;
        let around = [turn - 0.5, turn, turn + 0.5].map(|c| (c.floor() as i64).rem_euclid(512) as usize);
        assert!(
            around.iter().any(|column| image.range(row, *column).is_some_and(|r| (f64::from(r) - range).abs() < 1e-4))
        );
    }
    // A nearer return of the same pixel wins, in any order.
    let twice: Vec<[f32; 3]> =
        points.iter().rev().chain(&points).map(|p| p.map(|v| v * 0.5)).chain(points.clone()).collect();
    let nearer = RangeImage::new(&sensor, &twice, None).unwrap();
    assert!((0..512).all(|c| {
        image.range(40, c).zip(nearer.range(40, c)).is_none_or(|(far, near)| (0.5 * far - near).abs() < 1e-4)
    }));
}

#[test]
fn clean_scans_show_their_beams_and_columns() {
    for name in SENSORS {
        for columns in [512, 1024] {
            let sensor = Sensor::named(name).unwrap().with_columns(columns).unwrap();
            let found = estimate(&scan(&sensor, 0.0)).unwrap();
            // Beams that see nothing but sky are not seen.
            assert!(
                found.beams() <= sensor.beams() && found.beams() * 10 >= sensor.beams() * 4,
                "{name}: {}",
                found.beams()
            );
            assert_eq!(found.columns(), columns, "{name}");
            for elevation in found.elevations() {
                let off = sensor.elevations().iter().map(|e| (e - elevation).abs()).fold(f32::INFINITY, f32::min);
                assert!(off.to_degrees() < 0.02, "{name}: {}°", elevation.to_degrees());
            }
        }
    }
}

#[test]
fn smeared_scans_give_equal_rows_at_the_spacing_of_the_beams() {
    let sensor = Sensor::named("hdl-64e").unwrap();
    let found = estimate(&scan(&sensor, 0.6)).unwrap();
    assert!((40..=96).contains(&found.beams()), "{} rows", found.beams());
    assert!((1200..=2400).contains(&found.columns()), "{} columns", found.columns());
    assert!(RangeImage::new(&found, &scan(&sensor, 0.6), None).is_ok());
}

#[test]
fn clouds_that_are_no_scans_are_refused_with_a_reason() {
    let mut random = Random(9);
    let cube: Vec<[f32; 3]> =
        (0..20_000).map(|_| std::array::from_fn(|_| 20.0 * (random.next() as f32 - 0.5))).collect();
    for cloud in [vec![], vec![[1.0, 2.0, 3.0]; 5000], vec![[f32::NAN; 3]; 5000], cube] {
        let message = estimate(&cloud).unwrap_err().to_string();
        assert!(message.contains("free space") && message.contains("sensor"), "{message}");
    }
}

#[test]
fn rings_of_the_data_say_the_rows() {
    let sensor = Sensor::named("vlp-16").unwrap().with_columns(360).unwrap();
    let mut random = Random(2);
    let (mut points, mut rings) = (Vec::new(), Vec::new());
    for (row, elevation) in sensor.elevations().iter().enumerate() {
        for column in 0..360 {
            let off = 0.02 * (random.next() - 0.5);
            points.push(at(f64::from(*elevation) + off, f64::from(column) / 360.0, 9.0));
            // Numbered from below.
            rings.push(15 - row as u16);
        }
    }
    let (found, rows) = of_rings(&points, &rings).unwrap();
    assert_eq!((found.beams(), found.columns()), (16, 360));
    assert!(rows.iter().zip(&rings).all(|(row, ring)| row + ring == 15));
    let image = RangeImage::new(&found, &points, Some(&rows)).unwrap();
    assert!((0..16).all(|row| (0..360).all(|column| image.range(row, column).is_some())));
    assert!(of_rings(&points, &rings[1..]).is_err());
    assert!(of_rings(&points, &vec![60_000; points.len()]).is_err());
    assert!(of_rings(&points, &vec![0; points.len()]).is_err());
    assert!(estimate(&patches(&sensor, 1, 0.0)).is_ok());
}
