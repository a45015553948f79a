//! Which tiles frames have changed, found in a small part of the time that the mapper takes for them.

use std::collections::BTreeMap;

use e2bki::Frame;

use crate::tile::Tile;

/// Most tiles that are marked at once; a frame of scattered nonsense must not mark the world.
const MOST_MARKED: usize = 4096;
/// Refinement changes primitives this near to new ones, metres.
const AROUND_M: f64 = 2.0;
/// Points that follow each other lie mostly at one place: so many are looked at together, as a ball around their box, …
const TOGETHER: usize = 16;
/// … or so few where that is too large …
const FEW: usize = 4;
/// … for this radius, metres, and one by one where that is too.
const BALL_M: f64 = 4.0;
/// Primitives lie at most this far above and below the points of their tile and of those around it, metres.
const ABOVE_M: f64 = 4.0;

/// Tiles around a place, and the heights there.
type Run = ([Tile; 2], [f64; 2]);

/// Tiles that changed.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// Changed since they were last taken, with the frame that first changed them.
    marked: BTreeMap<Tile, u64>,
    /// Lowest and highest of what was ever seen in a tile.
    heights: BTreeMap<Tile, [f64; 2]>,
}

impl Marks {
    /// How many tiles are marked.
    pub(crate) fn len(&self) -> usize {
        self.marked.len()
    }

    /// Marked tiles, longest waiting first.
    pub(crate) fn in_order(&self) -> Vec<Tile> {
        let mut order: Vec<(u64, Tile)> = self.marked.iter().map(|(tile, frame)| (*frame, *tile)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, tile)| tile).collect()
    }

    /// Marks a tile whose primitives changed without a frame of their own.
    pub(crate) fn add_tile(&mut self, tile: Tile, frame: u64) {
        self.marked.entry(tile).or_insert(frame);
    }

    /// Takes a mark away.
    pub(crate) fn remove(&mut self, tile: Tile) {
        self.marked.remove(&tile);
    }

    /// Between which heights the primitives lie that reach into a tile.
    pub(crate) fn heights(&self, Tile([x, y]): Tile) -> [f64; 2] {
        let around = (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (dx, dy)));
        let known = around.filter_map(|(dx, dy)| self.heights.get(&Tile([x.saturating_add(dx), y.saturating_add(dy)])));
        let [low, high] = known.fold([f64::INFINITY, f64::NEG_INFINITY], |a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        [low - ABOVE_M, high + ABOVE_M]
    }

    /// Marks the tile of a place.
    pub(crate) fn add(&mut self, [x, y, z]: [f64; 3], frame: u64) {
        let tile = Tile::of(x, y);
        self.marked.entry(tile).or_insert(frame);
        let known = self.heights.entry(tile).or_insert([z, z]);
        *known = [known[0].min(z), known[1].max(z)];
    }

    /// Marks the tiles that a frame of this number may have changed.
    pub(crate) fn add_frame(&mut self, frame: &Frame<'_>, number: u64, max_range: f64) {
        let far = max_range.min(e2bki::WORLD_LIMIT_M);
        let mut run = None;
        for points in frame.points.chunks(TOGETHER) {
            if !self.add_ball(&mut run, points, frame, number, far) {
                for few in points.chunks(FEW) {
                    if !self.add_ball(&mut run, few, frame, number, far) {
                        self.add_points(&mut run, few, frame, number, far);
                    }
                }
            }
        }
        self.mark(run, number);
    }

    /// Adds points together where they lie at one place and are near enough.
    fn add_ball(
        &mut self,
        run: &mut Option<Run>,
        points: &[[f32; 3]],
        frame: &Frame<'_>,
        number: u64,
        far: f64,
    ) -> bool {
        let (middle, radius) = ball(points);
        let together = radius <= BALL_M && squared(middle) <= (far - radius).max(0.0).powi(2);
        if together {
            self.follow(run, frame.world_from_sensor.apply(middle), radius, number);
        }
        together
    }

    fn add_points(&mut self, run: &mut Option<Run>, points: &[[f32; 3]], frame: &Frame<'_>, number: u64, far: f64) {
        for point in points.iter().map(|p| p.map(f64::from)).filter(|p| squared(*p) <= far * far) {
            self.follow(run, frame.world_from_sensor.apply(point), 0.0, number);
        }
    }

    /// Adds a place to a run of the same tiles, or marks those and begins another.
    fn follow(&mut self, run: &mut Option<Run>, [x, y, z]: [f64; 3], radius: f64, number: u64) {
        let around = AROUND_M + radius;
        let corners = [Tile::of(x - around, y - around), Tile::of(x + around, y + around)];
        match run {
            Some((same, heights)) if *same == corners => {
                *heights = [heights[0].min(z - radius), heights[1].max(z + radius)];
            }
            _ => self.mark(run.replace((corners, [z - radius, z + radius])), number),
        }
    }

    fn mark(&mut self, run: Option<Run>, number: u64) {
        let Some(([low, high], heights)) = run else { return };
        for tx in low.0[0]..=high.0[0] {
            for tile in (low.0[1]..=high.0[1]).map(|ty| Tile([tx, ty])) {
                if self.marked.len() >= MOST_MARKED && !self.marked.contains_key(&tile) {
                    continue;
                }
                self.marked.entry(tile).or_insert(number);
                let known = self.heights.entry(tile).or_insert(heights);
                *known = [known[0].min(heights[0]), known[1].max(heights[1])];
            }
        }
    }
}

/// Middle and radius of a ball that holds all points but those that are not numbers; the radius of what is infinite is so too.
fn ball(points: &[[f32; 3]]) -> ([f64; 3], f64) {
    // Four points at a time, whose coordinates fill whole registers.
    let (mut low, mut high) = ([f32::INFINITY; 12], [f32::NEG_INFINITY; 12]);
    let (fours, rest) = points.as_flattened().as_chunks::<12>();
    for four in fours {
        for i in 0..12 {
            low[i] = if four[i] < low[i] { four[i] } else { low[i] };
            high[i] = if four[i] > high[i] { four[i] } else { high[i] };
        }
    }
    for (i, v) in rest.iter().enumerate() {
        (low[i], high[i]) = (low[i].min(*v), high[i].max(*v));
    }
    let ends: [[f64; 2]; 3] = std::array::from_fn(|axis| {
        let of = [axis, axis + 3, axis + 6, axis + 9];
        let (low, high) = (of.map(|i| low[i]), of.map(|i| high[i]));
        [low.into_iter().fold(f32::INFINITY, f32::min), high.into_iter().fold(f32::NEG_INFINITY, f32::max)]
            .map(f64::from)
    });
    (ends.map(|[low, high]| 0.5 * (low + high)), squared(ends.map(|[low, high]| 0.5 * (high - low))).sqrt())
}

fn squared([x, y, z]: [f64; 3]) -> f64 {
    x * x + y * y + z * z
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::{Pose, Semantics};

    /// Points in rings with jumps, and some nonsense.
    fn points() -> Vec<[f32; 3]> {
        let mut points: Vec<[f32; 3]> = (0..6000_u32)
            .map(|i| {
                let (turn, range) = (f64::from(i) * 0.01, f64::from(3 + (i.wrapping_mul(2_654_435_761) >> 20) % 90));
                let range = if i % 40 < 30 { 20.0 + f64::from(i / 600) } else { range };
                [turn.cos() * range, turn.sin() * range, f64::from(i % 7) - 2.0].map(|v| v as f32)
            })
            .collect();
        for (i, bad) in [f32::NAN, f32::INFINITY, 1e30, 0.0].into_iter().enumerate() {
            points[500 * i + 7][i % 3] = bad;
        }
        points
    }

    #[test]
    fn no_tile_is_missed_and_few_are_marked_in_vain() {
        let (points, far) = (points(), 70.0);
        let (s, c) = (0.6, 0.8);
        let world_from_sensor = Pose::new([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [1e4, -77.0, 3.0]).unwrap();
        let frame = Frame { points: &points, semantics: Semantics::Labels(&[]), world_from_sensor };
        let mut marks = Marks::default();
        marks.add_frame(&frame, 5, far);
        let near = |around: f64| {
            let used = points.iter().map(|p| p.map(f64::from)).filter(|p| squared(*p) <= far * far);
            let places = used.map(|p| world_from_sensor.apply(p));
            places
                .flat_map(|[x, y, z]| {
                    [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)]
                        .map(|(dx, dy)| (Tile::of(x + dx * around, y + dy * around), z))
                })
                .collect::<Vec<_>>()
        };
        for (tile, z) in near(AROUND_M) {
            assert_eq!(marks.marked.get(&tile), Some(&5), "{tile:?}");
            let [low, high] = marks.heights(tile);
            assert!(low <= z - ABOVE_M && z + ABOVE_M <= high);
        }
        let wide: Vec<Tile> = near(AROUND_M + 2.0 * BALL_M).into_iter().map(|(tile, _)| tile).collect();
        assert!(marks.in_order().iter().all(|tile| wide.contains(tile)));
    }

    #[test]
    fn nonsense_is_no_ball() {
        assert_eq!(ball(&[[1.0, 2.0, 3.0], [3.0, 2.0, 3.0]]), ([2.0, 2.0, 3.0], 1.0));
        let many: Vec<[f32; 3]> = (0..11).map(|i| [i as f32, -1.0, 2.0 * (i % 5) as f32]).collect();
        assert_eq!(ball(&many).0, [5.0, -1.0, 4.0]);
        for bad in [f32::INFINITY, f32::NEG_INFINITY] {
            assert!(!ball(&[[1.0, bad, 0.0], [1.0, 1.0, 0.0]]).1.is_finite());
        }
        assert!(!ball(&[]).1.is_finite() && !ball(&[[f32::NAN; 3]]).1.is_finite());
    }
}
