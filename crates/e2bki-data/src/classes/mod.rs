//! Classes and what label ids mean: tables in text files that users can copy and change.

mod ids;
mod table;

pub use ids::{IdNames, id_names};
pub use table::{ClassTable, Remap, VOID};
