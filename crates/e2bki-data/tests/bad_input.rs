//! Bad input: a clear error or a counted skip, never a panic, never a silently wrong frame.

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use e2bki_data::{Dataset, Format, GroundTruth, OpenOptions, OwnedSemantics, SemanticsSource, VOID};
    use tempfile::TempDir;

    const IDENTITY: &str = "1 0 0 0 0 1 0 0 0 0 1 0\n";

    fn write(path: &Path, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn scan(points: &[[f32; 3]]) -> Vec<u8> {
        points.iter().flat_map(|p| [p[0], p[1], p[2], 0.5]).flat_map(f32::to_le_bytes).collect()
    }

    fn labels(ids: &[u32]) -> Vec<u8> {
        ids.iter().flat_map(|id| id.to_le_bytes()).collect()
    }

    /// Three frames of four points each: road, car (with an instance), outlier, no return.
    fn kitti() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("sequences/00");
        let calib = "P2: 100 0 50 0 0 100 40 0 0 0 1 0\nTr: 0 -1 0 0 0 0 -1 0 1 0 0 0\n";
        write(&root.join("calib.txt"), calib);
        write(&root.join("poses.txt"), IDENTITY.repeat(3));
        for k in 0..3 {
            let points = [[5.0, 0.0, 0.0], [6.0, 1.0, 0.0], [0.0, 7.0, 1.0], [0.0, 0.0, 0.0]];
            write(&root.join(format!("velodyne/{k:06}.bin")), scan(&points));
            write(&root.join(format!("labels/{k:06}.label")), labels(&[40, 7 << 16 | 10, 1, 0]));
        }
        folder
    }

    fn open(folder: &TempDir) -> e2bki_data::Result<Dataset> {
        Dataset::open(folder.path(), &OpenOptions::default())
    }

    fn message<T>(result: e2bki_data::Result<T>) -> String {
        match result {
            Ok(_) => panic!("it was accepted"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_sound_folder_is_read() {
        let folder = kitti();
        let dataset = open(&folder).unwrap();
        assert_eq!((dataset.format(), dataset.len(), dataset.sequence()), (Format::SemanticKitti, 3, "00"));
        let frame = dataset.load(1).unwrap();
        assert_eq!(frame.points.len(), 3);
        assert_eq!((frame.counts.slots, frame.counts.no_return, frame.slots.clone()), (4, 1, vec![0, 1, 2]));
        assert_eq!(frame.semantics, OwnedSemantics::Labels(vec![8, 0, VOID]));
        assert_eq!(frame.counts.slots, frame.points.len() + frame.counts.dropped());
    }

    #[test]
    fn folders_that_are_not_there_or_not_data() {
        assert!(message(Format::detect(Path::new("no/such/folder"))).contains("no/such/folder does not exist"));
        let empty = tempfile::tempdir().unwrap();
        let text = message(open(&empty));
        assert!(text.contains("data_3d_raw") && text.contains("velodyne") && text.contains("Rellis-3D"), "{text}");
        // Too deep in a dataset: which folder is meant.
        let dataset = kitti();
        let text = message(Format::detect(&dataset.path().join("sequences/00/labels")));
        assert!(
            text.contains("It is a part of") && text.contains("sequences/00 (semantickitti): give that folder"),
            "{text}"
        );
        let options = OpenOptions { format: Some(Format::Kitti360), ..OpenOptions::default() };
        assert!(message(Dataset::open(empty.path(), &options)).contains("holds no sequences"));
        let options = OpenOptions { sequence: Some("42".into()), ..OpenOptions::default() };
        assert!(message(Dataset::open(kitti().path(), &options)).contains("no sequence `42`; it has 00"));
    }

    #[test]
    fn truncated_scans_and_wrong_label_counts_name_the_file() {
        let folder = kitti();
        let path = folder.path().join("sequences/00/velodyne/000001.bin");
        let bytes = fs::read(&path).unwrap();
        write(&path, &bytes[..61]);
        let text = message(open(&folder).unwrap().load(1));
        assert!(text.contains("000001.bin") && text.contains("61 bytes") && text.contains("cut short"), "{text}");
        write(&path, &bytes[..48]);
        let text = message(open(&folder).unwrap().load(1));
        assert!(text.contains("000001.label") && text.contains("4 labels") && text.contains("3 points"), "{text}");
        write(&folder.path().join("sequences/00/labels/000000.label"), [1, 2, 3]);
        assert!(message(open(&folder).unwrap().load(0)).contains("000000.label"));
        assert!(message(open(&folder).unwrap().load(99)).contains("place 99"));
    }

    #[test]
    fn rows_that_are_not_numbers_are_counted() {
        let folder = kitti();
        let points = [[f32::NAN, 0.0, 0.0], [6.0, f32::INFINITY, 0.0], [0.0, 7.0, 1.0], [0.0, 0.0, 0.0]];
        write(&folder.path().join("sequences/00/velodyne/000002.bin"), scan(&points));
        let frame = open(&folder).unwrap().load(2).unwrap();
        assert_eq!((frame.points.len(), frame.counts.non_finite, frame.counts.no_return), (1, 2, 1));
        assert_eq!(frame.semantics, OwnedSemantics::Labels(vec![VOID]));
    }

    #[test]
    fn malformed_pose_lines_are_named() {
        for (line, what) in [
            ("1 0 0 0 0 1 0 0 0 0 1", "12 numbers expected"),
            ("1 0 0 0 0 1 0 0 0 0 1 x", "`x` is not a number"),
            ("1 0 0 nan 0 1 0 0 0 0 1 0", "not finite"),
            ("2 0 0 0 0 1 0 0 0 0 1 0", "not a rotation"),
            ("", "blank"),
        ] {
            let folder = kitti();
            let poses = folder.path().join("sequences/00/poses.txt");
            write(&poses, format!("{IDENTITY}{line}\n{IDENTITY}"));
            let text = message(open(&folder));
            assert!(text.contains("poses.txt, line 2") && text.contains(what), "{line}: {text}");
        }
    }

    #[test]
    fn frames_without_a_pose_or_semantics_are_skipped_and_counted() {
        let folder = kitti();
        write(&folder.path().join("sequences/00/poses.txt"), IDENTITY.repeat(2));
        fs::remove_file(folder.path().join("sequences/00/labels/000001.label")).unwrap();
        let dataset = open(&folder).unwrap();
        assert_eq!((dataset.len(), dataset.id(0)), (1, Some(0)));
        assert_eq!(dataset.skipped().without_pose, [2]);
        assert_eq!(dataset.skipped().without_semantics, [1]);
        fs::remove_file(folder.path().join("sequences/00/labels/000000.label")).unwrap();
        fs::remove_file(folder.path().join("sequences/00/labels/000002.label")).unwrap();
        assert!(message(open(&folder)).contains("labels/*.label"));
    }

    #[test]
    fn wrong_calibration_keys_are_named() {
        let folder = kitti();
        write(&folder.path().join("sequences/00/calib.txt"), "P2: 1 2 3\nTR: 1 0 0 0 0 1 0 0 0 0 1 0\n");
        let text = message(open(&folder));
        assert!(text.contains("calib.txt") && text.contains("no line `Tr:`; found P2, TR"), "{text}");
        // The projection matrix is needed only where the image is.
        write(&folder.path().join("sequences/00/calib.txt"), "P2: 1 2 3\nTr: 1 0 0 0 0 1 0 0 0 0 1 0\n");
        assert!(open(&folder).is_ok());
        let options = OpenOptions { only_in_image: true, ..OpenOptions::default() };
        let text = message(Dataset::open(folder.path(), &options));
        assert!(text.contains("calib.txt, line 1") && text.contains("12 numbers expected, 3 found"), "{text}");
    }

    #[test]
    fn unreadable_and_unfitting_label_images_are_named() {
        let folder = kitti();
        let predicted = folder.path().join("sequences/00/predicted/000000_trainid.png");
        write(&predicted, b"\x89PNG\r\n\x1a\nrubbish");
        let options = OpenOptions { semantics: SemanticsSource::Labels("predicted".into()), ..OpenOptions::default() };
        let text = message(Dataset::open(folder.path(), &options).unwrap().load(0));
        assert!(text.contains("000000_trainid.png") && text.contains("cannot be read"), "{text}");
        image::GrayImage::new(8, 8).save(&predicted).unwrap();
        let text = message(Dataset::open(folder.path(), &options).unwrap().load(0));
        assert!(text.contains("8×8") && text.contains("1241×376"), "{text}");
        image::RgbImage::new(1241, 376).save(&predicted).unwrap();
        assert!(message(Dataset::open(folder.path(), &options).unwrap().load(0)).contains("one channel"));
    }

    #[test]
    fn sources_that_make_no_sense_are_explained() {
        let parse = |text: &str| message(text.parse::<SemanticsSource>());
        assert!(parse("net.onnx").contains("ONNX"));
        assert!(parse("labels").contains("needs a folder"));
        assert!(parse("tarot").contains("ground-truth"));
        let folder = kitti();
        let with = |semantics: &str| OpenOptions { semantics: semantics.parse().unwrap(), ..OpenOptions::default() };
        assert!(message(Dataset::open(folder.path(), &with("logits:nowhere"))).contains("nowhere"));
        write(&folder.path().join("sequences/00/net/000000_logits_5x2x2_f16.bin"), [0; 40]);
        assert!(message(Dataset::open(folder.path(), &with("logits:net"))).contains("5 channels for 19 classes"));
        write(&folder.path().join("sequences/00/net20/000000_logits_20x2x2_f16.bin"), [0; 40]);
        let text = message(Dataset::open(folder.path(), &with("logits:net20")).unwrap().load(0));
        assert!(text.contains("40 bytes are not 20×2×2"), "{text}");
    }

    #[test]
    fn per_point_values_reach_the_mapper_s_form() {
        let folder = kitti();
        // Four points, three channels, of which the second means nothing.
        let values: [f32; 12] = [1.0, 0.0, 2.0, 0.0, 9.0, 1.0, 3.0, 0.0, 0.0, 5.0, 5.0, 5.0];
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }";
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        write(&folder.path().join("sequences/00/net/000000.npy"), file);
        let text = "name = \"t\"\n[[class]]\nname = \"a\"\nnet = [0]\nsemantickitti = [40]\n[[class]]\nname = \"b\"\nnet = [2]\n";
        let options = OpenOptions {
            semantics: "evidence:net".parse().unwrap(),
            semantic_ids: Some("net".into()),
            classes: Some(e2bki_data::ClassTable::from_toml(text, "t").unwrap()),
            ground_truth: GroundTruth::Auto,
            ..OpenOptions::default()
        };
        let frame = Dataset::open(folder.path(), &options).unwrap().load(0).unwrap();
        assert_eq!(frame.semantics, OwnedSemantics::Evidence(vec![1.0, 2.0, 3.0, 0.0]));
        assert_eq!((frame.counts.void, frame.counts.no_return, frame.slots.clone()), (1, 1, vec![0, 2]));
        assert_eq!(frame.ground_truth, Some(vec![0, VOID]));
    }
}
