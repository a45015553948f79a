//! PCD, the point cloud format of PCL, binary. Coordinates are f32 as PCL has them: for far places prefer PLY or LAS.

use std::path::Path;

use e2bki::Mapper;

use super::written;
use crate::error::Result;

pub(super) fn write(map: &Mapper, path: &Path) -> Result<()> {
    let count = map.len();
    written(path, |out| {
        writeln!(
            out,
            "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z rgb label uncertainty weight\n\
             SIZE 4 4 4 4 4 4 4\nTYPE F F F U U F F\nCOUNT 1 1 1 1 1 1 1\nWIDTH {count}\nHEIGHT 1\n\
             VIEWPOINT 0 0 0 1 0 0 0\nPOINTS {count}\nDATA binary"
        )?;
        for p in map.primitives() {
            for v in p.mean() {
                out.write_all(&(v as f32).to_le_bytes())?;
            }
            let [r, g, b] = map.classes().colors()[p.label()];
            out.write_all(&[b, g, r, 0])?;
            out.write_all(&(p.label() as u32).to_le_bytes())?;
            out.write_all(&(p.uncertainty() as f32).to_le_bytes())?;
            out.write_all(&(p.weight() as f32).to_le_bytes())?;
        }
        Ok(())
    })
}
