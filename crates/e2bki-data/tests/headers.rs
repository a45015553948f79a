//! Numbers that headers declare: any of them may be as large as can be written, and none is believed.

#[cfg(test)]
mod tests {
    use e2bki_data::camera::{MAX_PIXELS, MAX_SIDE, check_size};
    use e2bki_data::parse;

    /// What files may say instead of a count: the largest of every width, what wraps, and what is no number.
    const HUGE: [&str; 8] = [
        "18446744073709551615",
        "18446744073709551614",
        "9223372036854775808",
        "4294967296",
        "4294967295",
        "1000000000000",
        "99999999999999999999999",
        "-1",
    ];

    fn pcd(count: &str, points: &str, encoding: &str) -> Vec<u8> {
        format!("FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT {count}\nPOINTS {points}\nDATA {encoding}\n").into_bytes()
    }

    #[test]
    fn counts_of_a_pcd_header_are_bounded_before_they_are_added() {
        // 1 + 18446744073709551615 wraps to 0, which is fewer than any limit.
        let text = parse::pcd(&pcd("1 18446744073709551615 1", "1", "binary")).unwrap_err().what;
        assert!(text.contains("COUNT 18446744073709551615") && text.contains("4096"), "{text}");
        for huge in HUGE {
            for encoding in ["ascii", "binary", "binary_compressed"] {
                for counts in [format!("{huge} 1 1"), format!("1 {huge} 1"), format!("1 1 {huge}")] {
                    assert!(parse::pcd(&pcd(&counts, "1", encoding)).is_err(), "{counts} {encoding}");
                }
                let mut long = pcd("1 1 1", huge, encoding);
                long.extend([255; 64]);
                assert!(parse::pcd(&long).is_err(), "{huge} {encoding}");
                for size in [format!("WIDTH {huge}\nHEIGHT {huge}"), format!("WIDTH 2\nHEIGHT {huge}")] {
                    let text = format!("FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\n{size}\nDATA {encoding}\n");
                    assert!(parse::pcd(text.as_bytes()).is_err(), "{size}");
                }
                let text = format!("FIELDS x\nSIZE {huge}\nTYPE F\nPOINTS 1\nDATA {encoding}\n");
                assert!(parse::pcd(text.as_bytes()).is_err(), "SIZE {huge}");
            }
        }
        // Fields without numbers: so many points that hold nothing.
        assert!(parse::pcd(&pcd("0 0 0", "18446744073709551615", "binary")).is_err());
        // A name is repeated for each number of its field: 60 kB of it would become 245 MB.
        let name = "n".repeat(60_000);
        let text = format!("FIELDS {name}\nSIZE 4\nTYPE F\nCOUNT 4096\nPOINTS 0\nDATA ascii\n");
        assert!(parse::pcd(text.as_bytes()).unwrap_err().what.contains("at most 128"));
    }

    #[test]
    fn lengths_of_compressed_pcd_data_are_held_against_what_there_is() {
        for packed in [0_u32, 1, 4, 5, u32::MAX] {
            for unpacked in [12_u32, u32::MAX - 3, u32::MAX] {
                let points = unpacked / 12;
                let mut file = pcd("1 1 1", &points.to_string(), "binary_compressed");
                file.extend(packed.to_le_bytes());
                file.extend(unpacked.to_le_bytes());
                file.extend([0; 4]);
                assert!(parse::pcd(&file).is_err(), "{packed} {unpacked}");
            }
        }
    }

    #[test]
    fn counts_of_a_ply_header_are_held_against_what_there_is() {
        for huge in HUGE {
            for format in ["ascii", "binary_little_endian", "binary_big_endian"] {
                for fields in ["property float x\n", ""] {
                    let file = format!("ply\nformat {format} 1.0\nelement vertex {huge}\n{fields}end_header\n1 2\n");
                    assert!(parse::ply(file.as_bytes()).is_err(), "{huge} {format} {fields:?}");
                }
            }
        }
        let twice = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nelement vertex 2\nend_header\n1\n2\n";
        assert!(parse::ply(twice.as_bytes()).unwrap_err().what.contains("second"));
    }

    fn npy(shape: &str, data: usize) -> Vec<u8> {
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}");
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(vec![0; data]);
        file
    }

    #[test]
    fn axes_of_an_array_are_held_against_what_there_is() {
        for huge in HUGE {
            for shape in
                [format!("{huge},"), format!("{huge}, {huge}"), format!("2, {huge}"), format!("1, {huge}, 1, 1")]
            {
                assert!(parse::npy(&npy(&shape, 32)).is_err(), "{shape}");
            }
            // Nothing times anything is nothing, but nobody makes room for that many channels.
            for shape in [format!("0, {huge}"), format!("{huge}, 0, 3"), format!("0, {huge}, {huge}")] {
                if let Ok(array) = parse::npy(&npy(&shape, 0)) {
                    assert!(array.is_empty() && parse::Grid::from_npy(&array).is_err(), "{shape}");
                }
            }
        }
        assert!(parse::npy(&npy(&"1, ".repeat(65), 4)).unwrap_err().what.contains("65 axes"));
        let mut long = b"\x93NUMPY\x02\x00".to_vec();
        long.extend(u32::MAX.to_le_bytes());
        assert!(parse::npy(&long).is_err());
    }

    #[test]
    fn shapes_in_names_are_held_against_what_there_is() {
        for huge in HUGE {
            for name in
                [format!("a_{huge}x2x2_f16.bin"), format!("a_2x{huge}x{huge}_f16.bin"), format!("a_0x{huge}x1.bin")]
            {
                if let Some(shape) = parse::grid_shape(&name) {
                    assert!(parse::grid_f16(&[0; 16], shape).is_err(), "{name}");
                }
            }
        }
    }

    #[test]
    fn places_and_counts_of_a_las_header_are_held_against_what_there_is() {
        let mut sound = vec![0_u8; 375 + 40];
        sound[..4].copy_from_slice(b"LASF");
        (sound[24], sound[25]) = (1, 4);
        sound[96..98].copy_from_slice(&375_u16.to_le_bytes());
        sound[105] = 20;
        sound[107] = 2;
        assert_eq!(parse::las(&sound).unwrap().count, 2);
        // Place of the points, bytes of one, their number, and their number in the newer field of 8 bytes.
        for (at, length) in [(96, 4), (105, 2), (107, 4)] {
            for value in [u64::MAX, u64::MAX >> 1, 1 << 31] {
                let mut file = sound.clone();
                file[at..at + length].copy_from_slice(&value.to_le_bytes()[..length]);
                match parse::las(&file) {
                    Ok(table) => assert!(table.count <= 2),
                    Err(flaw) => assert!(flaw.what.contains("cut short") || flaw.what.contains("too short"), "{flaw}"),
                }
            }
        }
        for count in [u64::MAX, 1 << 63, 1 << 32, 3] {
            let mut file = sound.clone();
            file[107] = 0;
            file[247..255].copy_from_slice(&count.to_le_bytes());
            assert!(parse::las(&file).unwrap_err().what.contains("cut short"), "{count}");
        }
    }

    /// A PNG of a header alone, with its sum.
    fn png(width: u32, height: u32, depth: u8, color: u8) -> Vec<u8> {
        let mut chunk = b"IHDR".to_vec();
        chunk.extend(width.to_be_bytes());
        chunk.extend(height.to_be_bytes());
        chunk.extend([depth, color, 0, 0, 0]);
        let mut sum = u32::MAX;
        for byte in &chunk {
            sum ^= u32::from(*byte);
            for _ in 0..8 {
                sum = if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 };
            }
        }
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        file.extend(13_u32.to_be_bytes());
        file.extend(&chunk);
        file.extend((!sum).to_be_bytes());
        file.extend([0, 0, 0, 0]);
        file.extend(b"IDAT\x35\xaf\x06\x1e");
        file
    }

    #[test]
    fn sizes_of_a_picture_are_held_against_what_there_is() {
        for (side, color) in [(16_384, 0), (8192, 2), (4096, 6), (u32::MAX, 0), (u32::MAX >> 1, 2)] {
            let flaw = parse::picture(&png(side, side, 8, color)).unwrap_err();
            assert!(flaw.what.contains("cannot") || flaw.what.contains("possible"), "{side}: {flaw}");
            assert!(parse::label_image(&png(side, side, 8, color)).is_err());
        }
        assert!(parse::picture(&png(8192, 8192, 8, 0)).unwrap_err().what.contains("45 bytes cannot hold"));
        assert_eq!(parse::picture_size(&png(640, 480, 8, 0)), Ok([640, 480]));
        // One colour packs best: it is read all the same.
        let mut packed = Vec::new();
        let black = image::GrayImage::new(4096, 2048);
        black.write_to(&mut std::io::Cursor::new(&mut packed), image::ImageFormat::Png).unwrap();
        assert_eq!(parse::label_image(&packed).unwrap().ids.len(), 4096 * 2048, "{} bytes", packed.len());
    }

    #[test]
    fn cameras_have_sizes_that_can_be_held() {
        assert_eq!(check_size([1920, 1200]), Ok([1920, 1200]));
        assert_eq!(check_size([MAX_SIDE, MAX_PIXELS / MAX_SIDE]), Ok([MAX_SIDE, MAX_PIXELS / MAX_SIDE]));
        for size in
            [[0, 10], [10, 0], [MAX_SIDE + 1, 1], [MAX_SIDE, MAX_SIDE], [usize::MAX, usize::MAX], [60_000, 60_000]]
        {
            assert!(check_size(size).unwrap_err().what.contains("16384"), "{size:?}");
        }
    }
}
