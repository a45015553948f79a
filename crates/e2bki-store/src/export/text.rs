//! Text for everything else: primitives as comma-separated values, voxels as a list.

use std::path::Path;

use e2bki::Mapper;

use super::{Rows, has_existence, written};
use crate::error::Result;

/// A field that programs read as one, whatever a class is called.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.into() }
}

pub(super) fn csv(rows: &Rows<'_>, path: &Path) -> Result<()> {
    let map = rows.map;
    let more = if rows.existence { ",state,existence,hits,passes" } else { "" };
    let timed = map.free_space().is_some_and(|counters| counters.span().is_some());
    let when = if timed { ",last_seen" } else { "" };
    let names: Vec<String> = map.classes().names().iter().map(|name| quoted(name)).collect();
    written(path, |out| {
        writeln!(
            out,
            "id,x,y,z,label,class,uncertainty,points,range,cov_xx,cov_yy,cov_zz,cov_xy,cov_xz,cov_yz{more}{when}"
        )?;
        for p in rows.iter() {
            let [x, y, z] = p.mean();
            let (label, u, weight, range) = (p.label(), p.uncertainty() as f32, p.weight(), p.range() as f32);
            write!(out, "{},{x},{y},{z},{label},{},{u},{weight},{range}", p.id(), names[label])?;
            for value in p.covariance() {
                write!(out, ",{}", value as f32)?;
            }
            if let Some((state, existence, tally)) = map.existence_of(p) {
                write!(out, ",{},{},{},{}", state as u8, existence as f32, tally.hits, tally.passes)?;
            }
            if timed {
                // Empty where no frame with a time was.
                write!(out, ",{}", map.last_seen(p.mean()).map_or_else(String::new, |time| time.to_string()))?;
            }
            writeln!(out)?;
        }
        Ok(())
    })
}

pub(super) fn voxels(map: &Mapper, resolution: f64, path: &Path) -> Result<()> {
    let (voxels, existence) = (map.voxels(resolution)?, has_existence(map));
    written(path, |out| {
        writeln!(out, "# occupied voxels of an e2bki map; what is not listed was never observed")?;
        for (id, name) in map.classes().names().iter().enumerate() {
            writeln!(out, "# class {id} {name:?}")?;
        }
        writeln!(out, "# x y z size class confidence uncertainty{}", if existence { " existence" } else { "" })?;
        for (i, (center, belief)) in voxels.centers.iter().zip(voxels.beliefs.iter()).enumerate() {
            let Some(label) = belief.label() else { continue };
            let ([x, y, z], p, u) = (center.map(|v| v as f32), belief.confidence() as f32, belief.uncertainty() as f32);
            write!(out, "{x} {y} {z} {resolution} {label} {p} {u}")?;
            if existence {
                write!(out, " {}", voxels.beliefs.existence(i).unwrap_or(1.0) as f32)?;
            }
            writeln!(out)?;
        }
        Ok(())
    })
}
