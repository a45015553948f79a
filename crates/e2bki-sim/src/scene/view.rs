//! Everything visible from one place at one time: a square of tiles and the moving objects among them.
//! Building a view takes the locks; casting rays takes none, so any number of threads may share it.

use std::sync::Arc;

use super::tile::{COLUMN_M, COLUMNS, Tile, TileKey};
use super::walk::cross_ground;
use super::{GroundSample, Hit, Material, Ray, Solid, Surface};
use crate::maths::Vec3;

/// Gives a ground point its material.
pub(crate) type GroundMaterial = dyn Fn(Vec3, &GroundSample) -> Material + Send + Sync;

/// A moving object: its parts at the view's time and a ball around them.
#[derive(Debug, Clone)]
pub struct Mover {
    /// Centre of the bounding ball.
    pub center: Vec3,
    /// Radius of the bounding ball, metres.
    pub radius: f64,
    /// Parts in world coordinates.
    pub parts: Vec<Solid>,
}

impl Mover {
    /// Wraps parts with their bounding ball.
    pub fn new(parts: Vec<Solid>) -> Mover {
        let far = f64::INFINITY;
        let (mut low, mut high) = (Vec3 { x: far, y: far, z: far }, Vec3 { x: -far, y: -far, z: -far });
        for part in &parts {
            let (a, b) = part.shape.bounds();
            low = Vec3 { x: low.x.min(a.x), y: low.y.min(a.y), z: low.z.min(a.z) };
            high = Vec3 { x: high.x.max(b.x), y: high.y.max(b.y), z: high.z.max(b.z) };
        }
        Mover { center: (low + high) * 0.5, radius: (high - low).length() * 0.5, parts }
    }

    #[inline]
    fn may_hit(&self, ray: &Ray, t_max: f64) -> bool {
        let o = self.center - ray.origin;
        let along = o.dot(ray.direction);
        along + self.radius > 0.0 && along - self.radius < t_max && o.dot(o) - along * along < self.radius * self.radius
    }
}

#[derive(Clone, Copy)]
enum Source {
    Ground,
    Solid(usize, u32),
    Mover(usize, usize),
}

/// A castable piece of the world.
pub struct View {
    low: TileKey,
    across: usize,
    tiles: Vec<Arc<Tile>>,
    movers: Vec<Mover>,
    ground_material: Arc<GroundMaterial>,
    top: f64,
}

impl View {
    /// A view over `across × across` tiles in row order, the first at `low`.
    pub fn new(
        low: TileKey,
        across: usize,
        tiles: Vec<Arc<Tile>>,
        movers: Vec<Mover>,
        ground_material: Arc<GroundMaterial>,
    ) -> View {
        let top = tiles.iter().fold(f64::NEG_INFINITY, |t, tile| t.max(tile.top));
        View { low, across: across.min(tiles.len()), tiles, movers, ground_material, top }
    }

    /// The tile at a world position.
    pub fn tile_at(&self, x: f64, y: f64) -> Option<&Tile> {
        let key = TileKey::of(x, y);
        let (i, j) = (i64::from(key.x - self.low.x), i64::from(key.y - self.low.y));
        let n = self.across as i64;
        ((0..n).contains(&i) && (0..n).contains(&j)).then(|| self.tiles[(j * n + i) as usize].as_ref())
    }

    /// Ground height at a world position inside the view.
    pub fn ground_height(&self, x: f64, y: f64) -> Option<f64> {
        self.tile_at(x, y).map(|tile| tile.ground.height(x, y))
    }

    /// The nearest hit closer than `t_max`, with material and normal.
    pub fn cast(&self, ray: &Ray, t_max: f64) -> Option<Hit> {
        let (surface, source) = self.nearest(ray, t_max, false)?;
        let p = ray.at(surface.t);
        let solid = match source {
            Source::Ground => {
                let sample = self.tile_at(p.x, p.y)?.ground.sample(p.x, p.y);
                return Some(Hit {
                    t: surface.t,
                    normal: sample.normal,
                    material: (self.ground_material)(p, &sample),
                    object: 0,
                    tint: 0,
                    moving: false,
                });
            }
            Source::Solid(tile, solid) => &self.tiles[tile].solids[solid as usize],
            Source::Mover(mover, part) => &self.movers[mover].parts[part],
        };
        Some(Hit {
            t: surface.t,
            normal: surface.normal,
            material: solid.material,
            object: solid.object,
            tint: solid.tint,
            moving: matches!(source, Source::Mover(..)),
        })
    }

    /// True when anything lies on the ray closer than `t_max`.
    pub fn is_blocked(&self, ray: &Ray, t_max: f64) -> bool {
        self.nearest(ray, t_max, true).is_some()
    }

    fn nearest(&self, ray: &Ray, t_max: f64, any: bool) -> Option<(Surface, Source)> {
        let mut best: Option<(Surface, Source)> = None;
        let mut limit = t_max;
        for (m, mover) in self.movers.iter().enumerate() {
            if mover.may_hit(ray, limit) {
                for (k, part) in mover.parts.iter().enumerate() {
                    if let Some(surface) = part.shape.intersect(ray, limit) {
                        limit = surface.t;
                        best = Some((surface, Source::Mover(m, k)));
                    }
                }
            }
        }
        if any && best.is_some() {
            return best;
        }
        let (o, d) = (ray.origin, ray.direction);
        let columns = self.across as i64 * COLUMNS as i64;
        let base = self.low.corner();
        let (px, py) = ((o.x - base[0]) / COLUMN_M, (o.y - base[1]) / COLUMN_M);
        let (mut i, mut j) = (px.floor() as i64, py.floor() as i64);
        let setup = |p: f64, cell: i64, v: f64| {
            if v > 1e-12 {
                (1, (cell as f64 + 1.0 - p) * COLUMN_M / v, COLUMN_M / v)
            } else if v < -1e-12 {
                (-1, (cell as f64 - p) * COLUMN_M / v, -COLUMN_M / v)
            } else {
                (0, f64::INFINITY, f64::INFINITY)
            }
        };
        let (step_x, mut next_x, delta_x) = setup(px, i, d.x);
        let (step_y, mut next_y, delta_y) = setup(py, j, d.y);
        let flat = (d.x as f32, d.y as f32, d.x.hypot(d.y) as f32 + 1e-6);
        let mut t = 0.0;
        while (0..columns).contains(&i) && (0..columns).contains(&j) && t < limit {
            let exit = next_x.min(next_y).min(limit);
            let (za, zb) = (o.z + d.z * t, o.z + d.z * exit);
            if d.z > 0.0 && za > self.top {
                break;
            }
            let (low, high) = if za < zb { (za, zb) } else { (zb, za) };
            let (i_, j_) = (i as usize, j as usize);
            let tile_index = (j_ / COLUMNS) * self.across + i_ / COLUMNS;
            let tile = &self.tiles[tile_index];
            let column = &tile.columns[(j_ % COLUMNS) * COLUMNS + i_ % COLUMNS];
            if low < column.top {
                let from = [(o.x - tile.ground.corner[0]) as f32, (o.y - tile.ground.corner[1]) as f32];
                let (lowest, highest) = (low as f32, high as f32);
                for entry in &tile.entries[column.first as usize..column.last as usize] {
                    let [x, y] = [entry.center[0] - from[0], entry.center[1] - from[1]];
                    let miss = (x * flat.1 - y * flat.0).abs() > entry.radius * flat.2;
                    if miss || entry.high < lowest || entry.low > highest {
                        continue;
                    }
                    if let Some(surface) = tile.solids[entry.solid as usize].shape.intersect(ray, limit) {
                        limit = surface.t;
                        best = Some((surface, Source::Solid(tile_index, entry.solid)));
                        if any {
                            return best;
                        }
                    }
                }
                if low < column.ground_top
                    && let Some(hit) = cross_ground(&tile.ground, ray, t, exit.min(limit))
                    && hit < limit
                {
                    limit = hit;
                    best = Some((Surface { t: hit, normal: Vec3::UP }, Source::Ground));
                }
            }
            if limit <= exit && best.is_some() {
                break;
            }
            if next_x <= next_y {
                (t, i) = (next_x, i + step_x);
                next_x += delta_x;
            } else {
                (t, j) = (next_y, j + step_y);
                next_y += delta_y;
            }
            if t == f64::INFINITY {
                break;
            }
        }
        best
    }

    /// A view over explicit solids on flat ground at `height`, for tests and small studies.
    pub fn flat(height: f64, radius_tiles: i32, solids: &[Solid], material: Material) -> View {
        let node = super::GroundNode { height: height as f32, wet: -1.0, ..Default::default() };
        let low = TileKey { x: -radius_tiles, y: -radius_tiles };
        let across = 2 * radius_tiles.max(1);
        let mut tiles = Vec::new();
        for y in 0..across {
            for x in 0..across {
                let key = TileKey { x: low.x + x, y: low.y + y };
                tiles.push(Arc::new(Tile::build(key, |_, _| node, solids.to_vec())));
            }
        }
        View::new(low, across as usize, tiles, Vec::new(), Arc::new(move |_, _| material))
    }
}
