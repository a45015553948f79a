//! Text for everything else: primitives as comma-separated values, voxels as a list.

use std::path::Path;

use e2bki::Mapper;

use super::written;
use crate::error::Result;

/// A field that programs read as one, whatever a class is called.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.into() }
}

pub(super) fn csv(map: &Mapper, path: &Path) -> Result<()> {
    let names: Vec<String> = map.classes().names().iter().map(|name| quoted(name)).collect();
    written(path, |out| {
        writeln!(out, "id,x,y,z,label,class,uncertainty,points,range,cov_xx,cov_yy,cov_zz,cov_xy,cov_xz,cov_yz")?;
        for p in map.primitives() {
            let [x, y, z] = p.mean();
            let (label, u, weight, range) = (p.label(), p.uncertainty() as f32, p.weight(), p.range() as f32);
            write!(out, "{},{x},{y},{z},{label},{},{u},{weight},{range}", p.id(), names[label])?;
            for value in p.covariance() {
                write!(out, ",{}", value as f32)?;
            }
            writeln!(out)?;
        }
        Ok(())
    })
}

pub(super) fn voxels(map: &Mapper, resolution: f64, path: &Path) -> Result<()> {
    let voxels = map.voxels(resolution)?;
    written(path, |out| {
        writeln!(out, "# occupied voxels of an e2bki map; what is not listed was never observed")?;
        for (id, name) in map.classes().names().iter().enumerate() {
            writeln!(out, "# class {id} {name:?}")?;
        }
        writeln!(out, "# x y z size class confidence uncertainty")?;
        for (center, belief) in voxels.centers.iter().zip(voxels.beliefs.iter()) {
            let Some(label) = belief.label() else { continue };
            let ([x, y, z], p, u) = (center.map(|v| v as f32), belief.confidence() as f32, belief.uncertainty() as f32);
            writeln!(out, "{x} {y} {z} {resolution} {label} {p} {u}")?;
        }
        Ok(())
    })
}
