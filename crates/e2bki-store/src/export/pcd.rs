//! PCD, the point cloud format of PCL, binary. Coordinates are f32 as PCL has them: for far places prefer PLY or LAS.

use std::path::Path;

use super::{Rows, written};
use crate::error::Result;

pub(super) fn write(rows: &Rows<'_>, path: &Path) -> Result<()> {
    let (map, count) = (rows.map, rows.len());
    // State and existence in maps that know them.
    let [fields, sizes, kinds, ones] =
        if rows.existence { [" state existence", " 4 4", " U F", " 1 1"] } else { [""; 4] };
    written(path, |out| {
        writeln!(
            out,
            "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z rgb label uncertainty weight{fields}\n\
             SIZE 4 4 4 4 4 4 4{sizes}\nTYPE F F F U U F F{kinds}\nCOUNT 1 1 1 1 1 1 1{ones}\nWIDTH {count}\nHEIGHT 1\n\
             VIEWPOINT 0 0 0 1 0 0 0\nPOINTS {count}\nDATA binary"
        )?;
        for p in rows.iter() {
            for v in p.mean() {
                out.write_all(&(v as f32).to_le_bytes())?;
            }
            let [r, g, b] = map.classes().colors()[p.label()];
            out.write_all(&[b, g, r, 0])?;
            out.write_all(&(p.label() as u32).to_le_bytes())?;
            out.write_all(&(p.uncertainty() as f32).to_le_bytes())?;
            out.write_all(&(p.weight() as f32).to_le_bytes())?;
            if let Some((state, existence)) = rows.existence(p) {
                out.write_all(&u32::from(state).to_le_bytes())?;
                out.write_all(&existence.to_le_bytes())?;
            }
        }
        Ok(())
    })
}
