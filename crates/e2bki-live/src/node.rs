//! The node: scans that have their poses go into the map, what changed goes out.

use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use e2bki::{Changes, Pose};
use e2bki_bag::compose::{self, Plane};
use e2bki_bag::messages::TransformMessage;
use e2bki_data::Remap;

use crate::account::{Account, Left};
use crate::inputs::Inputs;
use crate::map::LiveMap;
use crate::outlet::{Outlet, Output};
use crate::parameters::Values;
use crate::picture::{MOST_PIECES, Picture, messages};
use crate::question::Question;
use crate::scan::Scan;
use crate::share::Sharing;

/// Farther than this from the origin single precision is too coarse, metres: the map gets a frame of its own.
const FAR_M: f64 = 10_000.0;

/// How far kernels of the map's primitives reach at most, metres: what is looked at around the grid from above.
const REACH_M: i32 = 4;

/// Cells of a grid from above: its message is to stay below a megabyte.
const MOST_CELLS: usize = 990_000;

/// Messages that may wait for the network before an update is put off.
const BUSY: usize = 8;

/// Grids, which take more time the more there is, may take this share of it.
const SHARE: f64 = 0.1;

/// What a node is told.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// Its name, as diagnostics have it.
    pub name: String,
    /// Whether the motion during a scan is undone.
    pub deskew: bool,
    /// What the ids of labels mean.
    pub remap: Remap,
    /// Cost of every class in grids, 0 to 100.
    pub costs: Vec<u8>,
    /// Time from one save to the next; none where the map is saved at the end only.
    pub save_every: Option<Duration>,
}

/// What others may ask a node for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Save the map.
    Save,
    /// Begin anew with an empty map.
    Reset,
}

/// A command, and where its answer goes: whether it was done, and what is to be said of it.
#[derive(Debug)]
pub struct Request {
    /// What is asked for.
    pub command: Command,
    /// Where the answer goes.
    pub answer: SyncSender<(bool, String)>,
}

/// The node.
pub struct Node<'a> {
    inputs: &'a Inputs,
    outlet: &'a dyn Outlet,
    options: NodeOptions,
    /// How it is doing.
    pub account: Account,
    picture: Picture,
    /// Place of the sensor at the last scan, its time, and frame and origin of the map's messages.
    at: Option<At>,
    /// When scans came that no update has told of yet.
    untold: Vec<u64>,
    told: Instant,
    whole_told: Instant,
    whole_pending: bool,
    grid_told: Option<(Instant, Duration)>,
    saved: Instant,
    unsaved: bool,
    begun: Instant,
    sharing: Option<Sharing>,
}

#[derive(Debug, Clone)]
struct At {
    stamp: u64,
    place: [f64; 3],
    frame: String,
    origin: [f64; 3],
}

impl<'a> Node<'a> {
    /// A node that has seen nothing yet.
    pub fn new(inputs: &'a Inputs, outlet: &'a dyn Outlet, options: NodeOptions) -> Self {
        let now = Instant::now();
        Self {
            inputs,
            outlet,
            account: Account::default(),
            picture: Picture::new([0.0; 3], inputs.parameters.values().tolerance),
            options,
            at: None,
            untold: Vec::new(),
            told: now,
            whole_told: now,
            whole_pending: false,
            grid_told: None,
            saved: now,
            unsaved: false,
            begun: now,
            sharing: None,
        }
    }

    /// Shares the map with other robots.
    pub fn share(&mut self, sharing: Sharing) {
        self.sharing = Some(sharing);
    }

    /// The sharing, if the map is shared.
    pub fn sharing(&mut self) -> Option<&mut Sharing> {
        self.sharing.as_mut()
    }

    /// What the node is told while it runs.
    fn values(&self) -> Values {
        self.inputs.parameters.values()
    }

    /// One round: a scan if one is ready, then what is due. Returns whether there was a scan.
    pub fn step(&mut self, map: &mut dyn LiveMap, requests: &Receiver<Request>) -> bool {
        let ran = self.scan(map, false);
        if self.told.elapsed().as_secs_f64() >= 1.0 / self.values().rate {
            self.told = Instant::now();
            self.update(map);
        }
        if self.options.save_every.is_some_and(|every| self.saved.elapsed() >= every) {
            self.saved = Instant::now();
            if self.unsaved {
                self.unsaved = map.save().is_err();
                self.account.failed_saves += u64::from(self.unsaved);
            }
        }
        while let Some(question) = self.inputs.questions.take_if(|_| true) {
            self.answer(map, &question);
        }
        while let Ok(request) = requests.try_recv() {
            let answer = self.obey(map, request.command);
            // Who asked may have gone away.
            request.answer.try_send(answer).ok();
        }
        ran
    }

    /// The end: scans that wait go into the map with the poses that are known, and all is told once more.
    pub fn finish(&mut self, map: &mut dyn LiveMap) {
        while self.scan(map, true) {}
        self.update(map);
        self.tell_whole();
    }

    /// The end of sharing: tells what is left. Returns whether everybody has it.
    pub fn part(&mut self, map: &mut dyn LiveMap) -> bool {
        if let Some(sharing) = &mut self.sharing {
            sharing.hurry();
        }
        self.exchange(map);
        self.sharing.as_ref().is_none_or(Sharing::told_all)
    }

    fn obey(&mut self, map: &mut dyn LiveMap, command: Command) -> (bool, String) {
        let done = match command {
            Command::Save => map.save().inspect(|_| {
                self.saved = Instant::now();
                self.unsaved = false;
            }),
            Command::Reset => map.reset().and_then(|()| {
                self.forget(map);
                match &mut self.sharing {
                    None => Ok("the map is empty".to_string()),
                    Some(sharing) => sharing.emptied(map).map(|()| "only what others share is left".to_string()),
                }
            }),
        };
        match done {
            Ok(words) => (true, words),
            Err(error) => (false, error.to_string()),
        }
    }

    /// Says what the map says of points.
    fn answer(&mut self, map: &dyn LiveMap, question: &Question) {
        let world_from_frame = {
            let poses = self.inputs.poses();
            if question.frame == poses.world() { Ok(Pose::IDENTITY) } else { poses.at(&question.frame, question.stamp) }
        };
        match world_from_frame {
            Ok(pose) => self.outlet.send(Output::Answers, question.answer(map.mapper(), &pose)),
            Err(_) => self.account.unanswered += 1,
        }
    }

    /// What was told is not so any more: late joiners get nothing of it.
    fn forget(&mut self, map: &mut dyn LiveMap) {
        map.changes();
        self.picture = Picture::new(self.at.as_ref().map_or([0.0; 3], |at| at.origin), self.values().tolerance);
        if let Some(at) = &self.at {
            for _ in 0..MOST_PIECES {
                self.outlet.send(Output::Voxels, compose::map_points(at.stamp, &at.frame, &[]));
            }
        }
    }

    /// Takes a scan if its pose is settled, or cannot be waited for.
    fn scan(&mut self, map: &mut dyn LiveMap, ending: bool) -> bool {
        let (now, wait) = (self.inputs.clock.ticks(), (self.values().wait * 1e9) as u64);
        let taken = self.inputs.scans.take_if(|scan| {
            // A clock that jumped back does not make a scan wait for ever.
            ending || now.abs_diff(scan.arrived) >= wait || self.inputs.poses().settled(scan)
        });
        (self.account.received, self.account.dropped) = self.inputs.scans.counts();
        let Some(scan) = taken else { return false };
        if let Err((why, reason)) = self.insert(map, scan) {
            self.account.leave(why, reason);
        }
        true
    }

    fn insert(&mut self, map: &mut dyn LiveMap, scan: Scan) -> Result<(), (Left, String)> {
        let begun = Instant::now();
        let (stamp, arrived) = (scan.stamp, scan.arrived);
        if !scan.is_labelled() {
            let why = "the clouds have no field `label`, `class` or `semantic`".into();
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
        let points = scan.points(pose, motion.as_ref(), &self.options.remap);
        map.name_next_frame(stamp as f64 * 1e-9);
        let report = map.insert(&points.frame()).map_err(|error| (Left::Refused, error.to_string()))?;
        self.account.mapped += 1;
        self.account.points[0] += report.kept as u64;
        self.account.points[1] += (report.dropped.total() + points.counts.dropped()) as u64;
        self.account.mapping.add(begun.elapsed());
        self.unsaved = true;
        self.untold.push(arrived);
        self.moved(stamp, &pose, world, map);
        Ok(())
    }

    /// The sensor is at another place; at the first one the frame of the map is chosen.
    fn moved(&mut self, stamp: u64, pose: &Pose, world: String, map: &dyn LiveMap) {
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

    /// What changed, with what others share; what we added is told to them.
    fn exchange(&mut self, map: &mut dyn LiveMap) -> Changes {
        let mut changes = map.changes();
        let Some(sharing) = &mut self.sharing else { return changes };
        let now = self.begun.elapsed();
        sharing.changed(map.mapper(), &changes);
        while let Some(message) = self.inputs.shared.take_if(|_| true) {
            sharing.take(map, &message, now);
            self.unsaved = true;
        }
        map.name_runs(sharing.runs());
        let theirs = map.changes();
        (changes.number, changes.everything) = (theirs.number, changes.everything || theirs.everything);
        changes.blocks.extend(theirs.blocks);
        for message in sharing.messages(map.mapper(), now) {
            self.outlet.send(Output::Shared, compose::byte_array(&message));
        }
        // Who only listens has no place of its own: the map is looked at from where its first part is.
        if self.at.is_none() && !map.mapper().is_empty() {
            let first = map.mapper().primitives().next().map(|primitive| primitive.mean());
            if let Some(Ok(pose)) = first.map(Pose::from_translation) {
                let world = self.inputs.poses().world().to_string();
                self.moved(self.inputs.clock.now(), &pose, world, map);
            }
        }
        changes
    }

    /// Tells what changed.
    fn update(&mut self, map: &mut dyn LiveMap) {
        if self.outlet.waiting() > BUSY {
            self.account.postponed += 1;
            return;
        }
        let begun = Instant::now();
        let changes = self.exchange(map);
        let Some(at) = self.at.clone() else { return };
        if !changes.is_empty() {
            let mapper = map.mapper();
            let points = self.picture.update(&mapper.live_blocks(&changes), mapper.classes(), map.is_rolling());
            for message in messages(at.stamp, &at.frame, &points) {
                self.account.messages += 1;
                self.account.bytes += message.len() as u64;
                self.outlet.send(Output::Updates, message);
            }
            self.picture.set_tolerance(self.values().tolerance);
            self.picture.trim(16.0 * mapper.config().views.resolution, at.place);
            self.account.updates += 1;
            self.whole_pending = true;
            self.account.updating.add(begun.elapsed());
        }
        let now = self.inputs.clock.ticks();
        for arrived in self.untold.drain(..) {
            self.account.to_update.add(Duration::from_nanos(now.saturating_sub(arrived)));
        }
        if self.whole_pending && self.whole_told.elapsed().as_secs_f64() >= self.values().whole_every {
            self.tell_whole();
        }
        let affordable =
            self.grid_told.is_none_or(|(then, took)| took.as_secs_f64() <= SHARE * then.elapsed().as_secs_f64());
        if !changes.is_empty() && affordable {
            let begun = Instant::now();
            if let Some(grid) = self.grid(map, &at) {
                self.outlet.send(Output::Occupancy, grid);
            }
            self.grid_told = Some((begun, begun.elapsed()));
        }
    }

    /// All voxels that are kept, for those who join later.
    fn tell_whole(&mut self) {
        let Some(at) = &self.at else { return };
        for message in messages(at.stamp, &at.frame, &self.picture.all()) {
            self.outlet.send(Output::Voxels, message);
        }
        (self.whole_told, self.whole_pending) = (Instant::now(), false);
    }

    /// What is around the sensor, from above.
    fn grid(&self, map: &dyn LiveMap, at: &At) -> Option<Vec<u8>> {
        let mapper = map.mapper();
        let Values { window, region, .. } = self.values();
        let half = 0.5 * window;
        let [x, y, _] = at.place;
        let [left, bottom, right, top] = region.unwrap_or([x - half, y - half, x + half, y + half]);
        let metre = |v: f64| v.floor() as i32;
        let low = [left, bottom].map(|v| metre(v).saturating_sub(REACH_M));
        let high = [right, top].map(|v| metre(v).saturating_add(REACH_M));
        let seen = mapper.birds_eye_within(low, high).ok()?;
        let sides = [right - left, top - bottom];
        let mut resolution = mapper.config().views.resolution;
        while sides.iter().map(|side| side / resolution + 1.0).product::<f64>() > MOST_CELLS as f64 {
            resolution *= 2.0;
        }
        let cells = seen.cells(resolution).ok()?;
        // A window that moves with the robot by whole cells: always of the same size, so that planners need not adapt.
        let size = sides.map(|side| (side / resolution).round().max(1.0) as usize);
        let first = |v: f64| ((v / resolution).floor() + 0.5) * resolution;
        let plane = Plane { resolution, low: [first(left), first(bottom)], size };
        let mut taken = vec![-1_i8; plane.cells()];
        for (center, belief) in cells.centers.iter().zip(cells.beliefs.iter()) {
            if let (Some(label), Some(cell)) = (belief.label(), plane.cell(*center)) {
                taken[cell] = self.options.costs.get(label).map_or(-1, |cost| *cost as i8);
            }
        }
        let corner = plane.corner();
        let corner = [corner[0] - at.origin[0], corner[1] - at.origin[1], 0.0];
        Some(compose::occupancy_grid(at.stamp, &at.frame, resolution, corner, plane.size, &taken))
    }

    /// Tells how it is doing.
    pub fn tell_status(&mut self, map: &dyn LiveMap) {
        self.account.broken = self.inputs.broken().values().map(|(count, _)| count).sum();
        {
            let poses = self.inputs.poses();
            self.account.broken += poses.not_rigid;
            self.account.jumps = poses.jumps;
        }
        (self.account.received, self.account.dropped) = self.inputs.scans.counts();
        let (waiting, voxels) = (self.inputs.scans.len(), self.picture.len());
        let mut status = self.account.status(&self.options.name, waiting, map.mapper().len(), voxels);
        status.values.extend(self.sharing.iter().flat_map(Sharing::values));
        self.outlet.send(Output::Diagnostics, compose::diagnostics(self.inputs.clock.now(), &[status]));
    }
}
