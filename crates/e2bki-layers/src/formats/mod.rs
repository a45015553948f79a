//! Layers in the formats of other programs: map servers, geographic programs, NumPy, pictures; and the values of ROS messages.

mod geotiff;
mod nav2;
mod npz;
mod picture;
mod values;

use std::path::{Path, PathBuf};

pub use geotiff::{Georeference, geotiff};
pub use nav2::{Nav2Mode, nav2};
pub use npz::npz;
pub use picture::{picture, picture_of_way, pictures};
pub use values::{GridMapLayer, grid_map, occupancy};

use crate::error::{Error, Result};

/// Writes a file as a whole.
fn written(path: &Path, bytes: &[u8]) -> Result<PathBuf> {
    use std::io::Write;
    let failed = |source| e2bki_store::Error::Io { doing: "write", path: path.into(), source };
    e2bki_store::write_atomically(path, |out| out.write_all(bytes).map_err(failed))?;
    Ok(path.to_path_buf())
}

/// A picture as PNG.
fn png(path: &Path, image: image::DynamicImage) -> Result<PathBuf> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image
        .write_to(&mut bytes, image::ImageFormat::Png)
        .map_err(|e| Error::Refused(format!("cannot make {}: {e}", path.display())))?;
    written(path, bytes.get_ref())
}
