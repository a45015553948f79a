//! Recordings through the program: a simulated drive as MCAP is the same drive, and a recorded map is read back.

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::{Command, Output};

    use e2bki_bag::Bag;
    use e2bki_bag::messages::{Cloud, transforms};
    use e2bki_bag::wire::Reader;

    fn e2bki(folder: &Path, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_e2bki"))
            .args(arguments)
            .current_dir(folder)
            .output()
            .expect("the program starts")
    }

    fn works(folder: &Path, arguments: &[&str]) -> String {
        let output = e2bki(folder, arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned() + &said
    }

    #[test]
    fn a_drive_recorded_as_mcap_makes_the_same_map_and_the_map_is_recorded_in_turn() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        let drive = ["simulate", "--world", "offroad", "--frames", "4", "--no-images", "--seed", "3"];
        let simulated = |format: &str, out: &str| {
            works(here, &[&drive[..], &["--format", format, "--out", out]].concat());
        };
        simulated("rellis3d", "files");
        simulated("mcap", "drive.mcap");
        works(here, &["map", "files", "--semantics", "ground-truth-3d", "-o", "files.e2bki"]);
        let said =
            works(here, &["map", "drive.mcap", "-o", "bag.e2bki", "--record", "map.mcap", "--record-every", "2"]);
        assert!(said.contains("bag sequence drive.mcap: 4 of 4 frames"), "{said}");
        let bytes = |name: &str| std::fs::read(here.join(name)).unwrap();
        assert!(bytes("files.e2bki") == bytes("bag.e2bki"), "the maps differ");

        let again = e2bki(here, &[&drive[..], &["--format", "mcap", "--out", "drive.mcap"]].concat());
        assert!(String::from_utf8_lossy(&again.stderr).contains("is there already"));
        let looked = works(here, &["inspect", "drive.mcap", "--overlay", "look.png"]);
        assert!(
            looked.contains("transforms from `lidar` to `map`") && looked.contains("Nothing looks wrong"),
            "{looked}"
        );
        works(here, &["eval", "bag.e2bki", "drive.mcap"]);

        // Where damage took all there was, that is said.
        std::fs::write(here.join("cut.mcap"), &bytes("drive.mcap")[..5000]).unwrap();
        let refused = e2bki(here, &["map", "cut.mcap"]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains("ends without its last records"), "{said}");

        // What was recorded says what the map file says.
        let map = e2bki_store::load(here.join("bag.e2bki")).unwrap();
        let bag = Bag::open(here.join("map.mcap")).unwrap();
        assert!(bag.notes().is_empty(), "{:?}", bag.notes());
        let last = |topic: &str| {
            let number = bag.topics().iter().position(|t| t.name == topic).unwrap_or_else(|| panic!("{topic}"));
            let entry = *bag.of_topic(number).last().unwrap();
            (bag.topics()[number].count, bag.wire(&entry), bag.read(&entry).unwrap())
        };
        let (count, wire, data) = last("/map/primitives");
        assert_eq!(count, 2);
        let cloud = Cloud::read(wire, &data).unwrap();
        assert_eq!((cloud.len(), cloud.header.frame), (map.len(), "map"));
        let first = map.primitives().next().unwrap();
        let of = |name: &str| cloud.column(cloud.field(&[name]).unwrap()).next().unwrap();
        assert_eq!(of("x") as f32, first.mean()[0] as f32);
        assert_eq!((of("class") as usize, of("u") as f32), (first.label(), first.uncertainty() as f32));
        let (_, wire, data) = last("/map/voxels");
        let voxels = map.voxels(map.config().views.resolution).unwrap();
        let seen = voxels.beliefs.iter().filter(|belief| belief.label().is_some()).count();
        assert_eq!(Cloud::read(wire, &data).unwrap().len(), seen);
        let grid = |topic: &str| {
            let (_, wire, data) = last(topic);
            let mut fields = Reader::new(wire, &data).unwrap();
            let grid = (|| {
                fields.i32().and(fields.u32()).and(fields.text())?;
                fields.i32().and(fields.u32()).and(fields.u32())?;
                let size = [fields.u32()?, fields.u32()?];
                fields.f64s::<7>()?;
                Ok::<_, e2bki_bag::wire::Broken>((size, fields.bytes()?.to_vec()))
            })();
            grid.unwrap()
        };
        let (size, cells) = grid("/map/costmap");
        assert_eq!(cells.len(), (size[0] * size[1]) as usize);
        assert!(size.iter().all(|n| [500, 501].contains(n)), "{size:?}");
        let count = |wanted: fn(i8) -> bool| cells.iter().filter(|cell| wanted(**cell as i8)).count();
        assert!(count(|c| c == 100) > 100 && count(|c| (0..50).contains(&c)) > 1000 && count(|c| c == -1) > 1000);
        let (size, cells) = grid("/map/occupancy");
        assert_eq!(cells.len(), (size[0] * size[1]) as usize);
        let known =
            map.bev(map.config().views.resolution).unwrap().beliefs.iter().filter(|b| b.label().is_some()).count();
        assert_eq!(cells.iter().filter(|cell| **cell != 255).count(), known);
        let (count, wire, data) = last("/tf");
        assert_eq!((count, transforms(wire, &data).unwrap().0[0].child.as_str()), (4, "lidar"));
        assert_eq!(last("/diagnostics").0, 4);
        assert_eq!((last("/map/layers").0, last("/map/costmap").0), (2, 2));
        assert_eq!((last("/map/grid_map").0, last("/map/ellipsoids").0, last("/map/label_info").0), (2, 2, 1));
    }
}
