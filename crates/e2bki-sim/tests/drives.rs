//! Drives in memory: repeatable for any thread count, with the classes they promise, in bounded memory.
//! Whole frames and images are compared, not digests.

#[cfg(test)]
mod tests {
    use e2bki_sim::{
        Drive, DriveOptions, Generation, Lighting, Noise, Season, Sensor, SimFrame, SimImage, Split, Standard, VOID,
        WorldKind,
    };

    fn options(kind: WorldKind, seed: u64) -> DriveOptions {
        let sensor = if kind == WorldKind::Urban { Sensor::Hdl64e } else { Sensor::Os1_64 };
        let mut options = DriveOptions::new(kind, seed, sensor);
        options.columns = Some(256);
        options.image_width = 160;
        options
    }

    fn with_threads(threads: usize, options: DriveOptions, index: usize) -> (SimFrame, SimImage) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let drive = Drive::new(options).unwrap();
            (drive.frame(index), drive.image(index))
        })
    }

    #[test]
    fn the_same_seed_gives_the_same_frame_for_any_number_of_threads() {
        for kind in [WorldKind::Offroad, WorldKind::Urban] {
            let one = with_threads(1, options(kind, 9), 3);
            assert!(one == with_threads(2, options(kind, 9), 3));
            assert!(one == with_threads(8, options(kind, 9), 3));
            assert!(one != with_threads(2, options(kind, 10), 3));
        }
    }

    #[test]
    fn a_frame_does_not_depend_on_the_frames_made_before_it() {
        let wandering = Drive::new(options(WorldKind::Urban, 2)).unwrap();
        for index in [900, 0, 333, 20_000] {
            wandering.frame(index);
        }
        let fresh = Drive::new(options(WorldKind::Urban, 2)).unwrap();
        assert!(wandering.frame(40) == fresh.frame(40));
    }

    #[test]
    fn a_long_drive_holds_a_bounded_number_of_tiles() {
        let mut options = options(WorldKind::Offroad, 6);
        options.columns = Some(16);
        options.cruise_mps = 8.0;
        let drive = Drive::new(options).unwrap();
        for index in (0..25_000).step_by(1250) {
            assert!(!drive.frame(index).points.is_empty());
            let (bytes, tiles) = drive.world().cached();
            assert!(tiles <= 480 && bytes < 150_000_000, "{tiles} tiles, {bytes} bytes");
        }
    }

    fn present(drive: &Drive, frames: &[usize]) -> Vec<bool> {
        let mut seen = vec![false; drive.classes().len()];
        for index in frames {
            for label in drive.frame(*index).labels.into_iter().filter(|l| *l != VOID) {
                seen[usize::from(label)] = true;
            }
        }
        seen
    }

    #[test]
    fn the_standard_drives_show_the_classes_of_the_papers_tables() {
        let frames: Vec<usize> = (0..400).step_by(40).collect();
        let expected = [
            (Standard::RellisLike, vec![true, true, true, false, true, true, true]),
            (Standard::OffroadLike, vec![false, true, false, true, false, true, true]),
            (Standard::KittiLike, vec![true; 11]),
        ];
        for (standard, classes) in expected {
            for split in [Split::Train, Split::Test] {
                let mut options = standard.drives(split)[0].options;
                options.columns = Some(512);
                let drive = Drive::new(options).unwrap();
                let seen = present(&drive, &frames);
                for (k, class) in drive.classes().iter().enumerate() {
                    assert!(classes[k] || !seen[k], "{standard:?} {split:?}: unexpected {}", class.name);
                    assert!(!classes[k] || seen[k], "{standard:?} {split:?}: no {}", class.name);
                }
            }
        }
    }

    #[test]
    fn matched_drives_come_back_and_see_less_far_and_first_ones_are_as_they_were() {
        for standard in [Standard::RellisLike, Standard::OffroadLike, Standard::KittiLike] {
            let of = |generation| standard.drives_of(generation, Split::Test)[0];
            let (first, matched) = (of(Generation::First), of(Generation::Matched));
            assert_eq!(first, standard.drives(Split::Test)[0]);
            let written = serde_json::to_string(&first.options).unwrap();
            assert!(!written.contains("returns") && !written.contains("frame_s"), "{written}");
            assert_eq!(serde_json::from_str::<DriveOptions>(&written).unwrap(), first.options);
            let again = serde_json::to_string(&matched.options).unwrap();
            assert_eq!(serde_json::from_str::<DriveOptions>(&again).unwrap(), matched.options);

            let drive = |mut options: DriveOptions| {
                options.columns = Some(256);
                Drive::new(options).unwrap()
            };
            let (before, now) = (drive(first.options), drive(matched.options));
            let place = |index: usize| now.true_pose(index).translation;
            let way: f64 = (1..matched.frames).map(|i| (place(i) - place(i - 1)).length()).sum();
            assert!(way > 300.0, "{standard:?}: {way} m");
            // Somewhere on the second half it is within a lane's width of where it was on the first.
            let half = matched.frames / 2;
            let near = |i: usize| (0..half).any(|j| i - j > 200 && (place(i) - place(j)).length() < 4.0);
            assert!((half..matched.frames).any(near), "{standard:?} never comes back");
            let far = |drive: &Drive| {
                let points: Vec<[f32; 3]> = (0..5).flat_map(|i| drive.frame(40 * i).points).collect();
                let beyond = points.iter().filter(|p| p.iter().map(|v| v * v).sum::<f32>() > 900.0);
                beyond.count() as f64 / points.len() as f64
            };
            assert!(far(&now) < far(&before), "{standard:?}: {} before, {} now", far(&before), far(&now));
        }
    }

    #[test]
    fn splits_and_seasons_of_standard_drives_differ() {
        let seeds =
            |split| -> Vec<u64> { Standard::OffroadLike.drives(split).iter().map(|d| d.options.seed).collect() };
        let mut all = [seeds(Split::Train), seeds(Split::Validation), seeds(Split::Test)].concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 9);
        let drives = Standard::OffroadLike.drives(Split::Test);
        let seasons: Vec<Season> = drives.iter().map(|d| d.options.season).collect();
        assert_eq!(seasons, [Season::Spring, Season::Autumn, Season::Winter]);
        assert!(drives.iter().all(|d| d.options.lighting == Lighting::Changing));
    }

    #[test]
    fn pose_noise_and_calibration_error_change_only_what_is_reported() {
        let exact = options(WorldKind::Urban, 5);
        let noise = Noise { position_m: 0.1, angle_rad: 0.01 };
        let noisy = DriveOptions { pose_noise: noise, calibration_error: noise, ..exact };
        let (a, b) = (Drive::new(exact).unwrap(), Drive::new(noisy).unwrap());
        let (fa, fb) = (a.frame(7), b.frame(7));
        assert_eq!(fa.points, fb.points);
        assert_eq!(fa.true_world_from_sensor, fb.true_world_from_sensor);
        assert_eq!(fa.world_from_sensor, fa.true_world_from_sensor);
        let gap = (0..3).map(|k| (fb.world_from_sensor[k][3] - fb.true_world_from_sensor[k][3]).powi(2)).sum::<f64>();
        assert!((0.001..1.0).contains(&gap.sqrt()), "{gap}");
        assert_eq!(a.image(7), b.image(7));
        assert_ne!(a.rig().reported_sensor_from_camera, b.rig().reported_sensor_from_camera);
    }

    #[test]
    fn moving_cars_and_persons_move() {
        let drive = Drive::new(options(WorldKind::Urban, 3)).unwrap();
        let moving = (0..100).step_by(10).map(|k| drive.frame(k));
        let count: usize = moving.map(|f| f.moving.iter().filter(|m| **m).count()).sum();
        assert!(count > 100, "{count} returns from movers");
    }

    #[test]
    fn a_long_drive_holds_no_more_of_the_world_than_a_short_one() {
        let options = DriveOptions { columns: Some(64), ..DriveOptions::new(WorldKind::Urban, 5, Sensor::Hdl64e) };
        let drive = Drive::new(options).unwrap();
        let held = |frames: std::ops::Range<usize>| {
            frames.map(|index| (drive.frame(index), drive.world().cached().0).1).max().unwrap()
        };
        // Two hundred metres in, all that is ever held at once is there.
        let (early, late) = (held(0..250), held(250..700));
        assert!(late as f64 <= 1.15 * early as f64, "{early} bytes, later {late}");
    }
}
