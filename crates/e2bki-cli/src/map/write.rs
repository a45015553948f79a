//! Writing a map: the one place that knows file formats of maps.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use e2bki::{Mapper, SemanticMapper};
use e2bki_store::{ExportOptions, Format};

use super::method::Map;
use crate::outputs;

/// Refuses a file that could not be written, before any work is done.
pub(crate) fn check(path: &Path, memory: bool) -> Result<()> {
    if !is_ply(path) && !path.extension().is_some_and(|e| e.eq_ignore_ascii_case("e2bki")) {
        bail!("{}: maps are written as .e2bki (to go on with) or .ply (to look at)", path.display());
    }
    if memory && is_ply(path) {
        bail!("{}: with --memory the map is written as .e2bki; `e2bki export` makes a .ply of it", path.display());
    }
    outputs::check_file(path)
}

/// Whether a map in this file can be gone on with.
pub(crate) fn can_go_on(path: &Path) -> bool {
    !is_ply(path)
}

/// Writes the map: primitives of ours, voxels of the others. `sources` names the drives in it, once it was saved.
pub(crate) fn write_map(map: &mut Map, path: &Path, sources: &mut Vec<String>) -> Result<()> {
    match map {
        Map::Primitives(map) => write_primitives(map, path, sources),
        Map::Budgeted(map) => {
            *sources = map.save(sources, path)?;
            Ok(())
        }
        Map::Voxels(map) if is_ply(path) => write_voxels(map.as_ref(), path),
        Map::Voxels(_) => bail!("{}: maps of this method are written as .ply only", path.display()),
    }
}

/// Writes a map of ours.
pub(crate) fn write_primitives(map: &Mapper, path: &Path, sources: &mut Vec<String>) -> Result<()> {
    if is_ply(path) {
        e2bki_store::export(map, Format::Ply, path, &ExportOptions::default())?;
    } else {
        *sources = e2bki_store::save_with(map, sources, path)?.sources;
    }
    Ok(())
}

fn is_ply(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("ply"))
}

/// Voxels as a binary PLY point cloud: centre, class colour, class, variance.
fn write_voxels(map: &dyn SemanticMapper, path: &Path) -> Result<()> {
    let voxels = map.voxels()?;
    let mut file = Vec::new();
    writeln!(file, "ply\nformat binary_little_endian 1.0\nelement vertex {}", voxels.centers.len())?;
    for (kind, names) in [("double", "x y z"), ("uchar", "red green blue"), ("ushort", "class"), ("float", "variance")]
    {
        for name in names.split(' ') {
            writeln!(file, "property {kind} {name}")?;
        }
    }
    writeln!(file, "end_header")?;
    for (center, belief) in voxels.centers.iter().zip(voxels.beliefs.iter()) {
        for v in center {
            file.write_all(&v.to_le_bytes())?;
        }
        let label = belief.label();
        file.write_all(&label.map_or([0; 3], |label| map.classes().colors()[label]))?;
        file.write_all(&label.map_or(u16::MAX, |label| label as u16).to_le_bytes())?;
        file.write_all(&(belief.variance() as f32).to_le_bytes())?;
    }
    outputs::write(path, file)
}
