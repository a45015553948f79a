//! The drive itself: asks world, trajectory and sensors for one frame or image at a time.
//! Frames share only the tile cache, so they may be made in any order and from any thread.

use std::sync::OnceLock;

use super::drift::Odometry;
use super::standard::{Split, Standard};
use super::{DriveOptions, Rig, SimFrame, Trajectory};
use crate::Error;
use crate::classes::{ClassInfo, class_of, classes};
use crate::maths::{Rigid, Vec3, hash2, vec3};
use crate::scene::{Material, View};
use crate::sensor::{Lidar, Light, Scene, SimImage, render, scan};
use crate::world::{Ego, World, WorldKind};

/// Time of a turn of the LiDAR and, unless a drive says otherwise, between frames, seconds.
pub const FRAME_S: f64 = 0.1;
/// When every drive begins, nanoseconds since 1970.
pub const START_NS: u64 = 1_600_000_000_000_000_000;
/// How far the camera needs the world, metres.
const CAMERA_REACH_M: f64 = 126.0;

/// A simulated drive. Frames are independent of each other and may be asked for in any order, from any thread.
pub struct Drive {
    options: DriveOptions,
    world: World,
    trajectory: Trajectory,
    odometry: Odometry,
    lidar: Lidar,
    rig: Rig,
    directions: OnceLock<Vec<[f32; 3]>>,
}

impl Drive {
    /// A drive from its options.
    pub fn new(options: DriveOptions) -> Result<Drive, Error> {
        options.check()?;
        let world = World::new(options.seed, &options.world, options.season, options.cruise_mps);
        let trajectory = Trajectory::new(&world, &options);
        let odometry = Odometry::new(options.drift, options.seed);
        let lidar = Lidar::new(options.sensor).with_returns(options.returns);
        let lidar = match options.columns {
            Some(columns) => lidar.with_columns(columns),
            None => lidar,
        };
        let rig = Rig::new(options.camera, options.image_width, options.calibration_error, options.seed);
        Ok(Drive { options, world, trajectory, odometry, lidar, rig, directions: OnceLock::new() })
    }

    /// The first drive of a standard set.
    pub fn standard(standard: Standard, split: Split) -> Result<Drive, Error> {
        Drive::new(standard.drives(split)[0].options)
    }

    /// The options the drive was made from.
    pub fn options(&self) -> &DriveOptions {
        &self.options
    }

    /// Kind of world.
    pub fn kind(&self) -> WorldKind {
        self.options.world.kind()
    }

    /// The classes labels refer to, in label order.
    pub fn classes(&self) -> &'static [ClassInfo] {
        classes(self.kind())
    }

    /// Label of a material in this drive.
    pub fn class_of(&self, material: Material) -> u8 {
        class_of(material, self.kind())
    }

    /// The LiDAR.
    pub fn lidar(&self) -> &Lidar {
        &self.lidar
    }

    /// Sensor mounting and calibration.
    pub fn rig(&self) -> &Rig {
        &self.rig
    }

    /// The world driven through.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Time of a frame, seconds from the start.
    pub fn time_of(&self, index: usize) -> f64 {
        index as f64 * self.options.frame_s
    }

    /// Time of a frame on the clock of every file that is written, nanoseconds since 1970.
    pub fn stamp_ns(&self, index: usize) -> u64 {
        START_NS + (self.time_of(index) * 1e9).round() as u64
    }

    fn true_world_from_sensor(&self, time: f64) -> Rigid {
        self.trajectory.world_from_vehicle(&self.world, time) * self.rig.vehicle_from_sensor
    }

    /// The reported pose of a frame, without simulating its sensors.
    pub fn world_from_sensor(&self, index: usize) -> Rigid {
        let time = self.time_of(index);
        let place = |frame: usize| self.trajectory.place(&self.world, self.time_of(frame));
        let noise = self.trajectory.pose_error(self.options.pose_noise, index, time);
        let reported = self.true_world_from_sensor(time) * noise;
        if self.options.drift.is_none() {
            return reported;
        }
        self.odometry.reported_from_true(index, place) * reported
    }

    /// The pose from which a frame is made, without simulating its sensors.
    pub fn true_pose(&self, index: usize) -> Rigid {
        self.true_world_from_sensor(self.time_of(index))
    }

    /// Whether reported poses differ from the true ones.
    pub fn poses_err(&self) -> bool {
        !self.options.drift.is_none() || self.options.pose_noise != super::Noise::default()
    }

    fn view(&self, time: f64, reach: f64) -> View {
        let place = self.trajectory.place(&self.world, time);
        let ego = Ego { driven_m: place.along, direction: place.direction, side: place.side };
        self.world.view(vec3(place.x, place.y, 0.0), reach, time, ego)
    }

    /// Sensor poses over the turn of a frame, by the share of a full turn from straight ahead.
    fn poses_over_turn(&self, time: f64) -> impl Fn(f64) -> Rigid {
        let middle = self.true_world_from_sensor(time);
        let ends = self.options.skew.then(|| {
            let half = 0.5 * FRAME_S;
            (self.true_world_from_sensor(time - half), self.true_world_from_sensor(time + half))
        });
        // Positive azimuths are seen first, as the KITTI-360 tools assume.
        move |turn| ends.as_ref().map_or(middle, |(early, late)| between(early, late, 0.5 - turn))
    }

    /// The returns of a frame in world coordinates, by the reported pose, with the motion during the turn undone.
    pub fn world_points(&self, frame: &SimFrame) -> Vec<[f64; 3]> {
        if !self.options.skew {
            return (0..frame.points.len()).map(|k| frame.world_point(k)).collect();
        }
        let pose = self.poses_over_turn(frame.time_s);
        let error = self.world_from_sensor(frame.index) * self.true_world_from_sensor(frame.time_s).inverse();
        let turn = |p: [f32; 3]| f64::from(p[1]).atan2(f64::from(p[0])) / std::f64::consts::TAU;
        let place = |p: &[f32; 3]| error.apply(pose(turn(*p)).apply(Vec3::from(p.map(f64::from)))).to_array();
        frame.points.iter().map(place).collect()
    }

    /// LiDAR frame `index`. The camera is not touched.
    pub fn frame(&self, index: usize) -> SimFrame {
        let time = self.time_of(index);
        let view = self.view(time, self.lidar.max_range_m);
        let middle = self.true_world_from_sensor(time);
        let seed = hash2(self.options.seed ^ 0xf4a3e, index as i64, 0);
        let scan = scan(&self.lidar, &view, self.poses_over_turn(time), seed);
        SimFrame {
            index,
            time_s: time,
            labels: scan.materials.iter().map(|m| self.class_of(*m)).collect(),
            points: scan.points,
            intensity: scan.intensity,
            materials: scan.materials,
            objects: scan.objects,
            moving: scan.moving,
            slots: scan.slots,
            slot_count: self.lidar.slots(),
            world_from_sensor: self.world_from_sensor(index).to_matrix(),
            true_world_from_sensor: middle.to_matrix(),
        }
    }

    /// Camera image `index`, taken at the same time as frame `index`.
    pub fn image(&self, index: usize) -> SimImage {
        let time = self.time_of(index);
        let view = self.view(time, CAMERA_REACH_M);
        let camera = &self.rig.camera;
        let directions = self.directions.get_or_init(|| {
            (0..camera.width * camera.height)
                .map(|k| camera.direction(k % camera.width, k / camera.width).to_f32())
                .collect()
        });
        let scene = Scene {
            camera,
            view: &view,
            world_from_camera: self.true_world_from_sensor(time) * self.rig.sensor_from_camera,
            light: Light::at(self.options.lighting, self.options.season, self.options.seed, time),
            season: self.options.season,
            kind: self.kind(),
            seed: hash2(self.options.seed ^ 0x1437e, index as i64, 0),
        };
        render(&scene, directions)
    }

    /// Pixel `[column, row]` in which a LiDAR point appears, by the reported calibration.
    pub fn pixel_of(&self, point: [f32; 3]) -> Option<[usize; 2]> {
        let camera_from_sensor = self.rig.reported_sensor_from_camera.inverse();
        let p = camera_from_sensor.apply(Vec3::from(point.map(f64::from)));
        self.rig.camera.project(p).and_then(|uv| self.rig.camera.pixel(uv))
    }
}

/// Pose a share `f` of the way from `a` to `b`; they are a fraction of a second apart.
fn between(a: &Rigid, b: &Rigid, f: f64) -> Rigid {
    let (qa, mut qb) = (a.quaternion(), b.quaternion());
    let dot: f64 = qa.iter().zip(&qb).map(|(x, y)| x * y).sum();
    if dot < 0.0 {
        qb = qb.map(|v| -v);
    }
    let q = std::array::from_fn(|k| qa[k] + (qb[k] - qa[k]) * f);
    Rigid::from_quaternion(q, a.translation + (b.translation - a.translation) * f)
}
