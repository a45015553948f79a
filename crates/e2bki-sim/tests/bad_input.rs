//! Bad settings and unusable folders give a clear error and change nothing.
//! Messages are checked for the path or name they must carry.

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use e2bki_sim::{
        Drive, DriveOptions, Error, ErrorModel, Format, Sensor, SimulateOptions, Standard, WorldKind, simulate,
    };

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("e2bki-sim-bad-{name}-{}", std::process::id()));
        fs::remove_dir_all(&path).ok();
        path
    }

    fn small(frames: usize, out: &PathBuf) -> SimulateOptions {
        let mut drive = DriveOptions::new(WorldKind::Offroad, 3, Sensor::Os1_64);
        drive.columns = Some(64);
        drive.image_width = 64;
        SimulateOptions::drive(drive, frames, Format::Rellis3d, out)
    }

    #[test]
    fn unknown_names_list_the_known_ones() {
        let text = "moon".parse::<WorldKind>().unwrap_err().to_string();
        assert!(text.contains("moon") && text.contains("offroad, urban"), "{text}");
        assert!("os2".parse::<Sensor>().unwrap_err().to_string().contains("hdl-64e"));
        assert!("nuscenes".parse::<Format>().unwrap_err().to_string().contains("semantickitti"));
        assert!("x".parse::<Standard>().unwrap_err().to_string().contains("rellis-like"));
    }

    #[test]
    fn zero_frames_and_absurd_numbers_are_refused() {
        let out = folder("zero");
        assert!(matches!(simulate(&small(0, &out), |_, _| {}), Err(Error::NoFrames)));
        assert!(!out.exists());
        let mut options = DriveOptions::new(WorldKind::Urban, 1, Sensor::Hdl64e);
        options.columns = Some(0);
        assert!(matches!(Drive::new(options), Err(Error::OutOfRange { .. })));
        options.columns = None;
        options.cruise_mps = f64::NAN;
        assert!(Drive::new(options).is_err());
        assert!(ErrorModel::new(WorldKind::Urban, 0.0, 1).is_err());
        assert!(ErrorModel::new(WorldKind::Urban, f64::NAN, 1).is_err());
    }

    #[test]
    fn a_folder_with_other_things_in_it_is_left_alone() {
        let out = folder("foreign");
        fs::create_dir_all(&out).unwrap();
        fs::write(out.join("thesis.txt"), "precious").unwrap();
        let error = simulate(&small(1, &out), |_, _| {}).unwrap_err().to_string();
        assert!(error.contains("thesis.txt") && error.contains("empty or new folder"), "{error}");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
        fs::remove_dir_all(&out).unwrap();
    }

    #[test]
    fn another_drive_in_the_folder_is_not_mixed_with_this_one() {
        let out = folder("other");
        simulate(&small(1, &out), |_, _| {}).unwrap();
        let mut other = small(1, &out);
        other.sequences[0].drive.seed = 4;
        let error = simulate(&other, |_, _| {}).unwrap_err().to_string();
        assert!(error.contains("seed 3, asked for 4"), "{error}");
        fs::remove_dir_all(&out).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let file = folder("file");
        fs::write(&file, "not a folder").unwrap();
        let below = file.join("drive");
        let error = simulate(&small(1, &below), |_, _| {}).unwrap_err().to_string();
        assert!(error.contains("drive") && error.contains("writable"), "{error}");
        let itself = simulate(&small(1, &file), |_, _| {}).unwrap_err().to_string();
        assert!(itself.contains("choose an empty or new folder"), "{itself}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "not a folder");
        fs::remove_file(&file).unwrap();
    }
}
