//! The set of classes: run-time data, never a compile-time constant.

use crate::error::{Error, Result};

/// Cost of a class that cannot be driven on or through.
pub const LETHAL_COST: u8 = 100;

/// Most classes a map may have.
pub const MAX_CLASSES: usize = 1024;

/// Names and colours of the classes, in the order of their ids 0, 1, 2, …
///
/// ```
/// let classes = e2bki::ClassSet::from_names(["road", "grass", "tree"])?;
/// assert_eq!(classes.len(), 3);
/// assert_eq!(classes.find("grass"), Some(1));
/// # Ok::<(), e2bki::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassSet {
    names: Vec<String>,
    colors: Vec<[u8; 3]>,
    movable: Vec<bool>,
    costs: Vec<Option<u8>>,
}

impl ClassSet {
    /// Classes with their names and display colours (red, green, blue).
    pub fn new<S: Into<String>>(classes: impl IntoIterator<Item = (S, [u8; 3])>) -> Result<Self> {
        let (names, colors): (Vec<String>, Vec<_>) = classes.into_iter().map(|(n, c)| (n.into(), c)).unzip();
        if names.is_empty() || names.len() > MAX_CLASSES {
            return Err(Error::Classes(format!("{} classes given; 1 to {MAX_CLASSES} are allowed", names.len())));
        }
        for (i, name) in names.iter().enumerate() {
            if name.trim().is_empty() {
                return Err(Error::Classes(format!("class {i} has an empty name")));
            }
            if let Some(first) = names[..i].iter().position(|other| other == name) {
                return Err(Error::Classes(format!("classes {first} and {i} are both named `{name}`")));
            }
        }
        let movable = names.iter().map(|name| sounds_movable(name)).collect();
        let costs = vec![None; names.len()];
        Ok(Self { names, colors, movable, costs })
    }

    /// Classes with names only; colours are spread around the colour circle.
    pub fn from_names<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Result<Self> {
        Self::new(names.into_iter().enumerate().map(|(i, name)| (name, spread_color(i))))
    }

    /// Number of classes (paper: C).
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Always false: a class set holds at least one class.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Names by id.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Display colours by id.
    pub fn colors(&self) -> &[[u8; 3]] {
        &self.colors
    }

    /// Whether things of a class can move: vehicles, persons and animals by their names, unless
    /// [`Self::with_movable`] says otherwise.
    pub fn is_movable(&self, class: usize) -> bool {
        self.movable.get(class).copied().unwrap_or(false)
    }

    /// The same classes, of which exactly those named can move.
    pub fn with_movable<S: AsRef<str>>(mut self, movable: &[S]) -> Result<Self> {
        self.movable.fill(false);
        for name in movable {
            let Some(class) = self.find(name.as_ref()) else {
                return Err(Error::Classes(format!("there is no class `{}` that could move", name.as_ref())));
            };
            self.movable[class] = true;
        }
        Ok(self)
    }

    /// Whether classes of that name can move unless told otherwise.
    pub fn is_movable_by_name(name: &str) -> bool {
        sounds_movable(name)
    }

    /// What driving on a class costs, from 0 (as good as a road) to [`LETHAL_COST`] (not traversable); nothing where
    /// nobody has said.
    pub fn cost(&self, class: usize) -> Option<u8> {
        self.costs.get(class).copied().flatten()
    }

    /// Whether a robot can drive on a class; nothing where nobody has said.
    pub fn is_traversable(&self, class: usize) -> Option<bool> {
        self.cost(class).map(|cost| cost < LETHAL_COST)
    }

    /// The same classes, with the costs of those named.
    pub fn with_costs<S: AsRef<str>>(mut self, costs: impl IntoIterator<Item = (S, u8)>) -> Result<Self> {
        for (name, cost) in costs {
            let name = name.as_ref();
            let Some(class) = self.find(name) else {
                return Err(Error::Classes(format!("there is no class `{name}` that could have a cost")));
            };
            if cost > LETHAL_COST {
                return Err(Error::Classes(format!("the cost of `{name}` is {cost}; 0 to {LETHAL_COST} are allowed")));
            }
            self.costs[class] = Some(cost);
        }
        Ok(self)
    }

    /// Id of the class of that name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|other| other == name)
    }
}

/// Words in the names of classes whose things can move.
const MOVABLE: [&str; 30] = [
    "animal",
    "bicycle",
    "bicyclist",
    "bike",
    "bus",
    "car",
    "caravan",
    "cars",
    "cat",
    "cyclist",
    "dog",
    "human",
    "humans",
    "motorbike",
    "motorcycle",
    "motorcyclist",
    "moving",
    "pedestrian",
    "pedestrians",
    "people",
    "person",
    "persons",
    "rider",
    "trailer",
    "train",
    "tram",
    "truck",
    "van",
    "vehicle",
    "vehicles",
];

fn sounds_movable(name: &str) -> bool {
    let lower = name.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).any(|word| MOVABLE.contains(&word))
}

/// Hues at multiples of the golden angle, so that neighbours in id differ in colour.
fn spread_color(i: usize) -> [u8; 3] {
    let hue = (i as f64 * 0.618_033_988_75).fract() * 6.0;
    let ramp = |offset: f64| {
        let position = (hue + offset) % 6.0;
        let value = (2.0 - (position - 3.0).abs()).clamp(0.0, 1.0);
        (60.0 + 180.0 * (1.0 - value)) as u8
    };
    [ramp(0.0), ramp(4.0), ramp(2.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_class_tables_are_refused_by_name() {
        let none: [&str; 0] = [];
        assert!(ClassSet::from_names(none).is_err());
        let twice = ClassSet::from_names(["a", "b", "a"]).unwrap_err().to_string();
        assert!(twice.contains("0 and 2") && twice.contains('a'), "{twice}");
        assert!(ClassSet::from_names(["a", " "]).is_err());
        assert!(ClassSet::from_names((0..1025).map(|i| i.to_string())).is_err());
    }

    #[test]
    fn classes_that_can_move_are_known_by_name_or_named() {
        let classes =
            ClassSet::from_names(["road", "Car", "other-vehicle", "moving person", "carpet", "shelf"]).unwrap();
        let movable = |classes: &ClassSet| (0..6).map(|class| classes.is_movable(class)).collect::<Vec<_>>();
        assert_eq!(movable(&classes), [false, true, true, true, false, false]);
        let named = classes.clone().with_movable(&["shelf"]).unwrap();
        assert_eq!(movable(&named), [false, false, false, false, false, true]);
        assert!(classes.with_movable(&["boat"]).unwrap_err().to_string().contains("boat"));
    }

    #[test]
    fn costs_are_known_where_somebody_said_them() {
        let classes = ClassSet::from_names(["road", "tree", "rock"]).unwrap();
        let classes = classes.with_costs([("road", 0), ("tree", LETHAL_COST)]).unwrap();
        assert_eq!((0..4).map(|class| classes.cost(class)).collect::<Vec<_>>(), [Some(0), Some(100), None, None]);
        assert_eq!(
            (0..3).map(|class| classes.is_traversable(class)).collect::<Vec<_>>(),
            [Some(true), Some(false), None]
        );
        let message = |pair| classes.clone().with_costs([pair]).unwrap_err().to_string();
        assert!(message(("boat", 3)).contains("boat") && message(("rock", 101)).contains("101"));
    }
}
