//! Scans that have their poses, and pictures where a network is to look at them, go into the map.

use std::sync::{Arc, MutexGuard};
use std::time::Instant;

use e2bki::Pose;
use e2bki_bag::compose;
use e2bki_bag::messages::TransformMessage;
use e2bki_bag::wire::Wire;
use e2bki_data::camera::Camera;
use e2bki_data::parse::Cells;
use e2bki_data::{ImageLook, picture_in};

use super::ahead::{Ahead, Placed, Ready};
use super::{At, CameraOptions, Node};
use crate::account::Left;
use crate::images::{Images, SAME_VIEW_NS};
use crate::map::LiveMap;
use crate::outlet::Output;
use crate::picture::Picture;
use crate::scan::{Points, Scan};

/// Farther than this from the origin single precision is too coarse, metres: the map gets a frame of its own.
const FAR_M: f64 = 10_000.0;

impl Node<'_> {
    /// Adds a scan if one has its pose, or cannot be waited for. The next one, if it is there, is made ready meanwhile.
    pub(super) fn scan(&mut self, map: &mut dyn LiveMap, ending: bool) -> bool {
        let ahead = self.ahead.as_mut().and_then(Ahead::take);
        let ready = match ahead {
            Some(ready) => ready,
            None => match self.next(map, ending) {
                None => return false,
                Some(Err((why, reason))) => {
                    self.account.leave(why, reason);
                    return true;
                }
                Some(Ok(placed)) => {
                    let (preparer, number) = (map.preparer(), map.mapper().frames());
                    placed.ready(preparer.as_ref().map(|preparer| (preparer, number)))
                }
            },
        };
        self.look_ahead(map, ending);
        if let Err((why, reason)) = self.insert(map, ready) {
            self.account.leave(why, reason);
        }
        true
    }

    /// Gives the next scan to the other thread, if there is one and the map can be prepared for.
    fn look_ahead(&mut self, map: &mut dyn LiveMap, ending: bool) {
        let Some(preparer) = map.preparer() else { return };
        if self.ahead.is_none() {
            self.ahead = Ahead::start();
        }
        if self.ahead.as_ref().is_none_or(Ahead::is_busy) {
            return;
        }
        // The one before it is not in the map yet.
        let number = map.mapper().frames().saturating_add(1);
        match self.next(map, ending) {
            Some(Ok(placed)) => {
                let back = self.ahead.as_mut().and_then(|ahead| ahead.begin(placed, preparer, number));
                if back.is_some() {
                    self.account.leave(Left::Refused, "the thread that makes scans ready has ended".into());
                }
            }
            Some(Err((why, reason))) => self.account.leave(why, reason),
            None => {}
        }
    }

    /// What was begun ahead goes into the map.
    pub(super) fn catch_up(&mut self, map: &mut dyn LiveMap) {
        if let Some(Err((why, reason))) = self.ahead.as_mut().and_then(Ahead::take).map(|ready| self.insert(map, ready))
        {
            self.account.leave(why, reason);
        }
    }

    /// The next scan with its place, if it is there and settled; or why it cannot be used.
    fn next(&mut self, map: &dyn LiveMap, ending: bool) -> Option<Result<Placed, (Left, String)>> {
        let (now, wait) = (self.inputs.clock.ticks(), (self.values().wait * 1e9) as u64);
        let taken = self.inputs.scans.take_if(|scan| {
            // A clock that jumped back does not make a scan wait for ever.
            ending || now.abs_diff(scan.arrived) >= wait || self.settled(scan)
        });
        (self.account.received, self.account.dropped) = self.inputs.scans.counts();
        Some(self.place(map, taken?))
    }

    /// Whether what is still to come makes no difference to a scan.
    fn settled(&self, scan: &Scan) -> bool {
        let seen = |images: MutexGuard<'_, Images>| images.settled(scan.stamp);
        self.inputs.poses().settled(scan) && self.inputs.images().is_none_or(seen)
    }

    /// Where a scan was taken, and what its points are.
    fn place(&mut self, map: &dyn LiveMap, scan: Scan) -> Result<Placed, (Left, String)> {
        let (stamp, arrived) = (scan.stamp, scan.arrived);
        if !scan.is_labelled() && self.options.camera.is_none() {
            let why =
                "the clouds have no field `label`, `class` or `semantic`, and there is no network (--semantics)".into();
            return Err((Left::NoLabels, why));
        }
        let (pose, motion, world) = {
            let poses = self.inputs.poses();
            self.account.late += u64::from(!poses.settled(&scan));
            let pose = poses.at(&scan.frame, stamp).map_err(|unknown| (Left::NoPose, unknown.to_string()))?;
            let undo = self.options.deskew && poses.moves(&scan.frame);
            let motion = if undo { scan.motion(&pose, |time| poses.at(&scan.frame, time).ok()) } else { None };
            (pose, motion, poses.world().to_string())
        };
        let points: Box<dyn FnOnce() -> Points + Send> = match self.options.camera.clone() {
            None => {
                let remap = self.options.remap.clone();
                Box::new(move || scan.points(pose, motion.as_ref(), &remap))
            }
            Some(camera) => {
                let classes = map.mapper().classes().len();
                let (eye, values) = self.look(&camera, &scan, classes).map_err(|why| (Left::NoImage, why))?;
                Box::new(move || scan.seen(pose, motion.as_ref(), &look_of(&camera, &eye, classes), values.as_ref()))
            }
        };
        Ok(Placed { stamp, arrived, pose, world, points })
    }

    fn insert(&mut self, map: &mut dyn LiveMap, ready: Ready) -> Result<(), (Left, String)> {
        let begun = Instant::now();
        let Ready { stamp, arrived, pose, world, points, prepared, took } = ready;
        map.name_next_frame(stamp as f64 * 1e-9);
        let frame = points.frame();
        let refused = |error: &dyn std::fmt::Display| (Left::Refused, error.to_string());
        let report = match prepared {
            None => map.insert(&frame),
            Some(prepared) => map.insert_prepared(prepared.map_err(|error| refused(&error))?, &frame),
        };
        let report = report.map_err(|error| refused(&error))?;
        self.account.mapped += 1;
        self.account.points[0] += report.kept as u64;
        self.account.points[1] += (report.dropped.total() + points.counts.dropped()) as u64;
        self.account.mapping.add(took + begun.elapsed());
        self.unsaved = true;
        self.untold.push(arrived);
        self.moved(stamp, &pose, world, map);
        Ok(())
    }

    /// The sensor is at another place; at the first one the frame of the map is chosen.
    pub(super) fn moved(&mut self, stamp: u64, pose: &Pose, world: String, map: &dyn LiveMap) {
        let place = pose.translation();
        if let Some(at) = &mut self.at {
            (at.stamp, at.place) = (stamp, place);
            return;
        }
        let (mut frame, mut origin) = (world.clone(), [0.0; 3]);
        if place.iter().any(|v| v.abs() > FAR_M) {
            origin = place.map(f64::round);
            frame = format!("{world}_local");
            if let Ok(pose) = Pose::from_translation(origin) {
                let near = TransformMessage { stamp, parent: world, child: frame.clone(), pose };
                self.outlet.send(Output::FixedTransforms, compose::transforms(&[near]));
            }
        }
        let names = map.mapper().classes().names().iter().map(String::as_str);
        self.outlet.send(Output::LabelInfo, compose::label_info(stamp, &frame, names));
        self.picture = Picture::new(origin, self.values().tolerance);
        self.at = Some(At { stamp, place, frame, origin });
    }

    /// What the network says of the picture of a scan's time, and the camera that took it; or why there is nothing.
    fn look(
        &mut self,
        options: &CameraOptions,
        scan: &Scan,
        classes: usize,
    ) -> Result<(Camera, Arc<dyn Cells>), String> {
        let topic = &options.topic;
        let (info, picture) = {
            let Some(mut images) = self.inputs.images() else { return Err("no pictures are kept".into()) };
            let info = images.info().cloned().ok_or_else(|| format!("no CameraInfo of {topic} has come"))?;
            let none = || format!("no picture of {topic} within {} ms", SAME_VIEW_NS / 1_000_000);
            let picture = images.nearest(scan.stamp).cloned();
            images.pass(scan.stamp);
            (info, picture.ok_or_else(none)?)
        };
        // The pictures' own frame is the camera's, where the calibration names none.
        let frame = if info.frame.is_empty() { &picture.frame } else { &info.frame };
        let camera_from_sensor = (self.inputs.poses().between(frame, &scan.frame, scan.stamp))
            .map_err(|why| format!("where the camera of {topic} is on the robot is not known: {why}"))?;
        let camera = Camera::from_info(&info, topic, camera_from_sensor)?;
        if let Some((_, values)) = self.looked.as_ref().filter(|(stamp, _)| *stamp == picture.stamp) {
            return Ok((camera, values.clone()));
        }
        let begun = Instant::now();
        let colours = picture_in(Wire::Cdr, &picture.message, options.is_compressed()).map_err(|flaw| flaw.what)?;
        let values = look_of(options, &camera, classes).look(&colours)?;
        self.account.looking.add(begun.elapsed());
        self.looked = Some((picture.stamp, values.clone()));
        Ok((camera, values))
    }
}

fn look_of<'a>(options: &'a CameraOptions, camera: &'a Camera, classes: usize) -> ImageLook<'a> {
    let CameraOptions { network, remap, occlusion_window, .. } = options;
    ImageLook { network: network.as_ref(), remap, classes, camera, occlusion_window: *occlusion_window }
}
