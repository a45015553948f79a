//! A map as messages: clouds of voxels and primitives, grids from above, ellipsoids.

use anyhow::Result;
use e2bki::Mapper;
use e2bki_bag::compose::{self, Ellipsoid, Layers, MAP_POINT_BYTES, MapPoint, Plane, map_points};
use e2bki_bag::{Quaternion, Schema, schemas};
use e2bki_layers::ClassCosts;

/// Most ellipsoids of a message, and how far they may be from the sensor, metres: viewers draw each by itself.
const MOST_ELLIPSOIDS: usize = 5000;
const ELLIPSOIDS_WITHIN_M: f64 = 30.0;

/// Most cells of a grid from above; beyond, its cells are made larger.
const MOST_CELLS: usize = 16_000_000;

/// Mahalanobis radius at which ellipsoids are drawn: two standard deviations.
const DRAWN_SIGMA: f64 = 2.0;

/// A point of a map as it is sent, with the map's frame at `origin`.
fn point(map: &Mapper, origin: [f64; 3], place: [f64; 3], (class, p, u): (usize, f64, f64)) -> [u8; MAP_POINT_BYTES] {
    let place = std::array::from_fn(|i| place[i] - origin[i]);
    MapPoint { place, color: map.classes().colors()[class], class, p, u }.bytes()
}

/// All messages of a map: topic, type, message. Those that need costs of classes are there where these are known.
pub(super) fn all(
    map: &Mapper,
    costs: Option<&ClassCosts>,
    stamp: u64,
    frame: &str,
    origin: [f64; 3],
    sensor: [f64; 3],
) -> Result<Vec<(&'static str, Schema, Vec<u8>)>> {
    let (mut primitives, mut voxels) = (Vec::new(), Vec::new());
    for p in map.primitives() {
        let probability = p.probability().get(p.label()).copied().unwrap_or(0.0);
        primitives.extend(point(map, origin, p.mean(), (p.label(), f64::from(probability), p.uncertainty())));
    }
    let seen = map.voxels(map.config().views.resolution)?;
    for (center, belief) in seen.centers.iter().zip(seen.beliefs.iter()) {
        if let Some(label) = belief.label() {
            voxels.extend(point(map, origin, *center, (label, belief.confidence(), belief.uncertainty())));
        }
    }
    let (occupancy, layers) = grids(map, costs, stamp, frame, origin)?;
    let shapes = compose::ellipsoids(stamp, frame, "primitives", &ellipsoids(map, origin, sensor));
    let mut all = vec![
        ("/map/primitives", schemas::POINT_CLOUD, map_points(stamp, frame, &primitives)),
        ("/map/voxels", schemas::POINT_CLOUD, map_points(stamp, frame, &voxels)),
        ("/map/grid_map", schemas::GRID_MAP, layers),
        ("/map/ellipsoids", schemas::MARKERS, shapes),
    ];
    all.extend(occupancy.map(|message| ("/map/occupancy", schemas::OCCUPANCY_GRID, message)));
    Ok(all)
}

/// The view from above as costs of classes, and as layers.
fn grids(
    map: &Mapper,
    costs: Option<&ClassCosts>,
    stamp: u64,
    frame: &str,
    origin: [f64; 3],
) -> Result<(Option<Vec<u8>>, Vec<u8>)> {
    let mut resolution = map.config().views.resolution;
    let (cells, plane) = loop {
        let cells = map.bev(resolution)?;
        if let Some(plane) = Plane::around(resolution, &cells.centers, MOST_CELLS) {
            break (cells, plane);
        }
        resolution *= 2.0;
    };
    let cost = |label: usize| costs.map_or(f64::NAN, |costs| (100.0 * f64::from(costs.cost(label))).round());
    let count = plane.cells();
    let mut taken = vec![-1_i8; count];
    let names = ["class", "p", "u", "u_sem", "u_spa", "cost"];
    let names = if costs.is_some() { &names[..] } else { &names[..5] };
    let mut layers: Vec<(&str, Vec<f32>)> = names.iter().map(|name| (*name, vec![f32::NAN; count])).collect();
    for (center, belief) in cells.centers.iter().zip(cells.beliefs.iter()) {
        let (Some(label), Some(at)) = (belief.label(), plane.cell(*center)) else { continue };
        let values = [
            label as f64,
            belief.confidence(),
            belief.uncertainty(),
            belief.semantic_uncertainty(),
            belief.spatial_uncertainty(),
            cost(label),
        ];
        taken[at] = cost(label) as i8;
        layers.iter_mut().zip(values).for_each(|((_, layer), value)| layer[at] = value as f32);
    }
    let (corner, size) = (plane.corner(), plane.size);
    let corner = [0, 1].map(|i| corner[i] - origin[i]);
    let grid = Layers { resolution, corner, size, layers: &layers };
    let occupancy = || compose::occupancy_grid(stamp, frame, resolution, [corner[0], corner[1], 0.0], size, &taken);
    let occupancy = costs.is_some().then(occupancy);
    Ok((occupancy, compose::grid_map(stamp, frame, &grid)))
}

/// The primitives near the sensor, those of the most points where there are too many; the less certain, the fainter.
fn ellipsoids(map: &Mapper, origin: [f64; 3], sensor: [f64; 3]) -> Vec<Ellipsoid> {
    let near = |place: [f64; 3]| (0..3).all(|i| (place[i] - sensor[i]).abs() <= ELLIPSOIDS_WITHIN_M);
    let mut chosen: Vec<_> = map.primitives().filter(|p| near(p.mean())).collect();
    // By weight, then by age, so that the same map gives the same message.
    chosen.sort_by(|a, b| b.weight().total_cmp(&a.weight()).then(a.id().cmp(&b.id())));
    chosen.truncate(MOST_ELLIPSOIDS);
    // The map's own ellipsoid encloses a small share of the mass; drawn, it would be specks.
    let grow = DRAWN_SIGMA / e2bki::maths::mahalanobis_threshold_3d(map.config().kernel.ellipsoid_mass).sqrt();
    let shape = |p: &e2bki::Primitive<'_>| {
        let e = p.ellipsoid();
        let [a, b, c] = e.axes;
        // The rows of `axes` are the columns of the rotation; a third that makes it no reflection is as good.
        let third = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
        debug_assert!((0..3).all(|i| (third[i].abs() - c[i].abs()).abs() < 1e-6));
        let turn = Quaternion::of_matrix(std::array::from_fn(|i| [a[i], b[i], third[i]]));
        let [red, green, blue] = map.classes().colors()[p.label()].map(|v| f32::from(v) / 255.0);
        Ellipsoid {
            center: std::array::from_fn(|i| e.center[i] - origin[i]),
            turn: turn.values(),
            diameters: e.semi_axes.map(|half| 2.0 * half * grow),
            color: [red, green, blue, (1.0 - p.uncertainty() as f32).clamp(0.1, 1.0)],
        }
    };
    chosen.iter().map(shape).collect()
}
