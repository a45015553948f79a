//! PLY: primitives and voxels as points, ellipsoids as a mesh.

use std::io::{Result as Io, Write};
use std::path::Path;

use e2bki::Mapper;

use super::{Rows, has_existence, written};
use crate::error::{Error, Result};

/// Mahalanobis radius at which ellipsoids are drawn: two standard deviations.
const DRAWN_SIGMA: f64 = 2.0;

fn header(out: &mut dyn Write, vertices: usize, properties: &[(&str, &str)], faces: Option<usize>) -> Io<()> {
    writeln!(out, "ply\nformat binary_little_endian 1.0\ncomment made by e2bki\nelement vertex {vertices}")?;
    for (kind, names) in properties {
        for name in names.split(' ') {
            writeln!(out, "property {kind} {name}")?;
        }
    }
    if let Some(faces) = faces {
        writeln!(out, "element face {faces}\nproperty list uchar int vertex_indices")?;
    }
    writeln!(out, "end_header")
}

/// Primitives: mean, class colour, class, uncertainty, points, range, covariance; state and existence where known.
pub(super) fn points(rows: &Rows<'_>, path: &Path) -> Result<()> {
    const PROPERTIES: [(&str, &str); 6] = [
        ("double", "x y z"),
        ("uchar", "red green blue"),
        ("ushort", "class"),
        ("float", "uncertainty weight range cov_xx cov_yy cov_zz cov_xy cov_xz cov_yz"),
        ("uchar", "state"),
        ("float", "existence"),
    ];
    let map = rows.map;
    written(path, |out| {
        header(out, rows.len(), if rows.existence { &PROPERTIES } else { &PROPERTIES[..4] }, None)?;
        for p in rows.iter() {
            for v in p.mean() {
                out.write_all(&v.to_le_bytes())?;
            }
            out.write_all(&map.classes().colors()[p.label()])?;
            out.write_all(&(p.label() as u16).to_le_bytes())?;
            for v in [p.uncertainty(), p.weight(), p.range()].into_iter().chain(p.covariance()) {
                out.write_all(&(v as f32).to_le_bytes())?;
            }
            if let Some((state, existence)) = rows.existence(p) {
                out.write_all(&[state])?;
                out.write_all(&existence.to_le_bytes())?;
            }
        }
        Ok(())
    })
}

/// Voxels: centre, class colour, class, confidence, uncertainty, variance.
pub(super) fn voxels(map: &Mapper, resolution: f64, path: &Path) -> Result<()> {
    const PROPERTIES: [(&str, &str); 6] = [
        ("double", "x y z"),
        ("uchar", "red green blue"),
        ("ushort", "class"),
        ("float", "confidence uncertainty variance"),
        ("uchar", "state"),
        ("float", "existence"),
    ];
    let (voxels, existence) = (map.voxels(resolution)?, has_existence(map));
    let beliefs = &voxels.beliefs;
    let seen = || {
        let all = voxels.centers.iter().zip(beliefs.iter()).enumerate();
        all.filter_map(|(i, (center, belief))| Some((i, center, belief.label()?, belief)))
    };
    written(path, |out| {
        header(out, seen().count(), if existence { &PROPERTIES } else { &PROPERTIES[..4] }, None)?;
        for (i, center, label, belief) in seen() {
            for v in center {
                out.write_all(&v.to_le_bytes())?;
            }
            out.write_all(&map.classes().colors()[label])?;
            out.write_all(&(label as u16).to_le_bytes())?;
            for v in [belief.confidence(), belief.uncertainty(), belief.variance()] {
                out.write_all(&(v as f32).to_le_bytes())?;
            }
            if existence {
                out.write_all(&[beliefs.state(i) as u8])?;
                out.write_all(&(beliefs.existence(i).unwrap_or(1.0) as f32).to_le_bytes())?;
            }
        }
        Ok(())
    })
}

/// Corners of an icosahedron: cyclic permutations of (0, ±1, ±φ).
fn icosahedron() -> ([[f64; 3]; 12], [[i32; 3]; 20]) {
    let phi = (1.0 + 5.0_f64.sqrt()) / 2.0;
    let length = (1.0 + phi * phi).sqrt();
    let (a, b) = (1.0 / length, phi / length);
    let corners = [
        [-a, b, 0.0],
        [a, b, 0.0],
        [-a, -b, 0.0],
        [a, -b, 0.0],
        [0.0, -a, b],
        [0.0, a, b],
        [0.0, -a, -b],
        [0.0, a, -b],
        [b, 0.0, -a],
        [b, 0.0, a],
        [-b, 0.0, -a],
        [-b, 0.0, a],
    ];
    let faces = [
        [0, 11, 5],
        [0, 5, 1],
        [0, 1, 7],
        [0, 7, 10],
        [0, 10, 11],
        [1, 5, 9],
        [5, 11, 4],
        [11, 10, 2],
        [10, 7, 6],
        [7, 1, 8],
        [3, 9, 4],
        [3, 4, 2],
        [3, 2, 6],
        [3, 6, 8],
        [3, 8, 9],
        [4, 9, 5],
        [2, 4, 11],
        [6, 2, 10],
        [8, 6, 7],
        [9, 8, 1],
    ];
    (corners, faces)
}

/// Every primitive as an icosahedron stretched to its ellipsoid.
pub(super) fn ellipsoids(rows: &Rows<'_>, path: &Path) -> Result<()> {
    const PROPERTIES: [(&str, &str); 2] = [("double", "x y z"), ("uchar", "red green blue")];
    let (corners, faces) = icosahedron();
    let map = rows.map;
    if rows.len() > i32::MAX as usize / corners.len() {
        return Err(Error::Refused(format!("{} ellipsoids are too many for one mesh: export a region", rows.len())));
    }
    // The map's own ellipsoid encloses a small share of the mass; drawn, it would be specks.
    let grow = DRAWN_SIGMA / e2bki::maths::mahalanobis_threshold_3d(map.config().kernel.ellipsoid_mass).sqrt();
    written(path, |out| {
        header(out, rows.len() * corners.len(), &PROPERTIES, Some(rows.len() * faces.len()))?;
        for p in rows.iter() {
            let e = p.ellipsoid();
            for corner in &corners {
                for i in 0..3 {
                    let along: f64 = (0..3).map(|k| corner[k] * e.semi_axes[k] * grow * e.axes[k][i]).sum();
                    out.write_all(&(e.center[i] + along).to_le_bytes())?;
                }
                out.write_all(&map.classes().colors()[p.label()])?;
            }
        }
        for number in 0..rows.len() {
            for face in &faces {
                out.write_all(&[3])?;
                for corner in face {
                    out.write_all(&((number * corners.len()) as i32 + corner).to_le_bytes())?;
                }
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_icosahedron_is_closed_and_faces_outwards() {
        let (corners, faces) = icosahedron();
        let mut edges = std::collections::BTreeSet::new();
        for [a, b, c] in faces {
            for edge in [(a, b), (b, c), (c, a)] {
                assert!(edges.insert(edge), "an edge is walked twice in one direction");
            }
            let [p, q, r] = [a, b, c].map(|i| corners[i as usize]);
            let d: [f64; 3] = std::array::from_fn(|i| q[i] - p[i]);
            let e: [f64; 3] = std::array::from_fn(|i| r[i] - p[i]);
            let normal = [d[1] * e[2] - d[2] * e[1], d[2] * e[0] - d[0] * e[2], d[0] * e[1] - d[1] * e[0]];
            assert!((0..3).map(|i| normal[i] * p[i]).sum::<f64>() > 0.0);
        }
        assert!(edges.len() == 60 && edges.iter().all(|(a, b)| edges.contains(&(*b, *a))));
        assert!(corners.iter().all(|c| (c.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-12));
    }
}
