//! Scores of fixed small simulated drives, held within stated bounds: a change that makes maps worse, or better, is seen.
//!
//! Points in the camera's view of coarse scans, a simulated network, every fifth frame mapped and all asked about, as in
//! the experiments. Everything is seeded, so the scores repeat to the last digit; the bounds leave room for changes that
//! are no matter of quality. Whoever means to change the scores writes down the new ones and says why.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may fail loudly

#[cfg(test)]
mod tests {
    use e2bki::{ClassSet, Config, Mapper, Pose, SemanticMapper};
    use e2bki_baselines::Baseline;
    use e2bki_eval::{Asked, Confidence, Entrant, GroundTruth, LabelledFrame, Record, Said, View, assess, run};
    use e2bki_sim::{Drive, ErrorModel, Split, Standard};

    const FRAMES: usize = 40;
    const COLUMNS: usize = 512;

    /// How far mIoU, Acc, BS and ECE may be from what is written down, in points.
    const ROOM: [f64; 4] = [1.5, 1.0, 0.6, 0.8];

    /// mIoU, Acc, BS and ECE of a method.
    type Expected = (&'static str, [f64; 4]);

    /// The frames of a drive, points in the camera's view.
    fn frames(standard: Standard) -> (ClassSet, Vec<LabelledFrame>) {
        let mut options = standard.drives(Split::Validation)[0].options;
        options.columns = Some(COLUMNS);
        let drive = Drive::new(options).unwrap();
        let classes = ClassSet::new(drive.classes().iter().map(|class| (class.name, class.color))).unwrap();
        let network = ErrorModel::for_drive(&drive, 0.3).unwrap();
        let frame = |index| {
            let frame = drive.frame(index);
            let all = LabelledFrame {
                world_from_sensor: Pose::from_matrix(frame.world_from_sensor).unwrap(),
                truth: frame.labels.iter().map(|label| u32::from(*label)).collect(),
                said: Said::Evidence(network.evidence(&frame)),
                points: frame.points,
            };
            all.filtered(classes.len(), |i| drive.pixel_of(all.points[i]).is_some())
        };
        let frames = (0..FRAMES).map(frame).collect();
        (classes, frames)
    }

    fn scores(standard: Standard, preset: &str) -> Vec<Record> {
        let (classes, frames) = frames(standard);
        let paper = Config::preset(preset).unwrap();
        let ours = |config: &Config| -> Box<dyn SemanticMapper> {
            Box::new(Mapper::new(classes.clone(), config.clone()).unwrap())
        };
        let mut entrants = [
            Entrant::new("E2-BKI", ours(&Config::default()), 5, Confidence::Decomposed),
            Entrant::new("E2-BKI, paper's settings", ours(&paper), 5, Confidence::Decomposed),
            Entrant::new("S-BKI", Baseline::SBki.build(classes.clone(), &paper).unwrap(), 5, Confidence::Variance),
        ];
        let mut truth = GroundTruth::new(classes.len(), Asked::Cells, f64::INFINITY, &[View::Voxel]);
        run(frames.into_iter().map(Ok), &mut entrants, &mut truth, |_| true, |_| {}).unwrap();
        let questions = truth.into_questions();
        entrants.iter().map(|entrant| assess("drive", entrant, View::Voxel, &questions).unwrap().0).collect()
    }

    fn hold(standard: Standard, preset: &str, expected: [Expected; 3]) {
        let records = scores(standard, preset);
        let numbers = |r: &Record| [r.miou, r.acc, r.bs, r.ece].map(|score| score.expect("a score"));
        let found: Vec<String> = records.iter().map(|r| format!("(\"{}\", {:.1?}),", r.method, numbers(r))).collect();
        for (record, (method, scores)) in records.iter().zip(expected) {
            assert_eq!(record.method, method);
            for ((now, then), room) in numbers(record).into_iter().zip(scores).zip(ROOM) {
                assert!(
                    (now - then).abs() <= room,
                    "{standard:?}, {method}: {now:.2}, expected {then} ± {room}\n{found:#?}"
                );
            }
        }
    }

    #[test]
    fn an_off_road_drive_scores_as_before() {
        hold(
            Standard::RellisLike,
            "paper-rellis",
            [
                ("E2-BKI", [63.2, 83.0, 7.7, 2.3]),
                ("E2-BKI, paper's settings", [62.9, 82.4, 9.7, 5.3]),
                ("S-BKI", [58.4, 74.9, 16.3, 11.5]),
            ],
        );
    }

    #[test]
    fn an_urban_drive_scores_as_before() {
        hold(
            Standard::KittiLike,
            "paper-urban",
            [
                ("E2-BKI", [63.9, 88.8, 4.6, 3.8]),
                ("E2-BKI, paper's settings", [59.6, 86.5, 6.9, 3.9]),
                ("S-BKI", [55.2, 80.2, 13.6, 10.9]),
            ],
        );
    }
}
