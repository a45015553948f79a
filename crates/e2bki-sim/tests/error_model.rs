//! The segmentation-error model does what its page says.
//! Rates are checked on made-up looks, correlations on a simulated frame.

#[cfg(test)]
mod tests {
    use e2bki_sim::{Drive, DriveOptions, ErrorModel, Look, Sensor, VOID, WorldKind, reliability};

    fn drive(kind: WorldKind) -> Drive {
        let mut options = DriveOptions::new(kind, 21, Sensor::Os1_64);
        options.columns = Some(1024);
        options.image_width = 320;
        Drive::new(options).unwrap()
    }

    fn wrong(evidence: &[f32], count: usize, truth: &[u8]) -> Vec<bool> {
        let best = |row: &[f32]| (0..count).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap();
        evidence.chunks(count).zip(truth).map(|(row, t)| best(row) != usize::from(*t)).collect()
    }

    fn share(flags: impl Iterator<Item = bool>) -> f64 {
        let (mut yes, mut all) = (0, 0);
        for flag in flags {
            yes += u32::from(flag);
            all += 1;
        }
        f64::from(yes) / f64::from(all.max(1))
    }

    #[test]
    fn less_training_data_means_more_errors_and_evidence_stays_informative() {
        for kind in [WorldKind::Offroad, WorldKind::Urban] {
            let drive = drive(kind);
            let frame = drive.frame(12);
            let mut previous = 0.0;
            for fraction in [1.0, 0.5, 0.1, 0.02] {
                let model = ErrorModel::for_drive(&drive, fraction).unwrap();
                let evidence = model.evidence(&frame);
                assert_eq!(evidence.len(), frame.points.len() * model.class_count());
                assert!(evidence.iter().all(|e| e.is_finite() && *e >= 0.0));
                assert_eq!(evidence, model.evidence(&frame));
                let table = reliability(&evidence, model.class_count(), &frame.labels, 15);
                let rate = 1.0 - table.accuracy;
                assert!(rate > previous && rate < 0.45, "{kind:?} {fraction}: {rate}");
                assert!(table.uncertainty[1] > 1.3 * table.uncertainty[0], "{table:?}");
                assert!(table.error < 0.2, "{table:?}");
                previous = rate;
            }
        }
    }

    #[test]
    fn errors_grow_with_distance_and_come_in_blobs() {
        let drive = drive(WorldKind::Offroad);
        let model = ErrorModel::for_drive(&drive, 0.5).unwrap();
        let rate = |range: f64| {
            let flags = (0..30).flat_map(|frame| {
                let looks: Vec<Look> = (0..1500)
                    .map(|k| {
                        let (sin, cos) = (f64::from(k) * 2.4).sin_cos();
                        let direction = [cos, sin, 0.1].map(|v: f64| v / f64::hypot(1.0, 0.1));
                        let [x, y, z] = direction.map(|v| v * range);
                        let place = [x + f64::from(frame) * 5.0, y, z];
                        Look { truth: 6, direction: direction.map(|v| v as f32), range_m: range as f32, place }
                    })
                    .collect();
                let evidence = model.evidence_for(&looks, frame as u64);
                wrong(&evidence, model.class_count(), &vec![6; looks.len()])
            });
            share(flags)
        };
        assert!(rate(40.0) > 1.8 * rate(8.0) && rate(20.0) > rate(8.0), "{} {}", rate(40.0), rate(8.0));
        let frame = drive.frame(12);
        let bad = wrong(&model.evidence(&frame), model.class_count(), &frame.labels);
        // The same beam in the next column is wrong far more often after a wrong return.
        let mut by_slot = vec![None; frame.slot_count + 64];
        for (slot, wrong) in frame.slots.iter().zip(&bad) {
            by_slot[*slot as usize] = Some(*wrong);
        }
        let pairs = || (0..frame.slot_count).filter_map(|k| Some((by_slot[k]?, by_slot[k + 64]?)));
        let after_wrong = share(pairs().filter(|(a, _)| *a).map(|(_, b)| b));
        let after_right = share(pairs().filter(|(a, _)| !*a).map(|(_, b)| b));
        assert!(after_wrong > 3.0 * after_right, "{after_wrong} {after_right}");
    }

    #[test]
    fn images_get_evidence_too_and_sky_stays_unknown() {
        let drive = drive(WorldKind::Urban);
        let image = drive.image(4);
        let model = ErrorModel::for_drive(&drive, 1.0).unwrap();
        let count = model.class_count();
        let evidence = model.image_evidence(&drive, 4, &image);
        assert_eq!(evidence.len(), image.labels.len() * count);
        let rate = share(
            wrong(&evidence, count, &image.labels)
                .iter()
                .zip(&image.labels)
                .filter(|(_, l)| **l != VOID)
                .map(|(b, _)| *b),
        );
        assert!((0.02..0.3).contains(&rate), "{rate}");
        let unknown = evidence.chunks(count).zip(&image.labels).filter(|(_, l)| **l == VOID);
        assert!(unknown.into_iter().all(|(row, _)| row.iter().sum::<f32>() < 12.0));
    }
}
