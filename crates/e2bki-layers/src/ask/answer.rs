//! Answers: sums over the primitives of a map, as the views of the SQL have them.

use std::collections::{BTreeMap, HashMap, HashSet};

use e2bki::Mapper;

use super::{Measure, Place, Question, SIDE_M};
use crate::error::{Error, Result};

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: &'static str,
    /// Primitives of the map that were seen through since: they count here, as they do in SQL.
    pub gone: usize,
}

/// A primitive, as far as questions are about it.
struct Item {
    at: [f64; 3],
    class: usize,
    u: f64,
    range: f64,
    points: f64,
}

/// One of the things that are measured: where it is, its class, and its fields in order.
struct Thing {
    at: [f64; 2],
    class: usize,
    fields: Vec<f64>,
}

fn index(value: f64) -> i64 {
    (value / SIDE_M).floor() as i64
}

fn middle(index: i64) -> f64 {
    (index as f64 + 0.5) * SIDE_M
}

/// Ground cells by column and row.
fn cells(items: &[Item]) -> HashMap<[i64; 2], Thing> {
    let mut lowest: HashMap<[i64; 2], (&Item, f64, f64)> = HashMap::new();
    for item in items {
        let key = [index(item.at[0]), index(item.at[1])];
        let (low, high, points) = lowest.entry(key).or_insert((item, f64::NEG_INFINITY, 0.0));
        let rank = |i: &Item| (i.at[2], i.class as f64, i.u);
        if rank(item) < rank(low) {
            *low = item;
        }
        (*high, *points) = (high.max(item.at[2]), *points + item.points);
    }
    let thing = |(key, (low, high, points)): ([i64; 2], (&Item, f64, f64))| {
        let fields = vec![low.u, low.at[2], high, high - low.at[2], points];
        (key, Thing { at: key.map(middle), class: low.class, fields })
    };
    lowest.into_iter().map(thing).collect()
}

fn voxels(items: &[Item]) -> Vec<Thing> {
    // Points by class, and Σ points · u of all.
    let mut voxels: HashMap<[i64; 3], (BTreeMap<usize, f64>, f64)> = HashMap::new();
    for item in items {
        let (points, doubt) = voxels.entry(item.at.map(index)).or_default();
        *points.entry(item.class).or_default() += item.points;
        *doubt += item.points * item.u;
    }
    let thing = |([x, y, z], (points, doubt)): ([i64; 3], (BTreeMap<usize, f64>, f64))| {
        let all: f64 = points.values().sum();
        let most = points.iter().fold((0, 0.0), |most, (class, n)| if *n > most.1 { (*class, *n) } else { most });
        let fields = vec![doubt / all, most.1 / all, middle(z), all];
        Thing { at: [middle(x), middle(y)], class: most.0, fields }
    };
    voxels.into_iter().map(thing).collect()
}

/// Places by squares as wide as the distance that is asked for, so that only nine are looked at.
struct Near<'a> {
    squares: HashMap<[i64; 2], Vec<&'a [f64; 2]>>,
    side: f64,
    metres: f64,
}

impl<'a> Near<'a> {
    fn of(places: &'a [[f64; 2]], metres: f64) -> Self {
        let side = metres.max(SIDE_M);
        let mut squares: HashMap<[i64; 2], Vec<&[f64; 2]>> = HashMap::new();
        for place in places {
            squares.entry(place.map(|v| (v / side).floor() as i64)).or_default().push(place);
        }
        Self { squares, side, metres }
    }

    fn has(&self, at: [f64; 2]) -> bool {
        let [x, y] = at.map(|v| (v / self.side).floor() as i64);
        let around = (y - 1..=y + 1).flat_map(|y| (x - 1..=x + 1).map(move |x| [x, y]));
        let mut places = around.filter_map(|square| self.squares.get(&square)).flatten();
        places.any(|place| (place[0] - at[0]).powi(2) + (place[1] - at[1]).powi(2) <= self.metres.powi(2))
    }
}

impl Question {
    /// The answer of a map; `way` holds x and y of the steps of a way.
    pub fn answer(&self, map: &Mapper, way: Option<&[[f64; 2]]>) -> Result<Answer> {
        if self.needs_way() && way.is_none_or(<[_]>::is_empty) {
            return Err(Error::Refused(
                "the question is about a way: give one, as `e2bki plan -o way.csv` writes it".into(),
            ));
        }
        let (way, mut items, mut gone) = (way.unwrap_or_default(), Vec::new(), 0);
        for primitive in map.primitives().filter(|primitive| !primitive.state().muted) {
            gone += usize::from(primitive.is_gone());
            // What a file keeps in 32 bits is compared as that.
            let range = f64::from(primitive.range() as f32);
            let (at, class, u) = (primitive.mean(), primitive.label(), primitive.uncertainty());
            items.push(Item { at, class, u, range, points: primitive.weight() });
        }
        let places: Vec<[f64; 2]> = match &self.within {
            None => Vec::new(),
            Some((_, Place::At(at))) => vec![*at],
            Some((_, Place::Way)) => way.to_vec(),
            Some((_, Place::Class(class))) => {
                items.iter().filter(|item| item.class == *class).map(|item| [item.at[0], item.at[1]]).collect()
            }
        };
        let near = self.within.as_ref().map(|(metres, _)| Near::of(&places, *metres));
        let wanted = |thing: &Thing| {
            (self.classes.is_empty() || self.classes.contains(&thing.class))
                && self.conditions.iter().all(|c| c.comparison.holds(thing.fields[c.field], c.limit))
                && near.as_ref().is_none_or(|near| near.has(thing.at))
        };
        let count = |things: &mut dyn Iterator<Item = Thing>| things.filter(wanted).count() as f64;
        let (value, unit) = match self.measure {
            Measure::Area => (SIDE_M * SIDE_M * count(&mut cells(&items).into_values()), "m²"),
            Measure::Volume => (SIDE_M * SIDE_M * SIDE_M * count(&mut voxels(&items).into_iter()), "m³"),
            Measure::Count => {
                let thing = |i: &Item| {
                    let fields = vec![i.u, i.range, i.at[2], i.points];
                    Thing { at: [i.at[0], i.at[1]], class: i.class, fields }
                };
                (count(&mut items.iter().map(thing)), "primitives")
            }
            Measure::Length => {
                let ground: HashSet<[i64; 2]> =
                    cells(&items).into_iter().filter(|(_, thing)| wanted(thing)).map(|(key, _)| key).collect();
                let on = |pair: &&[[f64; 2]]| {
                    ground.contains(&std::array::from_fn(|i| index((pair[0][i] + pair[1][i]) / 2.0)))
                };
                let metres =
                    |pair: &[[f64; 2]]| ((pair[1][0] - pair[0][0]).powi(2) + (pair[1][1] - pair[0][1]).powi(2)).sqrt();
                (way.windows(2).filter(on).map(metres).sum(), "m")
            }
        };
        Ok(Answer { value, unit, gone })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::{ClassSet, Config, Frame, Pose, Semantics};

    /// 4 × 4 m of grass with a column of tree on it, and a metre of dirt beside it.
    fn map() -> Mapper {
        let (mut points, mut labels) = (Vec::new(), Vec::new());
        let mut add = |point: [f32; 3], label: u32| {
            points.push(point);
            labels.push(label);
        };
        for i in 0..40 {
            for j in 0..40 {
                add([0.05 + 0.1 * i as f32, 0.05 + 0.1 * j as f32, 0.1], 0);
            }
        }
        for i in 0..10 {
            for j in 0..10 {
                add([6.05 + 0.1 * i as f32, 0.05 + 0.1 * j as f32, 0.1], 2);
                add([1.05 + 0.01 * j as f32, 1.05, 0.6 + 0.2 * i as f32], 1);
            }
        }
        let mut map = Mapper::new(ClassSet::from_names(["grass", "tree", "dirt"]).unwrap(), Config::default()).unwrap();
        let frame = Frame {
            points: &points,
            semantics: Semantics::Labels(&labels),
            world_from_sensor: Pose::IDENTITY,
            scan: None,
        };
        map.insert(&frame).unwrap();
        map
    }

    #[test]
    fn answers_are_those_counted_by_hand() {
        let map = map();
        let way: Vec<[f64; 2]> = (0..=80).map(|i| [0.1 * f64::from(i), 0.4]).collect();
        let ask = |text: &str| Question::parse(text, map.classes()).unwrap().answer(&map, Some(&way)).unwrap().value;
        assert_eq!(ask("area of grass"), 16.0);
        assert_eq!(ask("area of grass or dirt"), 17.0);
        assert_eq!(ask("area of anything"), 17.0);
        assert_eq!(ask("area of grass with height > 1"), 0.25);
        assert_eq!(ask("area of grass with high < 1"), 15.75);
        assert_eq!(ask("volume of grass"), 8.0);
        // From 0.6 to 2.4 m: voxels at 0.5, 1, 1.5 and 2.
        assert_eq!(ask("volume of tree"), 0.5);
        assert_eq!(ask("volume of tree with z > 1"), 0.375);
        assert_eq!(ask("count of anything"), map.len() as f64);
        assert_eq!(ask("count of anything with points >= 1"), map.len() as f64);
        assert_eq!(ask("count of grass with u > 1"), 0.0);
        assert!((ask("length of grass") - 4.0).abs() < 1e-9 && (ask("length of dirt") - 1.0).abs() < 1e-9);
        // Centres at 0.25, 0.75 … up to 3.75: those at most a metre from the corner.
        assert_eq!(ask("area of grass within 1 m of 0,0"), 0.75);
        assert_eq!(ask("area of dirt within 1 m of tree"), 0.0);
        assert_eq!(ask("area of dirt within 6 m of tree"), 1.0);
        assert_eq!(ask("area of grass within 0.2 m of the way"), 2.0);
        assert_eq!(ask("area of grass within 0 m of the way"), 0.0);
    }

    #[test]
    fn a_question_about_a_way_needs_one() {
        let map = map();
        let question = Question::parse("length of grass", map.classes()).unwrap();
        assert!(question.answer(&map, None).unwrap_err().to_string().contains("way.csv"));
        assert!(question.answer(&map, Some(&[])).is_err());
        let empty = Mapper::new(map.classes().clone(), Config::default()).unwrap();
        let question = Question::parse("area of grass within 5 m of tree", map.classes()).unwrap();
        assert_eq!(question.answer(&empty, None).unwrap(), Answer { value: 0.0, unit: "m²", gone: 0 });
    }
}
