//! Questions about a map in a few words: how much of a class there is, how sure, and near what.
//!
//! A question has one meaning, given twice: as a sum over the map's primitives ([`Question::answer`]) and as SQL for DuckDB over
//! the columns of its file ([`Question::sql`]). Tests hold them to each other.

mod answer;
mod parse;
mod sql;

pub use answer::Answer;
pub use sql::{CELLS, PRIMITIVES, VOXELS};

/// What can be asked.
pub const GRAMMAR: &str = "\
MEASURE of CLASS [or CLASS]… [with FIELD < NUMBER [and …]] [within METRES m of PLACE]

MEASURE  area    where the lowest surface is of the class, m²   FIELD  u low high height points
         volume  of voxels most of whose points are of it, m³          u share z points
         count   of primitives of the class                            u range z points
         length  of the way over ground of the class, m                u low high height points
CLASS    a class of the map, in \"quotes\" if its name has spaces, or `anything`
FIELD    compared by < <= > or >=
PLACE    x,y or `the way` or a class: metres over ground to the place, the nearest step or primitive";

/// Side of cells and voxels, metres.
const SIDE_M: f64 = 0.5;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    Area,
    Volume,
    Count,
    Length,
}

impl Measure {
    const ALL: [(&'static str, Self); 4] =
        [("area", Self::Area), ("volume", Self::Volume), ("count", Self::Count), ("length", Self::Length)];

    /// What can be asked of one of the things that are measured.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Area | Self::Length => &["u", "low", "high", "height", "points"],
            Self::Volume => &["u", "share", "z", "points"],
            Self::Count => &["u", "range", "z", "points"],
        }
    }
}

/// How a value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Comparison {
    const ALL: [(&'static str, Self); 4] =
        [("<", Self::Less), ("<=", Self::AtMost), (">", Self::More), (">=", Self::AtLeast)];

    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Less => value < limit,
            Self::AtMost => value <= limit,
            Self::More => value > limit,
            Self::AtLeast => value >= limit,
        }
    }
}

/// A condition: one of the fields of a measure, by number, against a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Condition {
    pub(crate) field: usize,
    pub(crate) comparison: Comparison,
    pub(crate) limit: f64,
}

/// Near what.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Place {
    At([f64; 2]),
    Way,
    /// Any primitive of a class.
    Class(usize),
}

/// A question about a map.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub(crate) measure: Measure,
    /// Classes by number; none stands for anything.
    pub(crate) classes: Vec<usize>,
    pub(crate) conditions: Vec<Condition>,
    /// Metres, and of what.
    pub(crate) within: Option<(f64, Place)>,
    /// Names of the map's classes.
    pub(crate) names: Vec<String>,
}

impl Question {
    /// Whether a way is needed for an answer.
    pub fn needs_way(&self) -> bool {
        self.measure == Measure::Length || matches!(self.within, Some((_, Place::Way)))
    }
}
