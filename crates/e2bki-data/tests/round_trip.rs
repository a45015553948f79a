//! Simulated drives, written in three layouts and read back: points, labels, poses, and labels through the camera.

#[cfg(test)]
mod common;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use e2bki_data::{Dataset, GroundTruth, LoadedFrame, OpenOptions, OwnedSemantics, SemanticsSource, Split, VOID};
    use e2bki_sim::{Drive, DriveOptions, Format, Sensor, SimFrame, SimulateOptions, WorldKind, simulate};

    /// Writes a small drive; returns it.
    fn write(world: WorldKind, sensor: Sensor, format: Format, out: &Path) -> Drive {
        let mut options = DriveOptions::new(world, 77, sensor);
        options.columns = Some(512);
        options.image_width = if format == Format::Rellis3d { 640 } else { 704 };
        let settings = SimulateOptions::drive(options, 4, format, out);
        simulate(&settings, |_, _| {}).unwrap();
        Drive::new(settings.sequences[0].drive).unwrap()
    }

    fn labels(frame: &LoadedFrame) -> &[u32] {
        match &frame.semantics {
            OwnedSemantics::Labels(labels) => labels,
            other => panic!("{other:?}"),
        }
    }

    fn truth(frame: &SimFrame) -> Vec<u32> {
        frame.labels.iter().map(|l| if *l == e2bki_sim::VOID { VOID } else { u32::from(*l) }).collect()
    }

    fn far(a: [f64; 3], b: [f64; 3]) -> f64 {
        (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    }

    /// Share of points whose class by the image is their own, among those where both are known.
    fn through_the_camera(frame: &LoadedFrame) -> (f64, usize) {
        let pairs = labels(frame).iter().zip(frame.ground_truth.as_ref().unwrap());
        let known: Vec<(&u32, &u32)> = pairs.filter(|(a, b)| **a != VOID && **b != VOID).collect();
        (known.iter().filter(|(a, b)| a == b).count() as f64 / known.len().max(1) as f64, known.len())
    }

    fn both() -> OpenOptions {
        OpenOptions {
            semantics: SemanticsSource::GroundTruthOf(GroundTruth::Points),
            ground_truth: GroundTruth::Pixels,
            only_in_image: true,
            occlusion_window: Some(5),
            ..OpenOptions::default()
        }
    }

    #[test]
    fn a_rellis_drive_comes_back() {
        let out = tempfile::tempdir().unwrap();
        let drive = write(WorldKind::Offroad, Sensor::Os1_64, Format::Rellis3d, out.path());
        let dataset = Dataset::open(out.path(), &OpenOptions::default()).unwrap();
        assert_eq!((dataset.len(), dataset.format()), (4, e2bki_data::Format::Rellis3d));
        for index in [0, 3] {
            let (frame, made) = (dataset.load(index).unwrap(), drive.frame(index));
            assert_eq!(frame.points.len(), made.points.len());
            let mut order: Vec<usize> = (0..made.slots.len()).collect();
            order.sort_by_key(|k| made.slots[*k]);
            let expected = truth(&made);
            for (k, own) in order.into_iter().enumerate() {
                assert_eq!((frame.points[k], frame.slots[k]), (made.points[own], made.slots[own]));
                assert_eq!(labels(&frame)[k], expected[own], "material {:?}", made.materials[own]);
                let world = frame.world_from_sensor.apply(frame.points[k].map(f64::from));
                assert!(far(world, made.world_point(own)) < 1e-6);
            }
        }
        let camera = Dataset::open(out.path(), &both()).unwrap();
        let frame = camera.load(1).unwrap();
        let (share, count) = through_the_camera(&frame);
        println!("RELLIS-3D: {:.1} % of {count} points in the image agree", 100.0 * share);
        assert!(count > 400 && share > 0.93, "{share} of {count}");
        for (split, frames) in [(Split::Train, 3), (Split::Validation, 1)] {
            let options = OpenOptions { split: Some(split), ..OpenOptions::default() };
            assert_eq!(Dataset::open(out.path(), &options).unwrap().len(), frames, "{split:?}");
        }
    }

    #[test]
    fn a_semantic_kitti_drive_comes_back() {
        let out = tempfile::tempdir().unwrap();
        let drive = write(WorldKind::Urban, Sensor::Hdl64e, Format::SemanticKitti, out.path());
        let options =
            OpenOptions { classes: Some(e2bki_data::ClassTable::open("urban11").unwrap()), ..OpenOptions::default() };
        let dataset = Dataset::open(out.path(), &options).unwrap();
        let origin = drive.frame(0);
        let first = e2bki::Pose::from_matrix(origin.world_from_sensor).unwrap();
        for index in [0, 3] {
            let (frame, made) = (dataset.load(index).unwrap(), drive.frame(index));
            assert_eq!(frame.points, made.points);
            assert_eq!(labels(&frame), truth(&made));
            for (k, world) in frame.world_points().enumerate().step_by(97) {
                assert!(far(first.apply(world), made.world_point(k)) < 1e-5);
            }
        }
        let camera = dataset.camera().unwrap();
        assert_eq!(camera.size[0], 704);
        // The reader's camera is the simulator's.
        for p in origin.points.iter().step_by(31) {
            let ours = camera.project(p.map(f64::from)).map(|place| place.pixel());
            assert_eq!(ours, drive.pixel_of(*p), "{p:?}");
        }
    }

    #[test]
    fn a_kitti360_drive_comes_back_with_the_turn_undone() {
        let out = tempfile::tempdir().unwrap();
        let drive = write(WorldKind::Urban, Sensor::Hdl64e, Format::Kitti360, out.path());
        let raw = OpenOptions { deskew: Some(false), ..OpenOptions::default() };
        let (dataset, skewed) =
            (Dataset::open(out.path(), &OpenOptions::default()).unwrap(), Dataset::open(out.path(), &raw).unwrap());
        assert!(dataset.deskews() && !skewed.deskews());
        let made = drive.frame(2);
        let middle = |dataset: &Dataset| {
            let options = OpenOptions { semantics: SemanticsSource::Nothing, ..OpenOptions::default() };
            let all = Dataset::open(out.path(), &OpenOptions { deskew: Some(dataset.deskews()), ..options }).unwrap();
            let frame = all.load(2).unwrap();
            assert_eq!(frame.points.len(), made.points.len());
            let world = drive.world_points(&made);
            let mut off: Vec<f64> = frame.world_points().zip(world).map(|(a, b)| far(a, b)).collect();
            off.sort_by(f64::total_cmp);
            off[off.len() / 2]
        };
        let (undone, left) = (middle(&dataset), middle(&skewed));
        println!("KITTI-360: half of the points within {:.1} mm, {:.1} mm as stored", 1e3 * undone, 1e3 * left);
        assert!(undone < 0.01 && left > 4.0 * undone, "{undone} {left}");

        // Labels of accumulated points against labels of pixels, and both against the simulator's own.
        let frame = Dataset::open(out.path(), &both()).unwrap().load(2).unwrap();
        let (share, count) = through_the_camera(&frame);
        println!("KITTI-360: {:.1} % of {count} points agree in 2-D and 3-D", 100.0 * share);
        assert!(count > 1000 && share > 0.93, "{share} of {count}");
        let expected = truth(&made);
        let own: Vec<u32> = frame.slots.iter().map(|slot| expected[*slot as usize]).collect();
        let same = super::common::agreement(labels(&frame), &own);
        assert!(same > 0.95, "{same}");
    }
}
