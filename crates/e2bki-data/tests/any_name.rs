//! Folders and files whose names are not text: they are read like all others.

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::ffi::{OsStr, OsString};
    use std::fs;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::Path;

    use e2bki_data::{ClassTable, Dataset, Format, OpenOptions, OwnedSemantics, SemanticsSource};

    /// `caf\xe9…`: Latin-1, which is not UTF-8.
    fn latin(rest: &str) -> OsString {
        OsString::from_vec([b"caf\xe9", rest.as_bytes()].concat())
    }

    fn write(path: &Path, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn scan() -> Vec<u8> {
        [[5.0, 0.0, 0.0, 0.5], [6.0, 1.0, 0.0, 0.5]].into_iter().flatten().flat_map(f32::to_le_bytes).collect()
    }

    fn labels(ids: [u32; 2]) -> Vec<u8> {
        ids.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// File systems that take text only have nothing to read.
    fn possible(folder: &Path) -> bool {
        let made = fs::create_dir_all(folder).is_ok();
        if !made {
            eprintln!("skipped: this file system has no names that are not text");
        }
        made
    }

    #[test]
    fn a_plain_folder_with_such_names_throughout() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join(latin(""));
        if !possible(&root) {
            return;
        }
        write(&root.join("e2bki.toml"), "classes = \"classes.toml\"\nids = \"mine\"\n");
        let table = "name = \"t\"\n[[class]]\nname = \"a\"\nmine = [7]\n[[class]]\nname = \"b\"\nmine = [9]\n";
        write(&root.join("classes.toml"), table);
        write(&root.join("frames").join(latin("1.bin")), scan());
        write(&root.join("labels").join(latin("1.label")), labels([9, 7]));
        write(&root.join(latin("-net")).join(latin("1_second.label")), labels([7, 7]));
        let dataset = Dataset::open(&root, &OpenOptions::default()).unwrap();
        let frame = dataset.load(0).unwrap();
        assert_eq!(frame.semantics, OwnedSemantics::Labels(vec![1, 0]));
        assert_eq!(frame.name, "caf\u{fffd}1");
        // A folder of another network's labels, named as on a command line.
        let given = [b"labels:".as_slice(), latin("-net").as_bytes()].concat();
        let semantics = SemanticsSource::parse(OsStr::from_bytes(&given)).unwrap();
        let dataset = Dataset::open(&root, &OpenOptions { semantics, ..OpenOptions::default() }).unwrap();
        assert_eq!(dataset.load(0).unwrap().semantics, OwnedSemantics::Labels(vec![0, 0]));
        assert!(ClassTable::read(&root.join("classes.toml")).is_ok());
        assert_eq!(
            SemanticsSource::parse(OsStr::from_bytes(b"logits:a/caf\xe9/b:c")).unwrap(),
            SemanticsSource::Values(e2bki_data::ValueKind::Logits, OsStr::from_bytes(b"a/caf\xe9/b:c").into())
        );
    }

    #[test]
    fn sequences_with_such_names_as_a_dataset_and_by_themselves() {
        let outer = tempfile::tempdir().unwrap();
        let sequence = outer.path().join("sequences").join(latin(""));
        if !possible(&sequence) {
            return;
        }
        write(&sequence.join("calib.txt"), "P2: 100 0 50 0 0 100 40 0 0 0 1 0\nTr: 0 -1 0 0 0 0 -1 0 1 0 0 0\n");
        write(&sequence.join("poses.txt"), "1 0 0 0 0 1 0 0 0 0 1 0\n");
        write(&sequence.join("velodyne/000000.bin"), scan());
        write(&sequence.join("labels/000000.label"), labels([40, 10]));
        for place in [outer.path(), &sequence] {
            let dataset = Dataset::open(place, &OpenOptions::default()).unwrap();
            assert_eq!((dataset.format(), dataset.sequence()), (Format::SemanticKitti, "caf\u{fffd}"));
            assert_eq!(dataset.load(0).unwrap().semantics, OwnedSemantics::Labels(vec![8, 0]));
        }
        let rellis = outer.path().join("rellis/Rellis-3D").join(latin(""));
        write(&rellis.join("os1_cloud_node_kitti_bin/000000.bin"), scan());
        write(&rellis.join("os1_cloud_node_semantickitti_label_id/000000.label"), labels([3, 4]));
        let dataset = Dataset::open(&outer.path().join("rellis"), &OpenOptions::default()).unwrap();
        assert_eq!((dataset.format(), dataset.load(0).unwrap().points.len()), (Format::Rellis3d, 2));
    }

    #[test]
    fn what_has_no_end_is_not_read() {
        let text = ClassTable::open("/dev/zero").unwrap_err().to_string();
        assert!(text.contains("neither a file"), "{text}");
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("e2bki.toml"), "classes = [\"a\", \"b\"]\n");
        fs::create_dir(folder.path().join("frames")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("frames/0.bin")).unwrap();
        let options = OpenOptions { semantics: SemanticsSource::Nothing, ..OpenOptions::default() };
        let text = Dataset::open(folder.path(), &options).unwrap().load(0).unwrap_err().to_string();
        assert!(text.contains("0.bin") && text.contains("not a file"), "{text}");
    }
}
