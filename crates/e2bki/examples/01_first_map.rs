//! A first map: a wall and a floor seen twice, then asked about.
//!
//! Run with `cargo run --release -p e2bki --example 01_first_map`.

use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};

fn main() -> Result<(), e2bki::Error> {
    // Classes are run-time data; so is every parameter.
    let classes = ClassSet::from_names(["floor", "wall"])?;
    let mut map = Mapper::new(classes, Config::default().with(|c| c.views.resolution = 0.2))?;

    // A sensor one metre above the floor looks at a wall four metres ahead.
    let mut points = Vec::new();
    let mut evidence = Vec::new();
    for i in 0..60 {
        for j in 0..40 {
            let (across, other) = (i as f32 * 0.1 - 3.0, j as f32 * 0.1);
            points.push([other + 0.05, across, -1.0]);
            evidence.extend([20.0, 1.0]);
            points.push([4.0, across, other - 1.0]);
            evidence.extend([1.0, 8.0]);
        }
    }
    // The same scene from two places: what was seen twice becomes surer, not larger.
    for x in [0.0, 0.5] {
        let moved: Vec<[f32; 3]> = points.iter().map(|p| [p[0] - x as f32, p[1], p[2]]).collect();
        let report = map.insert(&Frame {
            points: &moved,
            semantics: Semantics::Evidence(&evidence),
            world_from_sensor: Pose::from_translation([x, 0.0, 1.0])?,
            scan: None,
        })?;
        println!(
            "kept {} of {} points, {} primitives in the map, {:.1} ms",
            report.kept,
            report.received,
            report.primitives,
            report.timings.total().as_secs_f64() * 1e3
        );
    }

    // Beliefs anywhere: a class, or nothing where nothing was seen.
    let places = [[2.0, 0.0, 0.0], [4.0, 0.0, 1.5], [4.0, 0.0, 0.1], [2.0, 0.0, 2.0]];
    let beliefs = map.query(&places);
    for (place, belief) in places.iter().zip(beliefs.iter()) {
        match belief.label() {
            Some(label) => println!(
                "{place:?}: {} (p {:.2}, uncertainty {:.3} = {:.3} semantic + {:.3} sparse)",
                map.classes().names()[label],
                belief.confidence(),
                belief.uncertainty(),
                belief.semantic_uncertainty(),
                belief.spatial_uncertainty()
            ),
            None => println!("{place:?}: never observed"),
        }
    }
    println!("{} voxels in the live view", map.live_voxel_count());
    assert_eq!(beliefs.get(0).label(), Some(0));
    assert_eq!(beliefs.get(1).label(), Some(1));
    assert_eq!(beliefs.get(3).label(), None);
    Ok(())
}
