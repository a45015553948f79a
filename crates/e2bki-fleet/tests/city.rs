//! A fleet's map in files for geographic programs, read back by another reader.

#[cfg(test)]
mod drives;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Read;

    use e2bki_fleet::{City, commit, export_city, export_pmtiles};

    use crate::drives::{Trial, exported, trial};

    #[test]
    fn every_primitive_is_a_point_of_one_block() {
        let one = trial();
        // Far enough for a second block.
        for run in [0, 1, 12, 13] {
            one.add(run);
        }
        let Trial { folder, fleet } = &one;
        commit(fleet, &[]).unwrap();
        let out = folder.path().join("city");
        let City { index, blocks } = export_city(fleet, None, &out, None).unwrap();
        assert_eq!(blocks.len(), 2);

        exported(fleet, folder.path());
        let map = e2bki_store::load(folder.path().join("exported.e2bki")).unwrap();
        let mut expected: BTreeMap<[i64; 3], (u8, u16)> = BTreeMap::new();
        for p in map.primitives() {
            let place = p.mean().map(|v| (v * 1000.0).round() as i64);
            let u = (p.uncertainty() * 65_535.0).round() as u16;
            assert!(expected.insert(place, (p.label() as u8, u)).is_none(), "two at {place:?}");
        }
        let mut found = 0;
        for block in &blocks {
            let mut reader = las::Reader::from_path(out.join(&block.file)).unwrap();
            let lookup = reader.header().vlrs().iter().find(|vlr| vlr.user_id == "LASF_Spec" && vlr.record_id == 0);
            assert_eq!(&lookup.unwrap().data[17..21], b"tree");
            let points = reader.read_all().unwrap();
            for point in points.points() {
                let point = point.unwrap();
                let place = [point.x, point.y, point.z].map(|v| v * 1000.0);
                let class = u16::from_le_bytes([point.extra_bytes[0], point.extra_bytes[1]]);
                let u = u16::from_le_bytes([point.extra_bytes[2], point.extra_bytes[3]]);
                // Millimetres from the corner of a block: the last digit may be the next.
                let near = |d: [i64; 3]| {
                    let key: [i64; 3] = std::array::from_fn(|i| place[i].round() as i64 + d[i]);
                    expected.get(&key) == Some(&(class as u8, u))
                };
                let around = (0..27).map(|n| [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1]);
                assert!(around.into_iter().any(near), "{point:?}");
                found += 1;
            }
            assert!(block.block.iter().zip(block.low).all(|(b, v)| f64::from(*b) * 256.0 <= v));
        }
        assert_eq!(found, expected.len());
        let rights = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions();
        assert!(
            blocks.iter().all(|block| rights(&out.join(&block.file)) == rights(&index)),
            "others may read them too"
        );
        let index: serde_json::Value = serde_json::from_slice(&std::fs::read(index).unwrap()).unwrap();
        let features = index["features"].as_array().unwrap();
        let count: u64 = features.iter().map(|feature| feature["properties"]["pc:count"].as_u64().unwrap()).sum();
        assert_eq!(count, found as u64);
        for feature in features {
            assert!(out.join(feature["assets"]["data"]["href"].as_str().unwrap()).is_file());
        }
        // The same map, the same bytes.
        let again = folder.path().join("again");
        export_city(fleet, None, &again, None).unwrap();
        for block in &blocks {
            assert!(std::fs::read(out.join(&block.file)).unwrap() == std::fs::read(again.join(&block.file)).unwrap());
        }
    }

    /// A number of a header, little-endian.
    fn at(bytes: &[u8], place: usize) -> usize {
        u64::from_le_bytes(bytes[place..place + 8].try_into().unwrap()) as usize
    }

    #[test]
    fn every_pixel_from_above_is_what_the_whole_map_believes_there() {
        let one = trial();
        (0..4).for_each(|run| one.add(run));
        let Trial { folder, fleet } = &one;
        let nothing = export_pmtiles(fleet, None, &folder.path().join("no.pmtiles"), None).unwrap_err();
        assert!(nothing.to_string().contains("nothing to be seen"), "{nothing}");
        commit(fleet, &[]).unwrap();
        let out = folder.path().join("city.pmtiles");
        let made = export_pmtiles(fleet, None, &out, None).unwrap();
        let bytes = std::fs::read(&out).unwrap();
        assert_eq!(bytes.len() as u64, made.bytes);
        assert!(bytes.starts_with(b"PMTiles\x03") && bytes[100..102] == made.zooms);
        assert_eq!(at(&bytes, 72), made.count);
        exported(fleet, folder.path());
        let map = e2bki_store::load(folder.path().join("exported.e2bki")).unwrap();
        let view = map.birds_eye().unwrap();

        // A pixel of the finest zoom, metres of the web's sphere; to the north the Earth is a little flatter than that.
        let zoom = made.zooms[1];
        let (equator, along) = (6_378_137.0, 6_335_439.327);
        let pixel = 2.0 * std::f64::consts::PI * equator / 256.0 / f64::from(1_u32 << zoom);
        assert!((0.15..0.35).contains(&pixel), "{pixel}");
        let middle = 1_i64 << zoom >> 1;
        let mut of: BTreeMap<u64, [i64; 2]> = BTreeMap::new();
        for x in middle - 5..middle + 10 {
            of.extend((middle - 10..middle + 10).map(|y| (hilbert(zoom, x, y), [x, y])));
        }
        let first = hilbert(zoom, 0, 0);
        let mut unseen: Vec<[f64; 3]> = map.primitives().map(|p| p.mean()).collect();
        for (id, picture) in entries(&bytes).into_iter().filter(|(id, _)| *id >= first) {
            let image = image::load_from_memory(picture).unwrap().to_rgba8();
            let corner = of[&id].map(|v| 256.0 * (v - middle) as f64);
            let place =
                |column: f64, row: f64| [(corner[0] + column) * pixel, -(corner[1] + row) * pixel * along / equator];
            let places: Vec<[f64; 2]> =
                (0..256 * 256).map(|i| place(f64::from(i % 256) + 0.5, f64::from(i / 256) + 0.5)).collect();
            let beliefs = view.query(&places);
            let wrong = image.pixels().zip(beliefs.iter()).filter(|(pixel, belief)| {
                let color = belief.label().map(|class| map.classes().colors()[class]);
                color != (pixel.0[3] == 255).then_some([pixel.0[0], pixel.0[1], pixel.0[2]])
            });
            // The Earth is round: within a fraction of a millimetre of an edge between classes a pixel may be the other one.
            let wrong = wrong.count();
            assert!(wrong < 5, "{wrong} pixels of {:?}", of[&id]);
            assert!(image.pixels().any(|pixel| pixel.0[3] == 255));
            let ([x0, y1], [x1, y0]) = (place(0.0, 0.0), place(256.0, 256.0));
            unseen.retain(|mean| !((x0..x1).contains(&mean[0]) && (y0..y1).contains(&mean[1])));
        }
        assert!(unseen.is_empty(), "{unseen:?}");
    }

    /// Numbers and bytes of all pictures of a file whose first directory has them all.
    fn entries(file: &[u8]) -> Vec<(u64, &[u8])> {
        let root = &file[at(file, 8)..at(file, 8) + at(file, 16)];
        let mut directory = Vec::new();
        flate2::read::GzDecoder::new(root).read_to_end(&mut directory).unwrap();
        let mut bytes = directory.into_iter();
        let mut next = || {
            let (mut value, mut shift) = (0, 0);
            loop {
                let byte = bytes.next().unwrap();
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    return value;
                }
            }
        };
        let count = next() as usize;
        let mut columns = || (0..count).map(|_| next()).collect::<Vec<u64>>();
        let [ids, runs, lengths, places] = [columns(), columns(), columns(), columns()];
        assert!(runs.iter().all(|run| *run == 1));
        let (mut id, mut place) = (0, 0);
        let mut found = Vec::new();
        for i in 0..count {
            id += ids[i];
            place = if places[i] > 0 { places[i] - 1 } else { place + lengths[i - 1] };
            let start = at(file, 56) + place as usize;
            found.push((id, &file[start..start + lengths[i] as usize]));
        }
        found
    }

    /// Place along the curve, by the definition of PMTiles.
    fn hilbert(zoom: u8, mut x: i64, mut y: i64) -> u64 {
        let (mut d, mut s) = (((1_i64 << (2 * zoom)) - 1) / 3, 1_i64 << zoom >> 1);
        while s > 0 {
            let (rx, ry) = (i64::from(x & s > 0), i64::from(y & s > 0));
            d += s * s * ((3 * rx) ^ ry);
            if ry == 0 {
                if rx == 1 {
                    (x, y) = (s - 1 - (x & (s - 1)), s - 1 - (y & (s - 1)));
                }
                (x, y) = (y, x);
            }
            s /= 2;
        }
        d as u64
    }
}
