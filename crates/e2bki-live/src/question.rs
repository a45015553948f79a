//! Points that somebody asks about, and what the map says of them.

use e2bki::{Mapper, Pose};
use e2bki_bag::compose::{MAP_POINT_BYTES, MapPoint, map_points};
use e2bki_bag::messages::Cloud;
use e2bki_bag::wire::{Broken, Read, Wire};

/// Most points of a question: its answer is to stay below a megabyte.
pub(crate) const MOST_POINTS: usize = 36_000;

/// Class of places that nothing is known of.
const NOTHING: usize = u16::MAX as usize;

/// Points that somebody asks about: a `PointCloud2` with `x y z`.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Its stamp, by which the answer is known.
    pub stamp: u64,
    /// Frame of its points.
    pub frame: String,
    points: Vec<[f32; 3]>,
}

impl Question {
    /// Reads a cloud.
    pub fn read(message: &[u8]) -> Read<Self> {
        let cloud = Cloud::read(Wire::Cdr, message)?;
        if cloud.len() > MOST_POINTS {
            return Err(Broken(format!("{} points in a question; {MOST_POINTS} are answered at most", cloud.len())));
        }
        let (stamp, frame) = (cloud.header.stamp, cloud.header.frame.to_string());
        Ok(Self { stamp, frame, points: cloud.decode()?.points })
    }

    /// What the map says: a point for each, in their order and frame, with class 65535 where nothing is known.
    pub fn answer(&self, mapper: &Mapper, world_from_frame: &Pose) -> Vec<u8> {
        let finite = |p: &[f32; 3]| p.iter().all(|v| v.is_finite());
        let asked = |p: &[f32; 3]| if finite(p) { world_from_frame.apply(p.map(f64::from)) } else { [f64::NAN; 3] };
        let places: Vec<[f64; 3]> = self.points.iter().map(asked).collect();
        let known: Vec<[f64; 3]> = places.iter().copied().filter(|p| p[0].is_finite()).collect();
        let beliefs = mapper.query(&known);
        let mut answers = beliefs.iter();
        let mut data = Vec::with_capacity(places.len() * MAP_POINT_BYTES);
        for (point, place) in self.points.iter().zip(&places) {
            let belief = if place[0].is_finite() { answers.next() } else { None };
            let told = belief.and_then(|belief| Some((belief.label()?, belief.confidence(), belief.uncertainty())));
            let (class, p, u) = told.unwrap_or((NOTHING, 0.0, 1.0));
            let color = mapper.classes().colors().get(class).copied().unwrap_or_default();
            data.extend(MapPoint { place: point.map(f64::from), color, class, p, u }.bytes());
        }
        map_points(self.stamp, &self.frame, &data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::{ClassSet, Config, Frame, Semantics};
    use e2bki_bag::compose;
    use e2bki_bag::messages::Number;

    #[test]
    fn points_are_answered_in_their_order_as_the_map_says() {
        let mut map = Mapper::new(ClassSet::from_names(["road", "tree"]).unwrap(), Config::default()).unwrap();
        let seen: Vec<[f32; 3]> = (0..50).map(|i| [2.0 + 0.02 * i as f32, 0.1, 0.1]).collect();
        let labels = vec![1; 50];
        let semantics = Semantics::Labels(&labels);
        map.insert(&Frame { points: &seen, semantics, world_from_sensor: Pose::IDENTITY, scan: None }).unwrap();
        let asked = [[1.5_f32, 0.1, 0.1], [f32::NAN, 0.0, 0.0], [90.0, 0.0, 0.0], [1.8, 0.1, 0.1]];
        let data: Vec<u8> = asked.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
        let fields = [("x", Number::F32), ("y", Number::F32), ("z", Number::F32)];
        let question = Question::read(&compose::cloud(77, "base", &fields, 4, &data)).unwrap();
        let world_from_base = Pose::from_translation([1.0, 0.0, 0.0]).unwrap();
        let message = question.answer(&map, &world_from_base);
        let answer = Cloud::read(Wire::Cdr, &message).unwrap();
        assert_eq!((answer.header.stamp, answer.header.frame, answer.len()), (77, "base", 4));
        let column = |name: &str| answer.column(answer.field(&[name]).unwrap()).collect::<Vec<f64>>();
        assert_eq!(column("class"), [1.0, 65535.0, 65535.0, 1.0]);
        let exact = map.query(&[[2.5, 0.1, 0.1_f32 as f64]]);
        let exact = exact.iter().next().unwrap();
        assert!(
            (column("p")[0] - exact.confidence()).abs() < 1e-3 && (column("u")[0] - exact.uncertainty()).abs() < 1e-3
        );
        assert_eq!((column("p")[2], column("u")[2]), (0.0, 1.0));
        let many = vec![0; 12 * (MOST_POINTS + 1)];
        assert!(Question::read(&compose::cloud(1, "map", &fields, MOST_POINTS + 1, &many)).is_err());
    }
}
