//! Plain folders: every cloud format, every pose format, units, world coordinates, cameras either way round.

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use e2bki_data::{Dataset, Format, OpenOptions, OwnedSemantics, SemanticsSource, VOID, read_ahead};

    const POINTS: [[f32; 3]; 3] = [[1.0, 2.0, 3.0], [-4.0, 5.5, 0.25], [7.0, -8.0, 9.0]];

    fn write(path: &Path, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
        values.into_iter().flat_map(f32::to_le_bytes).collect()
    }

    fn clouds(folder: &Path) {
        let flat = || POINTS.into_iter().flatten();
        write(&folder.join("frames/0.bin"), floats(POINTS.into_iter().flat_map(|p| [p[0], p[1], p[2], 0.0])));
        let ply = "ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nend_header\n";
        write(&folder.join("frames/1.ply"), [ply.as_bytes(), &floats(flat())].concat());
        let pcd = "FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nPOINTS 3\nDATA binary\n";
        write(&folder.join("frames/2.pcd"), [pcd.as_bytes(), &floats(flat())].concat());
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3), }";
        let mut npy = b"\x93NUMPY\x01\x00".to_vec();
        npy.extend((header.len() as u16).to_le_bytes());
        npy.extend(header.as_bytes());
        npy.extend(floats(flat()));
        write(&folder.join("frames/3.npy"), npy);
        let mut las = vec![0_u8; 227];
        las[..4].copy_from_slice(b"LASF");
        (las[24], las[25]) = (1, 2);
        las[96..100].copy_from_slice(&227_u32.to_le_bytes());
        las[105..107].copy_from_slice(&20_u16.to_le_bytes());
        las[107..111].copy_from_slice(&3_u32.to_le_bytes());
        for axis in 0..3 {
            las[131 + 8 * axis..139 + 8 * axis].copy_from_slice(&0.25_f64.to_le_bytes());
            las[155 + 8 * axis..163 + 8 * axis].copy_from_slice(&100.0_f64.to_le_bytes());
        }
        for p in POINTS {
            let mut record = [0_u8; 20];
            for axis in 0..3 {
                let value = ((p[axis] - 100.0) / 0.25) as i32;
                record[4 * axis..4 * axis + 4].copy_from_slice(&value.to_le_bytes());
            }
            record[15] = 2 | 1 << 5;
            las.extend(record);
        }
        write(&folder.join("frames/4.las"), las);
    }

    fn nothing() -> OpenOptions {
        OpenOptions { semantics: SemanticsSource::Nothing, ..OpenOptions::default() }
    }

    #[test]
    fn all_cloud_formats_hold_the_same_points() {
        let folder = tempfile::tempdir().unwrap();
        clouds(folder.path());
        write(&folder.path().join("e2bki.toml"), "classes = [\"a\", \"b\", \"c\"]\n");
        let dataset = Dataset::open(folder.path(), &nothing()).unwrap();
        assert_eq!((dataset.format(), dataset.len()), (Format::Folder, 5));
        assert!(dataset.notes()[0].contains("poses.txt does not exist"));
        for index in 0..5 {
            assert_eq!(dataset.load(index).unwrap().points, POINTS, "frame {index}");
        }
        // Read on another thread they come in order; one that is dropped early ends its thread.
        let dataset = std::sync::Arc::new(dataset);
        let order: Vec<u64> = read_ahead(dataset.clone(), vec![3, 0, 4], 1).map(|f| f.unwrap().id).collect();
        assert_eq!(order, [3, 0, 4]);
        let mut early = read_ahead(dataset.clone(), (0..5).cycle().take(1000).collect(), 2);
        assert!(early.next().unwrap().is_ok());
        drop(early);
        assert_eq!(std::sync::Arc::strong_count(&dataset), 1);
    }

    #[test]
    fn labels_within_a_las_file_are_its_classification() {
        let folder = tempfile::tempdir().unwrap();
        clouds(folder.path());
        for k in ["0.bin", "1.ply", "2.pcd", "3.npy"] {
            fs::remove_file(folder.path().join("frames").join(k)).unwrap();
        }
        write(&folder.path().join("e2bki.toml"), "classes = [\"a\", \"b\", \"c\"]\n");
        let dataset = Dataset::open(folder.path(), &OpenOptions::default()).unwrap();
        assert_eq!(dataset.load(0).unwrap().semantics, OwnedSemantics::Labels(vec![2; 3]));
    }

    #[test]
    fn poses_of_every_form_find_their_frames() {
        let place = |text: &str, toml: &str| -> Vec<(u64, [f64; 3])> {
            let folder = tempfile::tempdir().unwrap();
            clouds(folder.path());
            write(&folder.path().join("poses.txt"), text);
            write(&folder.path().join("e2bki.toml"), format!("classes = [\"a\"]\n{toml}"));
            let dataset = Dataset::open(folder.path(), &nothing()).unwrap();
            (0..dataset.len())
                .map(|i| (dataset.id(i).unwrap(), dataset.world_from_sensor(i).unwrap().translation()))
                .collect()
        };
        let kitti = |n: usize| (0..n).map(|k| format!("1 0 0 {k} 0 1 0 0 0 0 1 2\n")).collect::<String>();
        assert_eq!(place(&kitti(5), "")[3], (3, [3.0, 0.0, 2.0]));
        // Fewer lines than frames: the rest has no pose.
        assert_eq!(place(&kitti(2), "").len(), 2);
        let tum = "# time x y z qx qy qz qw\n2.005 5 6 7 0 0 0.70710678 0.70710678\n3 1 1 1 0 0 0 1\n";
        assert_eq!(place(tum, ""), [(2, [5.0, 6.0, 7.0]), (3, [1.0, 1.0, 1.0])]);
        let numbered = "4 1 0 0 9 0 1 0 0 0 0 1 0\n1 1 0 0 8 0 1 0 0 0 0 1 0\n";
        assert_eq!(place(numbered, ""), [(1, [8.0, 0.0, 0.0]), (4, [9.0, 0.0, 0.0])]);
        assert_eq!(place(&kitti(5), "poses_are = \"sensor_from_world\"")[1].1, [-1.0, 0.0, -2.0]);
    }

    #[test]
    fn units_and_world_coordinates_become_metres_in_the_sensor_s_frame() {
        let folder = tempfile::tempdir().unwrap();
        clouds(folder.path());
        write(&folder.path().join("poses.txt"), "0 -1 0 10 1 0 0 20 0 0 1 30\n".repeat(5));
        write(&folder.path().join("e2bki.toml"), "classes = [\"a\"]\nunits = \"mm\"\ncoordinates = \"world\"\n");
        let frame = Dataset::open(folder.path(), &nothing()).unwrap().load(1).unwrap();
        for (world, p) in frame.world_points().zip(POINTS) {
            for axis in 0..3 {
                assert!((world[axis] - f64::from(p[axis]) / 1000.0).abs() < 1e-5, "{world:?}");
            }
        }
        assert!((frame.points[0][2] + 30.0 - 0.003).abs() < 1e-5, "{:?}", frame.points[0]);
    }

    #[test]
    fn pandaset_like_clouds_are_in_the_world() {
        let folder = tempfile::tempdir().unwrap();
        clouds(folder.path());
        fs::rename(folder.path().join("frames"), folder.path().join("lidar")).unwrap();
        let pose =
            "{\"position\": {\"x\": 100, \"y\": 0, \"z\": 0}, \"heading\": {\"w\": 1, \"x\": 0, \"y\": 0, \"z\": 0}}";
        write(&folder.path().join("lidar/poses.json"), format!("[{}]", [pose; 4].join(",")));
        let options = OpenOptions { classes: Some(e2bki_data::ClassTable::open("urban11").unwrap()), ..nothing() };
        let dataset = Dataset::open(folder.path(), &options).unwrap();
        assert_eq!((dataset.format(), dataset.len()), (Format::PandaSet, 4));
        assert_eq!(dataset.skipped().without_pose, [4]);
        let frame = dataset.load(2).unwrap();
        assert_eq!(frame.points[0], [-99.0, 2.0, 3.0]);
        let message = Dataset::open(folder.path(), &nothing()).unwrap_err().to_string();
        assert!(message.contains("classes"), "{message}");
    }

    #[test]
    fn a_camera_can_be_given_either_way_round_and_label_images_lifted() {
        let folder = tempfile::tempdir().unwrap();
        clouds(folder.path());
        // The camera looks along x of the sensor: only the first and last points are in front, the last far to the right.
        let camera = "classes = [\"a\", \"b\"]\n[camera]\nsize = [40, 30]\nfocal = [5.0, 5.0]\ncenter = [20.0, 15.0]\n";
        let forward = "camera_from_sensor = [0, -1, 0, 0, 0, 0, -1, 0, 1, 0, 0, 0]\n";
        let backward = "sensor_from_camera = [0, 0, 1, 0, -1, 0, 0, 0, 0, -1, 0, 0]\n";
        let mut ids = image::GrayImage::from_pixel(40, 30, image::Luma([1]));
        // (1, 2, 3) projects to (20 − 10, 15 − 15).
        ids.put_pixel(10, 0, image::Luma([0]));
        fs::create_dir_all(folder.path().join("seen")).unwrap();
        ids.save(folder.path().join("seen/1.png")).unwrap();
        for extrinsics in [forward, backward] {
            let text = format!("{camera}{}", extrinsics.replace("[0, ", "[0.0, ").replace(" 0,", " 0.0,"));
            write(&folder.path().join("e2bki.toml"), text);
            let options = OpenOptions { semantics: SemanticsSource::Labels("seen".into()), ..OpenOptions::default() };
            let dataset = Dataset::open(folder.path(), &options).unwrap();
            assert_eq!((dataset.len(), dataset.id(0)), (1, Some(1)));
            let frame = dataset.load(0).unwrap();
            assert_eq!(frame.semantics, OwnedSemantics::Labels(vec![0, 1]));
            assert_eq!((frame.slots.clone(), frame.counts.outside_image), (vec![0, 2], 1));
        }
        assert_ne!(VOID, 0);
    }
}
