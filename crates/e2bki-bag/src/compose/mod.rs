//! Messages to write, as little-endian CDR with its header. Their definitions are in [`schemas`](crate::schemas).

mod grids;
mod map_points;
mod sensors;
mod shapes;
mod status;

pub use grids::{Layers, Plane, grid_map, occupancy_grid};
pub use map_points::{MAP_POINT_BYTES, MapPoint, map_points};
pub use sensors::{byte_array, camera_info, cloud, compressed_image, image, label_info, transforms};
pub use shapes::{Ellipsoid, ellipsoids};
pub use status::{Level, Status, diagnostics};

use crate::write::Fields;

/// A position and an orientation x, y, z, w.
fn pose(fields: &mut Fields, position: [f64; 3], turn: [f64; 4]) {
    for value in position.into_iter().chain(turn) {
        fields.f64(value);
    }
}

/// The orientation that turns nothing.
const UNTURNED: [f64; 4] = [0.0, 0.0, 0.0, 1.0];
