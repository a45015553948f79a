//! Any bytes, and damaged versions of sound files, never make a parser panic; what it accepts is consistent.

#[cfg(test)]
mod tests {
    use e2bki_data::{ClassTable, parse};
    use proptest::prelude::*;

    /// Runs every parser of bytes.
    fn parse_bytes(bytes: &[u8]) {
        for fields in [0, 3, 4, 70] {
            parse::points(bytes, fields).ok();
        }
        if let Ok(labels) = parse::labels(bytes) {
            assert_eq!(labels.len() * 4, bytes.len());
        }
        if let Ok(array) = parse::npy(bytes) {
            assert_eq!(array.values().count(), array.shape.iter().product::<usize>());
            parse::Grid::from_npy(&array).ok();
        }
        for table in [parse::ply(bytes), parse::pcd(bytes), parse::las(bytes)].into_iter().flatten() {
            if let Ok(points) = table.points() {
                assert_eq!(points.len(), table.count);
            }
            table.labels();
        }
        parse::grid_f16(bytes, [2, 3, 4]).ok();
        parse::grid_f16(bytes, [usize::MAX, 2, usize::MAX]).ok();
        parse::picture(bytes).ok();
        parse::picture_size(bytes).ok();
        if let Ok(image) = parse::label_image(bytes) {
            assert_eq!(image.ids.len(), image.width * image.height);
        }
    }

    /// Runs every parser of text.
    fn parse_text(text: &str) {
        parse::pose_rows(text).ok();
        parse::indexed_poses(text).ok();
        parse::pandaset_poses(text).ok();
        parse::transform(text, "a").ok();
        parse::numbers::<4>(text).ok();
        let keyed = parse::Keyed::parse(text);
        keyed.numbers::<12>("Tr").ok();
        keyed.has("a");
        parse::grid_shape(text);
        ClassTable::from_toml(text, "any").ok();
        text.parse::<e2bki_data::SemanticsSource>().ok();
        text.parse::<e2bki_data::Format>().ok();
    }

    /// Sound files to damage.
    fn sound() -> Vec<Vec<u8>> {
        let ply = b"ply\nformat binary_little_endian 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nproperty int semantic\nend_header\n";
        let text_ply = b"ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 2 3\n4 5 6\n";
        let pcd = b"VERSION 0.7\nFIELDS x y z label\nSIZE 4 4 4 2\nTYPE F F F U\nCOUNT 1 1 1 1\nWIDTH 2\nHEIGHT 1\nPOINTS 2\nDATA ";
        let mut las = vec![0_u8; 227 + 40];
        las[..4].copy_from_slice(b"LASF");
        las[25] = 2;
        las[96] = 227;
        las[105] = 20;
        las[107] = 2;
        let mut npy =
            b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n"
                .to_vec();
        npy.extend([0; 24]);
        let mut compressed = [&pcd[..], b"binary_compressed\n"].concat();
        compressed.extend([4, 0, 0, 0, 28, 0, 0, 0, 0, 1, 7 << 5, 18, 0]);
        let mut png = Vec::new();
        let picture = image::GrayImage::from_fn(5, 4, |x, y| image::Luma([(x * y) as u8]));
        picture.write_to(&mut std::io::Cursor::new(&mut png), image::ImageFormat::Png).unwrap();
        vec![
            [&ply[..], &[0; 32]].concat(),
            text_ply.to_vec(),
            [&pcd[..], b"binary\n", &[0; 28]].concat(),
            [&pcd[..], b"ascii\n1 2 3 4\n5 6 7 8\n"].concat(),
            compressed,
            las,
            npy,
            png,
        ]
    }

    #[test]
    fn sound_files_are_read() {
        let all = sound();
        for table in [parse::ply(&all[0]), parse::ply(&all[1]), parse::pcd(&all[2]), parse::pcd(&all[3])] {
            assert_eq!(table.unwrap().points().unwrap().len(), 2);
        }
        assert_eq!(parse::pcd(&all[3]).unwrap().labels(), Some(vec![4, 8]));
        assert_eq!(parse::las(&all[5]).unwrap().points().unwrap().len(), 2);
        assert_eq!(parse::npy(&all[6]).unwrap().shape, [2, 3]);
        assert_eq!(parse::label_image(&all[7]).unwrap().at(4, 3), 12);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            parse_bytes(&bytes);
            parse_text(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn damaged_files_never_panic(
            which in 0..8_usize,
            cut in 0..400_usize,
            changes in prop::collection::vec((0..400_usize, any::<u8>()), 0..6),
        ) {
            let mut bytes = sound()[which].clone();
            let length = bytes.len();
            for (at, value) in changes {
                bytes[at % length] = value;
            }
            bytes.truncate(if cut < length { cut } else { length });
            parse_bytes(&bytes);
        }

        #[test]
        fn numbers_of_any_kind_never_panic(text in "([-0-9.e \\n:#a,_x]{0,120})|(Tr: [-0-9. ]{0,80})|(a:\\n q:\\n  w: [0-9.]{0,8})") {
            parse_text(&text);
        }
    }
}
