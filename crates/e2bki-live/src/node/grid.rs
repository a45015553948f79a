//! The map from above, as planners read it.

use e2bki_bag::compose::{self, Plane};

use super::{At, Node};
use crate::map::LiveMap;
use crate::parameters::Values;
use crate::planning::Rectangle;

/// How far kernels of the map's primitives reach at most, metres: what is looked at around the grid from above.
const REACH_M: i32 = 4;

/// Cells of a grid from above: its message is to stay below a megabyte.
const MOST_CELLS: usize = 990_000;

impl Node<'_> {
    /// What grids cover: the surroundings of the robot, or the region that somebody named.
    pub(super) fn window(&self, at: &At) -> Rectangle {
        let Values { window, region, .. } = self.values();
        let half = 0.5 * window;
        let [x, y, _] = at.place;
        region.unwrap_or([x - half, y - half, x + half, y + half])
    }

    /// What is around the sensor, from above.
    pub(super) fn grid(&self, map: &dyn LiveMap, at: &At) -> Option<Vec<u8>> {
        let mapper = map.mapper();
        let [left, bottom, right, top] = self.window(at);
        let metre = |v: f64| v.floor() as i32;
        let low = [left, bottom].map(|v| metre(v).saturating_sub(REACH_M));
        let high = [right, top].map(|v| metre(v).saturating_add(REACH_M));
        let seen = mapper.birds_eye_within(low, high).ok()?;
        let sides = [right - left, top - bottom];
        let mut resolution = mapper.config().views.resolution;
        while sides.iter().map(|side| side / resolution + 1.0).product::<f64>() > MOST_CELLS as f64 {
            resolution *= 2.0;
        }
        let cells = seen.cells(resolution).ok()?;
        // A window that moves with the robot by whole cells: always of the same size, so that planners need not adapt.
        let size = sides.map(|side| (side / resolution).round().max(1.0) as usize);
        let first = |v: f64| ((v / resolution).floor() + 0.5) * resolution;
        let plane = Plane { resolution, low: [first(left), first(bottom)], size };
        let mut taken = vec![-1_i8; plane.cells()];
        for (center, belief) in cells.centers.iter().zip(cells.beliefs.iter()) {
            if let (Some(label), Some(cell)) = (belief.label(), plane.cell(*center)) {
                taken[cell] = self.options.costs.get(label).map_or(-1, |cost| *cost as i8);
            }
        }
        let corner = plane.corner();
        let corner = [corner[0] - at.origin[0], corner[1] - at.origin[1], 0.0];
        Some(compose::occupancy_grid(at.stamp, &at.frame, resolution, corner, plane.size, &taken))
    }
}
