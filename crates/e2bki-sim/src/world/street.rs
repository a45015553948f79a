//! Objects along an urban street: kerbs, houses, gardens, trees, lamps, signs, parked cars.
//! Everything is placed in street coordinates and dropped where it would stand in another street.

use super::buildings::{Plan, building, enclose};
use super::plants::scatter;
use super::urban::{KERB_M, PAVEMENT_M, ROAD_HALF_M, SIDE_HALF_M, SIDE_REACH_M, Urban};
use super::{RouteWindow, props, tree, vehicles};
use crate::maths::{Stream, Vec3, hash3, vec3};
use crate::scene::{Material, SCENE_TILE_M, Shape, Solid, TileKey};

/// Length of a building plot along the street, metres.
const PLOT_M: f64 = 16.0;
/// Length of a parking place, metres.
const PARKING_M: f64 = 6.4;
/// Length of a kerb stone in the model, metres.
const KERB_PIECE_M: f64 = 0.75;

impl Urban {
    /// Solids that may reach into a tile.
    pub(super) fn solids(&self, key: TileKey, window: &RouteWindow) -> Vec<Solid> {
        let mut out = Vec::new();
        if let Some((from, to)) = window.along_range(key.corner(), SCENE_TILE_M, 26.0) {
            self.plots(from, to, window, &mut out);
            self.furniture(from, to, window, &mut out);
            self.parked(from, to, window, &mut out);
        }
        if let Some((from, to)) = window.along_range(key.corner(), SCENE_TILE_M, 9.0) {
            self.kerbs(from, to, window, &mut out);
        }
        self.side_kerbs(key, window, &mut out);
        self.backyards(key, window, &mut out);
        out
    }

    /// A ground point at street coordinates, if `clear` metres outside every street.
    fn spot(&self, window: &RouteWindow, along: f64, lateral: f64, clear: f64) -> Option<Vec3> {
        let at = window.place(along, lateral);
        let fix = window.locate(at[0], at[1]);
        (self.edge(at[0], at[1], &fix) >= clear).then(|| self.stand(at, &fix))
    }

    fn plots(&self, from: f64, to: f64, window: &RouteWindow, out: &mut Vec<Solid>) {
        for k in (from / PLOT_M).floor() as i64..=(to / PLOT_M).ceil() as i64 {
            for side in [-1.0, 1.0] {
                let mut random = Stream::new(hash3(self.seed ^ 0x81, k, side as i64, 0));
                let along = (k as f64 + 0.5) * PLOT_M;
                self.house(&mut random, window, along, side, out);
                self.front(&mut random, window, along, side, out);
            }
        }
    }

    fn house(&self, random: &mut Stream, window: &RouteWindow, along: f64, side: f64, out: &mut Vec<Solid>) {
        let tall = random.chance(0.12);
        let half = [random.range(4.6, 7.2), random.range(4.0, 5.5)];
        let setback = PAVEMENT_M + if tall { random.range(1.0, 3.0) } else { random.range(3.5, 8.0) };
        let storeys = if tall { 4 + random.below(2) } else { 1 + random.below(3) };
        if !random.chance(0.8) {
            return;
        }
        let lateral = side * (ROAD_HALF_M + setback + half[1]);
        let at = window.place(along, lateral);
        let fix = window.locate(at[0], at[1]);
        let plan = Plan { center: self.stand(at, &fix), half, heading: window.at(along).heading };
        let clear = plan.corners().iter().all(|c| {
            let fix = window.locate(c[0], c[1]);
            self.edge(c[0], c[1], &fix) > PAVEMENT_M + 0.6
        });
        if clear {
            building(random, &plan, storeys, out);
        }
    }

    fn front(&self, random: &mut Stream, window: &RouteWindow, along: f64, side: f64, out: &mut Vec<Solid>) {
        let lateral = side * (ROAD_HALF_M + PAVEMENT_M + 0.25);
        if random.chance(0.7) {
            let gap = random.range(-5.0, 5.0);
            let (start, end) = (along - 0.5 * PLOT_M + 0.3, along + 0.5 * PLOT_M - 0.3);
            for (a, b) in [(start, along + gap - 1.3), (along + gap + 1.3, end)] {
                let ends = [a, b].map(|s| self.spot(window, s, lateral, PAVEMENT_M - 0.2));
                if let [Some(a), Some(b)] = ends
                    && (b - a).length() > 1.0
                {
                    enclose(random, a, b, out);
                }
            }
        }
        for _ in 0..2 + random.below(5) {
            let s = along + random.range(-7.0, 7.0);
            let d = side * (ROAD_HALF_M + PAVEMENT_M + random.range(0.9, 3.0));
            if let Some(base) = self.spot(window, s, d, PAVEMENT_M + 0.6) {
                let size = random.range(0.6, 1.8);
                tree::bush(random, base, size, out);
            }
        }
        if random.chance(0.62) {
            let d = side * (ROAD_HALF_M + 1.85);
            if let Some(base) = self.spot(window, along + random.range(-6.0, 6.0), d, 1.5) {
                tree::broadleaf(random, base, self.season, out);
            }
        }
    }

    fn furniture(&self, from: f64, to: f64, window: &RouteWindow, out: &mut Vec<Solid>) {
        for k in (from / 14.0).floor() as i64..=(to / 14.0).ceil() as i64 {
            for side in [-1.0, 1.0] {
                let mut random = Stream::new(hash3(self.seed ^ 0x82, k, side as i64, 0));
                let along = (k as f64 + random.range(0.2, 0.8)) * 14.0;
                let Some(base) = self.spot(window, along, side * (ROAD_HALF_M + 0.45), 0.4) else { continue };
                let street = window.at(along);
                let heading = if side < 0.0 { street.heading } else { street.heading + std::f64::consts::PI };
                let over = vec3(-street.heading.sin(), street.heading.cos(), 0.0) * -side;
                let near_crossing = self.side_edge(base.x, base.y) < 3.5;
                match random.below(10) {
                    _ if near_crossing => props::traffic_light(base, heading, out),
                    0..=2 => props::lamp(base, over, out),
                    3..=5 => props::traffic_sign(&mut random, base, heading, out),
                    6 => {
                        let spot = base - over * 1.2;
                        let turn = random.range(0.0, std::f64::consts::TAU);
                        out.extend(vehicles::person(&mut random, spot, turn, 0.1));
                    }
                    _ => {}
                }
            }
        }
    }

    fn parked(&self, from: f64, to: f64, window: &RouteWindow, out: &mut Vec<Solid>) {
        for k in (from / PARKING_M).floor() as i64..=(to / PARKING_M).ceil() as i64 {
            for side in [-1.0, 1.0] {
                let mut random = Stream::new(hash3(self.seed ^ 0x83, k, side as i64, 0));
                let along = (k as f64 + 0.5) * PARKING_M + random.range(-0.4, 0.4);
                let taken = random.chance(self.profile.parked_share);
                let at = window.place(along, side * 4.15);
                if !taken || self.side_edge(at[0], at[1]) < 6.0 {
                    continue;
                }
                let base = self.stand(at, &window.locate(at[0], at[1]));
                let street = window.at(along).heading;
                let heading = if side < 0.0 { street } else { street + std::f64::consts::PI };
                let turn = heading + random.range(-0.03, 0.03);
                let large = random.chance(0.13);
                out.extend(if large {
                    vehicles::truck(&mut random, base, turn)
                } else {
                    vehicles::car(&mut random, base, turn)
                });
            }
        }
    }

    fn kerb(&self, at: [f64; 2], heading: f64, out: &mut Vec<Solid>) {
        let ground = self.height(at[0], at[1], 0.0) + KERB_M - 0.012;
        let half = vec3(0.5 * KERB_PIECE_M + 0.01, 0.27, 0.3);
        let center = vec3(at[0], at[1], ground - half.z);
        let shape = Shape::Cuboid { center, half, turn: [heading.cos(), heading.sin()] };
        out.push(Solid { shape, material: Material::Concrete, tint: 0, object: 0 });
    }

    fn kerbs(&self, from: f64, to: f64, window: &RouteWindow, out: &mut Vec<Solid>) {
        for k in (from / KERB_PIECE_M).floor() as i64..=(to / KERB_PIECE_M).ceil() as i64 {
            let along = (k as f64 + 0.5) * KERB_PIECE_M;
            for side in [-1.0, 1.0] {
                let at = window.place(along, side * (ROAD_HALF_M + 0.27));
                let fix = window.locate(at[0], at[1]);
                if self.side_edge(at[0], at[1]) > 0.3 && fix.lateral.abs() > ROAD_HALF_M + 0.2 {
                    self.kerb(at, window.at(along).heading, out);
                }
            }
        }
    }

    fn side_kerbs(&self, key: TileKey, window: &RouteWindow, out: &mut Vec<Solid>) {
        let [x0, y0] = key.corner();
        for street in self.side_streets(x0 + 0.5 * SCENE_TILE_M) {
            let heading = street.along[1].atan2(street.along[0]) + std::f64::consts::FRAC_PI_2;
            let pieces = (2.0 * SIDE_REACH_M / KERB_PIECE_M) as i64;
            for k in 0..pieces {
                let v = (k as f64 + 0.5) * KERB_PIECE_M - SIDE_REACH_M;
                for side in [-1.0, 1.0] {
                    let at = street.place(side * (SIDE_HALF_M + 0.27), v);
                    let near = (at[0] - x0 - 16.0).abs() < 18.0 && (at[1] - y0 - 16.0).abs() < 18.0;
                    if near && window.locate(at[0], at[1]).lateral.abs() > ROAD_HALF_M + 0.3 {
                        self.kerb(at, heading, out);
                    }
                }
            }
        }
    }

    fn backyards(&self, key: TileKey, window: &RouteWindow, out: &mut Vec<Solid>) {
        scatter(self.seed ^ 0x84, key, 8.5, 5.0, |random, x, y| {
            let fix = window.locate(x, y);
            let edge = self.edge(x, y, &fix);
            if edge > 19.0 && random.chance(0.36) {
                let base = self.stand([x, y], &fix);
                if random.chance(0.3) {
                    tree::conifer(random, base, out);
                } else {
                    tree::broadleaf(random, base, self.season, out);
                }
            }
        });
        scatter(self.seed ^ 0x85, key, 27.0, 16.0, |random, x, y| {
            let fix = window.locate(x, y);
            if self.edge(x, y, &fix) > 30.0 && random.chance(0.6) {
                let half = [random.range(6.0, 11.0), random.range(5.0, 8.0)];
                let plan = Plan { center: self.stand([x, y], &fix), half, heading: fix.heading };
                let storeys = 2 + random.below(4);
                building(random, &plan, storeys, out);
            }
        });
    }
}
