//! The stream of a running mapper. The mapper never waits: what is new goes into a bounded channel or stays marked for
//! later, and the time spent on it, here and on other threads, is held below a fixed share of the run's.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use e2bki::{Frame, Mapper};
use serde_json::{Value, json};

use crate::body::Body;
use crate::error::{Error, Result};
use crate::marks::Marks;
use crate::points::{OF_LIVE_FRAME, sample};
use crate::scene::{Snapshot, states_in};
use crate::show::Show;
use crate::tile::Tile;

/// Snapshots that may wait to be taken over.
const WAITING: usize = 64;
/// Share of the run's time that the mapper's thread may spend on showing it.
const SHARE: f64 = 0.01;
/// Share of the processors' time that may go into packing tiles for browsers, as the mapper uses all of them.
const PACKING: f64 = 0.01;
/// What the first tiles are thought to take to pack, and the time that is granted for them.
const GUESS: Duration = Duration::from_millis(5);
const GRANTED: Duration = Duration::from_secs(1);
/// Nothing is shown more often than this: eyes see no more, and a tile is sent whole.
const PAUSE: Duration = Duration::from_millis(250);

/// What became of the stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LiveCounts {
    /// Tiles sent.
    pub sent: u64,
    /// Tiles that found the channel full; they are sent later, as they are then.
    pub dropped: u64,
    /// Time that the mapper's thread spent on showing.
    pub spent: Duration,
    /// Time that went into packing tiles for browsers, on other threads.
    pub packing: Duration,
}

/// Somebody besides browsers who follows a growing map. Called on a thread of its own: the mapper does not wait, and what
/// comes too fast is overtaken by what is newer.
pub trait Follow: Send {
    /// The primitives of a tile, all of them, after so many frames.
    fn tile(&mut self, frames: u64, tile: Tile, bodies: &[Body]);

    /// Some points of a frame with their classes, in the world.
    fn points(&mut self, frames: u64, points: &[([f64; 3], u16)]);

    /// Where the sensor went so far, and whether the run is over.
    fn way(&mut self, frames: u64, places: &[[f64; 3]], done: bool);
}

enum Update {
    Tile(Snapshot),
    /// Places and labels of a frame's points.
    Points(Vec<([f64; 3], u16)>),
    News(Value),
}

/// The mapper's end of the stream.
pub struct Publisher {
    show: Arc<Show>,
    channel: Option<SyncSender<(u64, Update)>>,
    taker: Option<JoinHandle<()>>,
    /// Whether there is somebody besides browsers.
    followed: bool,
    /// Changed since they were last sent.
    marks: Marks,
    processors: f64,
    begun: Instant,
    last: Option<Instant>,
    frames: u64,
    counts: LiveCounts,
}

impl Publisher {
    /// A stream into a growing show.
    pub fn new(show: Arc<Show>) -> Result<Self> {
        Self::start(show, None)
    }

    /// The same, and to somebody else, whether browsers look on or not.
    pub fn followed(show: Arc<Show>, follower: Box<dyn Follow>) -> Result<Self> {
        Self::start(show, Some(follower))
    }

    fn start(show: Arc<Show>, follower: Option<Box<dyn Follow>>) -> Result<Self> {
        let (channel, updates) = sync_channel(WAITING);
        let followed = follower.is_some();
        let taker = std::thread::Builder::new().name("e2bki-live".into()).spawn({
            let show = show.clone();
            move || take(&show, follower, &updates)
        });
        let taker = Some(taker.map_err(|e| Error::Start(e.to_string()))?);
        Ok(Self {
            show,
            channel: Some(channel),
            taker,
            followed,
            marks: Marks::default(),
            processors: std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64),
            begun: Instant::now(),
            last: None,
            frames: 0,
            counts: LiveCounts::default(),
        })
    }

    /// A frame was inserted into the map.
    pub fn frame(&mut self, map: &Mapper, frame: &Frame<'_>) {
        let start = Instant::now();
        self.marks.add_frame(frame, self.frames, map.config().input.max_range);
        let place = frame.world_from_sensor.translation();
        self.frames += 1;
        let due = self.last.is_none_or(|last| last.elapsed() >= PAUSE);
        let affordable = self.affordable(Duration::ZERO);
        if let Some(scene) = self.show.scene(0) {
            scene.moved(place);
        }
        if due && affordable && (self.followed || self.show.watchers() > 0) {
            self.publish(map, start);
            if let Some(channel) = &self.channel {
                // Points that find no room are not missed: the next frame has as many.
                drop(channel.try_send((self.frames, Update::Points(sample(frame, OF_LIVE_FRAME)))));
            }
            self.tell(map, Some(place), false);
            self.last = Some(Instant::now());
        }
        self.counts.spent += start.elapsed();
    }

    /// The map is complete: everything that is still marked is sent, with time to wait. Returns what became of the stream.
    pub fn finish(mut self, map: &Mapper) -> LiveCounts {
        self.counts.packing = self.packing().1;
        self.send_marked(map);
        self.tell(map, None, true);
        self.close();
        self.counts
    }

    /// Sends all of the map, with time to wait: at the beginning, or after something else than a frame changed it.
    pub fn flush(&mut self, map: &Mapper) {
        map.primitives().for_each(|primitive| self.marks.add(primitive.mean(), self.frames));
        self.send_marked(map);
        self.tell(map, None, false);
    }

    fn send_marked(&mut self, map: &Mapper) {
        for tile in self.marks.in_order() {
            let Some(channel) = &self.channel else { return };
            if channel.send((self.frames, Update::Tile(self.snapshot(map, tile)))).is_err() {
                return;
            }
            self.marks.remove(tile);
            self.counts.sent += 1;
        }
    }

    fn snapshot(&self, map: &Mapper, tile: Tile) -> Snapshot {
        Snapshot { tile, next_id: map.next_id(), states: states_in(map, tile, self.marks.heights(tile)) }
    }

    /// Tiles that were packed for browsers, and how long that took.
    fn packing(&self) -> (u64, Duration) {
        self.show.scene(0).map_or_else(Default::default, |scene| scene.packing())
    }

    /// Whether the mapper's thread may go on showing, and one more tile may be packed elsewhere.
    fn affordable(&self, now: Duration) -> bool {
        let run = self.begun.elapsed().as_secs_f64();
        let (packed, took) = self.packing();
        let each = (took + GUESS).as_secs_f64() / (packed + 1) as f64;
        let packing = each * (self.counts.sent + 1) as f64 / self.processors;
        (self.counts.spent + now).as_secs_f64() <= SHARE * run && packing <= PACKING * (run + GRANTED.as_secs_f64())
    }

    /// Sends marked tiles, longest waiting first, until the budget is spent or the channel is full.
    fn publish(&mut self, map: &Mapper, since: Instant) {
        for tile in self.marks.in_order() {
            let Some(channel) = &self.channel else { return };
            match channel.try_send((self.frames, Update::Tile(self.snapshot(map, tile)))) {
                Ok(()) => {
                    self.counts.sent += 1;
                    self.marks.remove(tile);
                }
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                    self.counts.dropped += 1;
                    return;
                }
            }
            if !self.affordable(since.elapsed()) {
                return;
            }
        }
    }

    fn tell(&mut self, map: &Mapper, place: Option<[f64; 3]>, done: bool) {
        let news = json!({
            "kind": "live", "frames": self.frames, "primitives": map.len(), "voxels": map.live_voxel_count(),
            "waiting": self.marks.len(), "dropped": self.counts.dropped, "at": place, "done": done,
        });
        match &self.channel {
            // Nothing comes after the last news: they wait for room.
            Some(channel) if done => drop(channel.send((self.frames, Update::News(news)))),
            // Others that find no room are overtaken by the next ones.
            Some(channel) => drop(channel.try_send((self.frames, Update::News(news)))),
            None => {}
        }
    }

    fn close(&mut self) {
        self.channel = None;
        if let Some(taker) = self.taker.take() {
            drop(taker.join());
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.close();
    }
}

/// Takes updates over into the show, and passes them on.
fn take(show: &Show, mut follower: Option<Box<dyn Follow>>, updates: &Receiver<(u64, Update)>) {
    let Some(scene) = show.scene(0) else { return };
    for (frames, update) in updates {
        match update {
            Update::Tile(snapshot) => {
                let tile = snapshot.tile;
                show.tell(&json!({"kind": "changed", "map": 0, "tiles": [scene.replace(snapshot)]}));
                let begun = Instant::now();
                if let Some(follower) = &mut follower {
                    // What the mapper sent can be drawn: only what is no map fails here.
                    if let Ok(bodies) = scene.bodies(tile) {
                        follower.tile(frames, tile, &bodies);
                    }
                    scene.count_packing(begun);
                }
            }
            Update::Points(points) => {
                if let Some(follower) = &mut follower {
                    follower.points(frames, &points);
                }
                show.tell(&json!({"kind": "changed", "map": 0, "points": scene.scanned(points)}));
            }
            Update::News(news) => {
                let done = news["done"] == true;
                if let Some(follower) = &mut follower {
                    follower.way(frames, &scene.way(), done);
                }
                if done {
                    show.complete();
                }
                show.tell(&news);
            }
        }
    }
}
