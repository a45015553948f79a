//! Frames for other methods: `NNNN.bin` (x, y, z as f32; moving; true class; label, each a byte) and `NNNN.txt` (the pose).

use std::io::Write as _;
use std::path::Path;

use anyhow::Result;

use super::drive::Recorded;

/// Writes a drive into a folder.
pub(super) fn write(recorded: &Recorded, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for (number, frame) in recorded.frames.iter().enumerate() {
        let mut file = std::io::BufWriter::new(std::fs::File::create(folder.join(format!("{number:04}.bin")))?);
        for i in 0..frame.points.len() {
            for v in frame.points[i] {
                file.write_all(&v.to_le_bytes())?;
            }
            file.write_all(&[u8::from(frame.moving[i]), frame.truth[i], frame.label[i]])?;
        }
        file.flush()?;
        let (rotation, translation) = (frame.pose.rotation(), frame.pose.translation());
        let row = |i: usize| format!("{} {} {} {}\n", rotation[i][0], rotation[i][1], rotation[i][2], translation[i]);
        std::fs::write(folder.join(format!("{number:04}.txt")), format!("{}{}{}0 0 0 1\n", row(0), row(1), row(2)))?;
    }
    std::fs::write(folder.join("classes.txt"), recorded.names.join("\n"))?;
    Ok(())
}
