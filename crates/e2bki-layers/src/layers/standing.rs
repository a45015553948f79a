//! Steps and obstacles of the marked cells.

use super::Layers;
use super::marks::Marks;
use crate::obstacle::Standing;

impl Layers {
    /// Steps between a cell's ground and that of the cells around it, with the plane taken out.
    fn step(&self, cell: usize) -> f32 {
        let off = |cell: usize| self.ground[cell] - self.cells[cell].height;
        let own = off(cell);
        if own.is_nan() {
            return f32::NAN;
        }
        let (width, rows) = (self.grid.size[0], self.grid.size[1]);
        let (column, row) = (cell % width, cell / width);
        let mut highest = f32::NAN;
        for y in row.saturating_sub(1)..(row + 2).min(rows) {
            for x in column.saturating_sub(1)..(column + 2).min(width) {
                let difference = (off(y * width + x) - own).abs();
                if difference.is_finite() && y * width + x != cell {
                    highest = highest.max(difference);
                }
            }
        }
        highest
    }

    /// What stands in cells whose surfaces or ground changed, and steps beside them; returns the cells where that made a
    /// difference.
    pub(super) fn find_obstacles(
        &mut self,
        touched: &Marks,
        floors: &[usize],
        admitted: &Marks,
        raised: &Marks,
    ) -> Marks {
        let mut stand = touched.clone();
        stand.join(raised);
        if !stand.everything {
            // Without ground the floors around say what hangs too high.
            for tile in floors.iter().flat_map(|tile| self.tiles.around(*tile)) {
                for cell in self.tiles.cells(&self.grid, tile).iter().filter(|c| !self.cells[*c].height.is_finite()) {
                    stand.add(tile, cell);
                }
            }
        }
        let mut steps = admitted.clone();
        steps.join(raised);
        let mut marks = steps.grown(&self.tiles, &self.grid, [1, 1]);
        marks.join(&stand);
        let standing = |layers: &Self, tile: usize| {
            let patch = layers.tiles.cells(&layers.grid, tile);
            let settings = &layers.settings;
            // Where no ground is known, as below a crown, the lowest around tells what hangs too high to block.
            let floor =
                layers.tiles.around(tile).map(|other| layers.floors[other].height).fold(f32::INFINITY, f32::min);
            let floor = if floor.is_finite() { floor } else { f32::NAN };
            let mut found = vec![Standing::NOTHING; patch.len()];
            if patch.iter().any(|cell| stand.has(cell)) {
                let near = layers.tiles.surfels_near(&layers.grid, tile);
                for surfel in near.filter(|surfel| surfel.points >= settings.min_points) {
                    surfel.cover(&layers.grid, &patch, |k, cell, height, half| {
                        let known = layers.cells[cell].height;
                        let ground = f64::from(if known.is_finite() { known } else { floor });
                        found[k].add(height - half - ground, height + half - ground, surfel.lethal, &settings.robot);
                    });
                }
            }
            let marked = patch.iter().zip(found).filter(|(cell, _)| marks.has(*cell));
            marked.map(|(cell, found)| (layers.step(cell), stand.has(cell).then_some(found))).collect()
        };
        let mut changed = Marks::none(&self.tiles, &self.grid);
        self.each(&marks, standing, |layers, tile, cell, (step, standing): (f32, Option<Standing>)| {
            let known = &mut layers.cells[cell];
            let before = *known;
            known.step = step;
            if let Some(standing) = standing {
                known.obstacle = standing.probability;
                (known.obstacle_low, known.obstacle_high) = standing.range();
                known.overhang = standing.overhang();
            }
            let all =
                |c: &crate::Cell| [c.step, c.obstacle, c.obstacle_low, c.obstacle_high, c.overhang].map(f32::to_bits);
            if all(&before) != all(known) {
                changed.add(tile, cell);
            }
        });
        changed
    }
}
