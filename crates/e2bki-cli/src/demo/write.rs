//! Files of the demo: pictures to look at, and the map as points that viewers open.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use e2bki::Mapper;
use e2bki_store::{ExportOptions, Format, heat};

use crate::pictures;

/// Writes everything; returns the files.
pub(crate) fn all(map: &Mapper, trajectory: &[[f64; 3]], folder: &Path) -> Result<Vec<PathBuf>> {
    let cells = map.bev(0.2)?;
    let pictures = [
        ("bev-semantic.png", pictures::bev(&cells, trajectory, |b| class_color(map, b))),
        ("bev-uncertainty.png", pictures::bev(&cells, trajectory, |b| heat(b.uncertainty() / 0.5))),
        ("primitives.png", pictures::primitives(map, trajectory)),
    ];
    let mut files = Vec::new();
    for (name, picture) in pictures {
        let path = folder.join(name);
        picture.save(&path).with_context(|| format!("cannot write {}", path.display()))?;
        files.push(path);
    }
    let path = folder.join("primitives.ply");
    files.extend(e2bki_store::export(map, Format::Ply, path, &ExportOptions::default())?);
    let path = folder.join("map.e2bki");
    e2bki_store::save_with(map, &["demo".into()], &path)?;
    files.push(path);
    Ok(files)
}

fn class_color(map: &Mapper, belief: &e2bki::Belief) -> [u8; 3] {
    belief.label().map_or([0; 3], |label| map.classes().colors()[label])
}
