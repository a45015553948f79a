//! The node: scans that have their poses go into the map, what changed goes out.

mod ahead;
mod grid;
mod scans;
mod tell;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use e2bki_bag::compose;
use e2bki_data::parse::Cells;
use e2bki_data::{ImageSemantics, Remap};

use crate::account::Account;
use crate::inputs::Inputs;
use crate::map::LiveMap;
use crate::outlet::{Outlet, Output};
use crate::parameters::Values;
use crate::picture::{MOST_PIECES, Picture};
use crate::planning::Planning;
use crate::share::Sharing;

/// Updates come earlier or later by this share of the time between two, so that they follow on a scan.
const SLACK: f64 = 0.1;

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
    /// What says the classes of points by a camera's pictures; the clouds' labels are taken where there is none.
    pub camera: Option<CameraOptions>,
}

/// A network that looks at the pictures of a camera.
#[derive(Debug, Clone)]
pub struct CameraOptions {
    /// The network.
    pub network: Arc<dyn ImageSemantics>,
    /// What its channels mean.
    pub remap: Remap,
    /// Topic of the pictures: its name says whether they are compressed or rectified.
    pub topic: String,
    /// Points that nearer ones hide within so many pixels are left out.
    pub occlusion_window: Option<usize>,
}

impl CameraOptions {
    /// Whether the pictures are compressed, by the name of their topic.
    pub fn is_compressed(&self) -> bool {
        self.topic.ends_with("compressed")
    }
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
    whole_told: Option<Instant>,
    whole_pending: bool,
    grid_told: Option<(Instant, Duration)>,
    saved: Instant,
    unsaved: bool,
    begun: Instant,
    sharing: Option<Sharing>,
    planning: Option<Planning>,
    /// What the network said of the last picture, by its time.
    looked: Option<(u64, Arc<dyn Cells>)>,
    /// Makes the next scan ready meanwhile.
    ahead: Option<ahead::Ahead>,
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
            whole_told: None,
            whole_pending: false,
            grid_told: None,
            saved: now,
            unsaved: false,
            begun: now,
            sharing: None,
            planning: None,
            looked: None,
            ahead: None,
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

    /// Tells layers for planners too.
    pub fn plan(&mut self, planning: Planning) {
        self.planning = Some(planning);
    }

    /// The layers for planners, if they are told.
    pub fn planning(&self) -> Option<&Planning> {
        self.planning.as_ref()
    }

    /// What the node is told while it runs.
    fn values(&self) -> Values {
        self.inputs.parameters.values()
    }

    /// One round: a scan if one is ready, then what is due. Returns whether there was a scan.
    pub fn step(&mut self, map: &mut dyn LiveMap, requests: &Receiver<Request>) -> bool {
        let ran = self.scan(map, false);
        // Best just after a scan, which would wait for the next one otherwise: a little early, or a little late for it.
        let (every, slack) = (1.0 / self.values().rate, if ran { -SLACK } else { SLACK });
        if self.told.elapsed().as_secs_f64() >= every * (1.0 + slack) {
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
        self.tell_layers(map, true);
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
            Command::Reset => {
                // What came before is emptied with the rest.
                self.catch_up(map);
                map.reset().and_then(|()| {
                    self.forget(map);
                    match &mut self.sharing {
                        None => Ok("the map is empty".to_string()),
                        Some(sharing) => sharing.emptied(map).map(|()| "only what others share is left".to_string()),
                    }
                })
            }
        };
        match done {
            Ok(words) => (true, words),
            Err(error) => (false, error.to_string()),
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
        if let Some(planning) = &mut self.planning {
            planning.pending = true;
        }
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
        status.values.extend(self.planning.iter().flat_map(|planning| planning.values(&self.account)));
        status.values.extend(self.inputs.images().iter().flat_map(|images| images.values()));
        self.outlet.send(Output::Diagnostics, compose::diagnostics(self.inputs.clock.now(), &[status]));
    }
}
