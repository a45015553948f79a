//! Files of the demo: pictures to look at, and the map as points that viewers open.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use e2bki::Mapper;

use crate::pictures;

/// Writes everything; returns the files.
pub(crate) fn all(map: &Mapper, trajectory: &[[f64; 3]], folder: &Path) -> Result<Vec<PathBuf>> {
    let cells = map.bev(0.2)?;
    let pictures = [
        ("bev-semantic.png", pictures::bev(&cells, trajectory, |b| class_color(map, b))),
        ("bev-uncertainty.png", pictures::bev(&cells, trajectory, |b| pictures::heat(b.uncertainty() / 0.5))),
        ("primitives.png", pictures::primitives(map, trajectory)),
    ];
    let mut files = Vec::new();
    for (name, picture) in pictures {
        let path = folder.join(name);
        picture.save(&path).with_context(|| format!("cannot write {}", path.display()))?;
        files.push(path);
    }
    let path = folder.join("primitives.ply");
    write_ply(map, &path).with_context(|| format!("cannot write {}", path.display()))?;
    files.push(path);
    Ok(files)
}

fn class_color(map: &Mapper, belief: &e2bki::Belief) -> [u8; 3] {
    belief.label().map_or([0; 3], |label| map.classes().colors()[label])
}

/// Primitives as a binary PLY point cloud: mean, class colour, class, uncertainty, points, covariance.
pub(crate) fn write_ply(map: &Mapper, path: &Path) -> Result<()> {
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    let primitives = map.primitives();
    writeln!(file, "ply\nformat binary_little_endian 1.0\nelement vertex {}", primitives.len())?;
    for (kind, names) in [
        ("double", "x y z"),
        ("uchar", "red green blue"),
        ("ushort", "class"),
        ("float", "uncertainty weight range cov_xx cov_yy cov_zz cov_xy cov_xz cov_yz"),
    ] {
        for name in names.split(' ') {
            writeln!(file, "property {kind} {name}")?;
        }
    }
    writeln!(file, "end_header")?;
    for p in primitives {
        for v in p.mean() {
            file.write_all(&v.to_le_bytes())?;
        }
        file.write_all(&map.classes().colors()[p.label()])?;
        file.write_all(&(p.label() as u16).to_le_bytes())?;
        for v in [p.uncertainty(), p.weight(), p.range()].into_iter().chain(p.covariance()) {
            file.write_all(&(v as f32).to_le_bytes())?;
        }
    }
    file.flush()?;
    Ok(())
}
