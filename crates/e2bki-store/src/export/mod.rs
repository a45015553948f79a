//! Maps in the formats of other programs: points, meshes, splats, pictures, grids, tables.

mod bev;
mod costs;
mod grid;
mod las;
mod npy;
mod npz;
mod pcd;
mod ply;
mod splat;
mod text;
mod zip;

use std::path::{Path, PathBuf};

use e2bki::{Mapper, Primitive};

pub use bev::heat;
pub use costs::CostTable;
pub(crate) use npz::read_npz;
pub use npz::{Array, import_npz, save_npz};

use crate::error::{Error, Result};

/// A format to export to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Means of the primitives as PLY points, with class, uncertainty and covariance.
    Ply,
    /// Voxels as PLY points.
    PlyVoxels,
    /// Ellipsoids of the primitives as a PLY mesh.
    PlyEllipsoids,
    /// PLY in the layout of 3-D Gaussian splatting: colour = class, opacity = 1 − u.
    Splat,
    /// Point cloud of PCL.
    Pcd,
    /// Arrays for NumPy; lossless, see [`import_npz`].
    Npz,
    /// LAS 1.4 for geographic programs.
    Las,
    /// Bird's-eye pictures of class and uncertainty, each with a world file.
    Bev,
    /// Cost grid as PGM and YAML, as ROS map servers read.
    Grid,
    /// Voxels as text: centre, size, class, confidence, uncertainty.
    Voxels,
    /// Primitives as comma-separated values.
    Csv,
}

impl Format {
    /// All formats: name on the command line, ending of the file, meaning.
    pub const ALL: [(Self, &'static str, &'static str, &'static str); 11] = [
        (Self::Ply, "ply", "ply", "primitives as points with class, uncertainty and covariance"),
        (Self::PlyVoxels, "ply-voxels", "ply", "voxels as points"),
        (Self::PlyEllipsoids, "ply-ellipsoids", "ply", "ellipsoids as a mesh, at two standard deviations"),
        (Self::Splat, "splat", "ply", "3-D Gaussian splats: colour = class, opacity = 1 - u"),
        (Self::Pcd, "pcd", "pcd", "point cloud of PCL"),
        (Self::Npz, "npz", "npz", "arrays for NumPy; lossless, can be imported again"),
        (Self::Las, "las", "las", "LAS 1.4 for geographic programs"),
        (Self::Bev, "bev", "png", "bird's-eye pictures of class, uncertainty and free space, with world files"),
        (Self::Grid, "grid", "pgm", "cost grid as PGM + YAML for planners; unknown is not free"),
        (Self::Voxels, "voxels", "txt", "voxels as text: centre, size, class, confidence, uncertainty"),
        (Self::Csv, "csv", "csv", "primitives as a table"),
    ];

    /// The format of that name.
    pub fn by_name(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(_, known, ..)| *known == name).map(|(format, ..)| *format);
        let names: Vec<&str> = Self::ALL.iter().map(|(_, known, ..)| *known).collect();
        found.ok_or_else(|| Error::Refused(format!("unknown format `{name}`; known: {}", names.join(", "))))
    }

    /// The format that a file's ending stands for.
    pub fn of_path(path: &Path) -> Result<Self> {
        let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
        let found = Self::ALL.iter().find(|(_, _, known, _)| *known == ending).map(|(format, ..)| *format);
        found.ok_or_else(|| {
            Error::Refused(format!("the ending of {} does not say which format: give --format", path.display()))
        })
    }
}

/// Options of an export.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// Side of voxels and cells, metres; the map's own resolution if absent.
    pub resolution: Option<f64>,
    /// Costs of classes in a grid.
    pub costs: CostTable,
    /// Cells of a grid more uncertain than this are unknown.
    pub max_uncertainty: f64,
    /// Also primitives in space that was seen through since. NumPy archives have them always: they are the whole map.
    pub gone: bool,
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self { resolution: None, costs: CostTable::default(), max_uncertainty: 1.0, gone: false }
    }
}

/// Writes a map in another format; returns the files written.
pub fn export(map: &Mapper, format: Format, path: impl AsRef<Path>, options: &ExportOptions) -> Result<Vec<PathBuf>> {
    let path = path.as_ref();
    let resolution = options.resolution.unwrap_or(map.config().views.resolution);
    let rows = Rows::of(map, options.gone);
    match format {
        Format::Ply => ply::points(&rows, path)?,
        Format::PlyVoxels => ply::voxels(map, resolution, path)?,
        Format::PlyEllipsoids => ply::ellipsoids(&rows, path)?,
        Format::Splat => splat::write(&rows, path)?,
        Format::Pcd => pcd::write(&rows, path)?,
        Format::Npz => npz::write(map, path)?,
        Format::Las => las::write(&rows, path)?,
        Format::Bev => return bev::write(map, resolution, path),
        Format::Grid => return grid::write(map, resolution, options, path),
        Format::Voxels => text::voxels(map, resolution, path)?,
        Format::Csv => text::csv(&rows, path)?,
    }
    Ok(vec![path.to_path_buf()])
}

/// The primitives that an export has, and what free space says of them.
struct Rows<'a> {
    map: &'a Mapper,
    primitives: Vec<Primitive<'a>>,
    /// Whether the map has free space: then state and existence are columns.
    existence: bool,
}

impl<'a> Rows<'a> {
    fn of(map: &'a Mapper, gone: bool) -> Self {
        let primitives = map.primitives().filter(|primitive| gone || !primitive.is_gone()).collect();
        Self { map, primitives, existence: has_existence(map) }
    }

    fn len(&self) -> usize {
        self.primitives.len()
    }

    fn iter(&self) -> impl Iterator<Item = &Primitive<'a>> {
        self.primitives.iter()
    }

    /// State and existence of a primitive, in a map that has them.
    fn existence(&self, primitive: &Primitive<'_>) -> Option<(u8, f32)> {
        self.map.existence_of(primitive).map(|(state, existence, _)| (state as u8, existence as f32))
    }
}

/// Whether a map knows what was seen through.
fn has_existence(map: &Mapper) -> bool {
    map.free_space().is_some_and(|counters| !counters.is_empty())
}

/// Writes a file atomically from bytes and text.
fn written(path: &Path, fill: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> Result<()> {
    crate::atomic::write_atomically(path, |out| fill(out).map_err(Error::io("write", path)))
}
