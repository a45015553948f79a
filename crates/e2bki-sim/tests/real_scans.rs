//! Simulated scans beside real ones: loose bounds on what a mapper notices (returns, ranges).
//! Needs the real data; says so in one line where it is absent.

#[cfg(test)]
mod tests {
    use std::fs;

    use e2bki_sim::{Drive, Generation, Split, Standard};

    fn real_ranges(path: &str) -> Option<Vec<f32>> {
        let bytes = fs::read(e2bki_testdata::real(path)?).unwrap();
        let number = |c: &[u8]| f32::from_le_bytes([c[0], c[1], c[2], c[3]]);
        let point = |c: &[u8]| [number(c), number(&c[4..]), number(&c[8..])];
        Some(sorted(bytes.chunks_exact(16).map(point).filter(|p| *p != [0.0; 3])))
    }

    fn sorted(points: impl Iterator<Item = [f32; 3]>) -> Vec<f32> {
        let mut ranges: Vec<f32> = points.map(|p| (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt()).collect();
        ranges.sort_by(f32::total_cmp);
        ranges
    }

    fn compare(standard: Standard, path: &str) {
        let Some(real) = real_ranges(path) else { return };
        let drive = Drive::standard(standard, Split::Test).unwrap();
        let made = sorted(drive.frame(200).points.into_iter());
        let ratio = made.len() as f64 / real.len() as f64;
        assert!((0.6..1.5).contains(&ratio), "{} returns for {}", made.len(), real.len());
        for share in [0.3, 0.5, 0.75] {
            let at = |r: &[f32]| r[(r.len() as f64 * share) as usize];
            let ratio = at(&made) / at(&real);
            assert!((0.5..2.0).contains(&ratio), "{share}: {} m for {} m", at(&made), at(&real));
        }
    }

    /// Points ahead of the RELLIS-3D robot, where its camera looks: along −x of the LiDAR, 19° to either side.
    fn ahead(p: &[f32; 3]) -> bool {
        let along = -p[0];
        along > 0.0 && p[1].abs() < 0.344 * along && p[2].abs() < 0.2 * along
    }

    #[test]
    fn matched_off_road_ranges_are_those_of_rellis_frames() {
        let mut real = Vec::new();
        for frame in ["000001", "000104"] {
            let path = format!("rellis3d/Rellis-3D/00000/os1_cloud_node_kitti_bin/{frame}.bin");
            let Some(path) = e2bki_testdata::real(&path) else { return };
            let bytes = fs::read(path).unwrap();
            let number = |c: &[u8]| f32::from_le_bytes([c[0], c[1], c[2], c[3]]);
            let point = |c: &[u8]| [number(c), number(&c[4..]), number(&c[8..])];
            real.extend(bytes.chunks_exact(16).map(point).filter(ahead));
        }
        let options = Standard::RellisLike.drives_of(Generation::Matched, Split::Test)[0].options;
        let drive = Drive::new(options).unwrap();
        let made = (0..6).flat_map(|i| drive.frame(50 * i).points).filter(ahead);
        let (made, real) = (sorted(made), sorted(real.into_iter()));
        for share in [0.1, 0.25, 0.5, 0.75, 0.9, 0.95] {
            let at = |r: &[f32]| r[(r.len() as f64 * share) as usize];
            let ratio = at(&made) / at(&real);
            assert!((0.75..1.25).contains(&ratio), "{share}: {} m for {} m", at(&made), at(&real));
        }
    }

    #[test]
    fn an_os1_64_frame_resembles_a_rellis_frame() {
        compare(Standard::RellisLike, "rellis3d/Rellis-3D/00000/os1_cloud_node_kitti_bin/000104.bin");
    }

    #[test]
    fn an_hdl_64e_frame_resembles_a_kitti_frame() {
        compare(Standard::KittiLike, "semantickitti/sequences/08/velodyne/000000.bin");
    }
}
