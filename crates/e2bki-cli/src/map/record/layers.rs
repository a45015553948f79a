//! A map as messages: clouds of voxels and primitives, grids from above, ellipsoids.

use anyhow::Result;
use e2bki::Mapper;
use e2bki_bag::compose::{self, Ellipsoid, Layers};
use e2bki_bag::messages::Number;
use e2bki_bag::{Quaternion, Schema, schemas};
use e2bki_store::CostTable;

/// Most ellipsoids of a message, and how far they may be from the sensor, metres: viewers draw each by itself.
const MOST_ELLIPSOIDS: usize = 5000;
const ELLIPSOIDS_WITHIN_M: f64 = 30.0;

/// Most cells of a grid from above; beyond, its cells are made larger.
const MOST_CELLS: f64 = 16e6;

/// Mahalanobis radius at which ellipsoids are drawn: two standard deviations.
const DRAWN_SIGMA: f64 = 2.0;

/// Fields of every point: place, colour for viewers, class, its probability, uncertainty.
const FIELDS: [(&str, Number); 7] = [
    ("x", Number::F32),
    ("y", Number::F32),
    ("z", Number::F32),
    ("rgb", Number::U32),
    ("class", Number::U16),
    ("p", Number::F32),
    ("u", Number::F32),
];

/// Points with what is known of them.
struct Points {
    count: usize,
    data: Vec<u8>,
    origin: [f64; 3],
}

impl Points {
    fn new(origin: [f64; 3]) -> Self {
        Self { count: 0, data: Vec::new(), origin }
    }

    fn add(&mut self, map: &Mapper, place: [f64; 3], class: usize, p: f64, u: f64) {
        for axis in 0..3 {
            self.data.extend(((place[axis] - self.origin[axis]) as f32).to_le_bytes());
        }
        let [r, g, b] = map.classes().colors()[class];
        self.data.extend([b, g, r, 0]);
        self.data.extend((class as u16).to_le_bytes());
        self.data.extend((p as f32).to_le_bytes());
        self.data.extend((u as f32).to_le_bytes());
        self.count += 1;
    }
}

/// All messages of a map: topic, type, message.
pub(super) fn all(
    map: &Mapper,
    stamp: u64,
    frame: &str,
    origin: [f64; 3],
    sensor: [f64; 3],
) -> Result<Vec<(&'static str, Schema, Vec<u8>)>> {
    let cloud = |points: &Points| compose::cloud(stamp, frame, &FIELDS, points.count, &points.data);
    let mut primitives = Points::new(origin);
    for p in map.primitives() {
        let probability = p.probability().get(p.label()).copied().unwrap_or(0.0);
        primitives.add(map, p.mean(), p.label(), f64::from(probability), p.uncertainty());
    }
    let mut voxels = Points::new(origin);
    let seen = map.voxels(map.config().views.resolution)?;
    for (center, belief) in seen.centers.iter().zip(seen.beliefs.iter()) {
        if let Some(label) = belief.label() {
            voxels.add(map, *center, label, belief.confidence(), belief.uncertainty());
        }
    }
    let (occupancy, layers) = grids(map, stamp, frame, origin)?;
    let shapes = compose::ellipsoids(stamp, frame, "primitives", &ellipsoids(map, origin, sensor));
    Ok(vec![
        ("/map/primitives", schemas::POINT_CLOUD, cloud(&primitives)),
        ("/map/voxels", schemas::POINT_CLOUD, cloud(&voxels)),
        ("/map/occupancy", schemas::OCCUPANCY_GRID, occupancy),
        ("/map/grid_map", schemas::GRID_MAP, layers),
        ("/map/ellipsoids", schemas::MARKERS, shapes),
    ])
}

/// The view from above as costs of classes, and as layers.
fn grids(map: &Mapper, stamp: u64, frame: &str, origin: [f64; 3]) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut resolution = map.config().views.resolution;
    let (cells, low, size) = loop {
        let cells = map.bev(resolution)?;
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for center in &cells.centers {
            for i in 0..2 {
                low[i] = low[i].min(center[i]);
                high[i] = high[i].max(center[i]);
            }
        }
        if cells.centers.is_empty() {
            break (cells, [0.0; 2], [0; 2]);
        }
        let size = [0, 1].map(|i| ((high[i] - low[i]) / resolution).round() + 1.0);
        if size[0] * size[1] <= MOST_CELLS {
            break (cells, low, size.map(|n| n as usize));
        }
        resolution *= 2.0;
    };
    let costs = CostTable::default().of(map.classes())?;
    let count = size[0] * size[1];
    let mut taken = vec![-1_i8; count];
    let names = ["class", "p", "u", "u_sem", "u_spa", "cost"];
    let mut layers: Vec<(&str, Vec<f32>)> = names.iter().map(|name| (*name, vec![f32::NAN; count])).collect();
    for (center, belief) in cells.centers.iter().zip(cells.beliefs.iter()) {
        let Some(label) = belief.label() else { continue };
        let [x, y] = [0, 1].map(|i| ((center[i] - low[i]) / resolution).round() as usize);
        let at = y * size[0] + x;
        let values = [
            label as f64,
            belief.confidence(),
            belief.uncertainty(),
            belief.semantic_uncertainty(),
            belief.spatial_uncertainty(),
            f64::from(costs[label]),
        ];
        taken[at] = costs[label] as i8;
        layers.iter_mut().zip(values).for_each(|((_, layer), value)| layer[at] = value as f32);
    }
    let corner = [0, 1].map(|i| low[i] - 0.5 * resolution - origin[i]);
    let grid = Layers { resolution, corner, size, layers: &layers };
    let occupancy = compose::occupancy_grid(stamp, frame, resolution, [corner[0], corner[1], 0.0], size, &taken);
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
