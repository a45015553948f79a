//! Scans of which only a part has classes, and beams that the data names.

use e2bki::free::{Counters, State};
use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Result, Scan, Semantics};

use super::{new_map, scan, sensor};

/// What a camera sees of a scan has classes; what beams passed through is a matter of all of it.
#[test]
fn points_in_an_image_count_with_the_whole_scan() -> Result<()> {
    let counters = |only_ahead: bool, give_scan: bool| -> Result<Counters> {
        let auto = Config::default().with(|c| c.free_space.enabled = true);
        let mut map = Mapper::new(ClassSet::from_names(["ground", "wall", "person"])?, auto)?;
        for frame in 0..3 {
            let (all, labels) = scan(frame);
            let ahead = |p: &[f32; 3]| !only_ahead || p[0] > p[1].abs();
            let (points, labels): (Vec<[f32; 3]>, Vec<u32>) = all.iter().zip(labels).filter(|(p, _)| ahead(p)).unzip();
            let world_from_sensor = Pose::from_translation(sensor(frame))?;
            let whole = give_scan.then_some(Scan { points: &all, rings: None });
            let semantics = Semantics::Labels(&labels);
            let frame = Frame { points: &points, semantics, world_from_sensor, scan: whole };
            let footprint = map.footprint(&frame).unwrap_or_default();
            let behind = all.iter().map(|p| f64::from(p[0])).fold(0.0, f64::min);
            assert!(!give_scan || footprint.0[0] < behind, "{footprint:?} leaves out {behind}");
            map.insert(&frame)?;
        }
        Ok(map.free_space().cloned().unwrap_or_default())
    };
    let whole = counters(false, false)?;
    assert!(whole == counters(true, true)? && whole == counters(false, true)?);
    assert!(whole != counters(true, false)?);
    Ok(())
}

/// The beams that the data names say what the scan's own elevations say, where these are exact.
#[test]
fn beams_that_are_named_are_taken_and_such_that_say_nothing_are_not() -> Result<()> {
    let counters = |rings: Option<&[u16]>| -> Result<Counters> {
        let auto = Config::default().with(|c| c.free_space.enabled = true);
        let mut map = Mapper::new(ClassSet::from_names(["ground", "wall", "person"])?, auto)?;
        let (points, labels) = scan(0);
        let whole = Some(Scan { points: &points, rings });
        let world_from_sensor = Pose::from_translation(sensor(0))?;
        map.insert(&Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: whole })?;
        Ok(map.free_space().cloned().unwrap_or_default())
    };
    let plain = counters(None)?;
    // Numbered from below, as many drivers do; 1,024 columns of every beam one after the other.
    let rings: Vec<u16> = (0..64 * 1024).map(|i| 63 - (i / 1024) as u16).collect();
    let named = counters(Some(&rings))?;
    let seen_through =
        |counters: &Counters| (0..800).filter(|i| counters.at(place(*i)).state(4.0) == State::Free).count();
    let (a, b) = (seen_through(&plain), seen_through(&named));
    assert!(a > 200 && a.abs_diff(b) * 100 <= a, "{a} {b}");
    assert!(counters(Some(&vec![0; rings.len()]))? == plain);
    let (points, labels) = scan(0);
    let mut map = new_map(true)?;
    let short = Some(Scan { points: &points, rings: Some(&rings[1..]) });
    let frame = Frame {
        points: &points,
        semantics: Semantics::Labels(&labels),
        world_from_sensor: Pose::IDENTITY,
        scan: short,
    };
    let message = map.insert(&frame).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(message.contains("rings") && map.is_empty(), "{message}");
    Ok(())
}

/// Places inside the wall, above the ground.
fn place(i: usize) -> [f64; 3] {
    let (x, y, z) = (i % 10, i / 10 % 10, i / 100);
    [-9.0 + 2.0 * x as f64, -9.0 + 2.0 * y as f64, 0.3 + 0.3 * z as f64]
}
