//! A fleet's map in files for geographic programs, read back by another reader.

#[cfg(test)]
mod drives;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use e2bki_fleet::{City, commit, export_city};

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
}
