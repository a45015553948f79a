//! Grids that planners read, from semantic maps with uncertainty.
//!
//! [`Layers`] hold for every cell of a [`Grid`] the height of the ground, its slope, steps and roughness, what stands on it as
//! far as a [`Robot`] would hit it, class and uncertainty, and what driving there costs, expected and at the worst. They are
//! computed from a [`Mapper`](e2bki::Mapper) and kept up to date with it. [`plan()`] finds a way on them.
//!
//! ```
//! use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
//! use e2bki_layers::{ClassCosts, Grid, Layers, Robot, Settings, UnknownClasses};
//!
//! let classes = ClassSet::from_names(["road", "tree"])?.with_costs([("road", 0), ("tree", 100)])?;
//! let mut map = Mapper::new(classes, Config::default())?;
//! let points: Vec<[f32; 3]> = (0..2500).map(|i| [0.1 * (i % 50) as f32 + 2.0, 0.1 * (i / 50) as f32, -1.0]).collect();
//! let labels = vec![0; points.len()];
//! map.insert(&Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor: Pose::IDENTITY, scan: None })?;
//!
//! let robot = Robot::default();
//! let costs = ClassCosts::of(map.classes(), &robot, UnknownClasses::Refuse)?;
//! let layers = Layers::of(&map, Grid::covering([2.0, 0.0], [7.0, 5.0], 0.2)?, Settings::new(robot, costs))?;
//! let middle = layers.grid().cell([4.5, 2.5]).unwrap();
//! assert!((layers.cells()[middle].height + 1.0).abs() < 0.02);
//! assert!(layers.cells()[middle].cost < 0.2);
//! # Ok::<(), e2bki_layers::Error>(())
//! ```

pub mod ask;
mod cell;
mod costs;
mod error;
pub mod formats;
mod grid;
mod ground;
mod layers;
mod obstacle;
mod plan;
mod robot;
mod surfel;
mod tiles;
mod traverse;
mod whole;

pub use cell::{Cell, LAYERS, Layer};
pub use costs::{ClassCosts, UnknownClasses, with_known_costs};
pub use error::{Error, Result};
pub use grid::{Grid, MOST_CELLS};
pub use layers::{Area, Layers, Refreshed, Settings};
pub use plan::{Planner, Step, Way, plan};
pub use robot::Robot;
