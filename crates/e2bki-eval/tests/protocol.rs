//! The whole way: frames into a map, questions, a record.

#![allow(clippy::unwrap_used)] // a test may fail loudly

use e2bki::{ClassSet, Config, Mapper, Pose};
use e2bki_eval::{
    Asked, Confidence, Entrant, GroundTruth, LabelledFrame, Record, Said, View, assess, assess_network, run,
};

/// A floor of class 0 with a strip of class 1, seen from a sensor that moves along it; the network errs on the strip's edge.
fn frame(index: usize) -> LabelledFrame {
    let mut points = Vec::new();
    let (mut evidence, mut truth) = (Vec::new(), Vec::new());
    for i in 0..40 {
        for j in 0..40 {
            let (x, y) = (1.0 + 0.05 * i as f32, -1.0 + 0.05 * j as f32);
            points.push([x, y, -1.0]);
            let class = u32::from((0.0..0.5).contains(&y));
            truth.push(class);
            let said = u32::from((0.0..0.4).contains(&y));
            evidence.extend([if said == 0 { 8.0 } else { 0.2 }, if said == 1 { 8.0 } else { 0.2 }, 0.1]);
        }
    }
    let world_from_sensor = Pose::from_translation([0.6 * index as f64, 0.0, 1.0]).unwrap();
    LabelledFrame { points, said: Said::Evidence(evidence), truth, world_from_sensor }
}

fn entrant(every: usize) -> Entrant {
    let classes = ClassSet::from_names(["floor", "strip", "never"]).unwrap();
    let map = Mapper::new(classes, Config::default()).unwrap();
    Entrant::new("E2-BKI", Box::new(map), every, Confidence::Decomposed)
}

const VIEWS: [View; 4] = [View::Voxel, View::Continuous, View::Bev, View::BevContinuous];

#[test]
fn every_view_of_a_map_is_scored_and_repeats_itself() {
    let records = |every: usize| -> Vec<Record> {
        let mut entrants = [entrant(every), entrant(1)];
        let mut truth = GroundTruth::new(3, Asked::Cells, 50.0, &VIEWS);
        let mut seen = 0;
        let frames = (0..6).map(|i| Ok(frame(i)));
        assert_eq!(run(frames, &mut entrants, &mut truth, |_| true, |n| seen = n).unwrap(), 6);
        assert_eq!((seen, entrants[0].mapped, entrants[1].mapped), (6, 6_usize.div_ceil(every), 6));
        let questions = truth.into_questions();
        VIEWS.iter().map(|view| assess("floor", &entrants[0], *view, &questions).unwrap().0).collect()
    };
    let dense = records(1);
    for record in &dense {
        assert!(record.acc.unwrap() > 85.0, "{record:?}");
        assert_eq!(record.iou["never"], None);
        assert!(record.iou["strip"].unwrap() < record.iou["floor"].unwrap());
        assert_eq!(record.volume_m3.is_some(), !record.view.is_planar());
        assert!(record.hz.unwrap() > 0.0 && record.bytes.unwrap() > 0 && record.calibration.len() == 3);
        let json = serde_json::to_string(record).unwrap();
        assert!(!json.contains("NaN") && json.contains("\"never\":null"));
        let read: Record = serde_json::from_str(&json).unwrap();
        assert_eq!((read.miou, read.view), (record.miou, record.view));
    }
    // Nothing of the beams above the floor is claimed.
    assert_eq!(dense[0].empty_claimed, Some(0.0));
    let sparse = records(5);
    assert!(sparse[0].queries == dense[0].queries && sparse[0].occupied < dense[0].occupied);
    assert_eq!((records(5)[0].miou, records(5)[0].bs), (sparse[0].miou, sparse[0].bs));
}

#[test]
fn no_truth_and_an_empty_map_give_dashes_and_not_zeros() {
    let mut entrants = [entrant(1)];
    let mut truth = GroundTruth::new(3, Asked::Cells, 50.0, &VIEWS);
    let unlabelled = LabelledFrame { truth: vec![9; 1600], ..frame(0) };
    run(std::iter::once(Ok(unlabelled)), &mut entrants, &mut truth, |_| true, |_| {}).unwrap();
    let questions = truth.into_questions();
    assert_eq!((questions.labelled, questions.frames, questions.labelled_frames), (0, 1, 0));
    for view in VIEWS {
        let (record, _) = assess("floor", &entrants[0], view, &questions).unwrap();
        let metrics = [record.miou, record.miou_strict, record.acc, record.bs, record.ece, record.occupied_share()];
        assert_eq!(metrics, [None; 6], "{view:?}");
    }
    // A map of nothing, asked about something.
    let mut truth = GroundTruth::new(3, Asked::Cells, 50.0, &VIEWS);
    truth.add(&frame(0));
    let questions = truth.into_questions();
    let (record, _) = assess("floor", &entrant(1), View::Voxel, &questions).unwrap();
    assert_eq!((record.miou, record.bs, record.acc, record.hz), (None, None, Some(0.0), None));
    assert_eq!(record.volume_m3, Some(0.0));
}

#[test]
fn held_out_points_are_asked_one_by_one_and_the_network_by_itself() {
    let mut entrants = [entrant(2)];
    let mut truth = GroundTruth::new(3, Asked::Points, 50.0, &[View::Voxel]);
    run((0..4).map(|i| Ok(frame(i))), &mut entrants, &mut truth, |i| i % 2 == 1, |_| {}).unwrap();
    truth.add(&LabelledFrame { truth: vec![9; 1600], ..frame(0) });
    let questions = truth.into_questions();
    assert_eq!(questions.volume.len(), 2 * 1600);
    assert_eq!((questions.frames, questions.labelled_frames), (3, 2));
    let network = assess_network("floor", entrants[0].map.classes(), View::Voxel, &questions);
    // Two rows of ten are wrong on the strip: 38 of 40 rows are right.
    assert!((network.acc.unwrap() - 95.0).abs() < 2.6, "{:?}", network.acc);
    assert_eq!((network.asked_frames, network.labelled_frames), (Some(3), Some(2)));
    assert!(network.hz.is_none() && network.bytes.is_none() && network.volume_m3.is_none());
}

#[test]
fn a_frame_that_cannot_be_had_names_its_number() {
    let broken = vec![Ok(frame(0)), Ok(LabelledFrame { said: Said::Evidence(vec![1.0]), ..frame(1) })];
    let mut truth = GroundTruth::new(3, Asked::Cells, 50.0, &VIEWS);
    let error = run(broken.into_iter(), &mut [entrant(1)], &mut truth, |_| true, |_| {}).unwrap_err().to_string();
    assert!(error.contains("frame 1") && error.contains("E2-BKI"), "{error}");
}
