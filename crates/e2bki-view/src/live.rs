//! The stream of a running mapper. The mapper never waits: what is new goes into a bounded channel or stays marked for
//! later, and the time spent on it, here and on other threads, is held below a fixed share of the run's.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use e2bki::{Changes, Frame, Mapper};
use serde_json::{Value, json};

use crate::dirty::DirtyTiles;
use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::points::{OF_LIVE_FRAME, sample};
use crate::scene::{counters_in, states_in};
use crate::scenes::Scenes;
use crate::snapshots::Snapshot;
use crate::tile::Tile;

/// Capacity of the channel.
const WAITING: usize = 64;
/// Share of the run's time that the mapper's thread may spend on streaming.
const SHARE: f64 = 0.01;
/// Share of the processors' time that may go into encoding tiles, as the mapper uses all of them.
const PACKING: f64 = 0.01;
/// Expected encoding time of the first tiles, and the time granted for them.
const GUESS: Duration = Duration::from_millis(5);
const GRANTED: Duration = Duration::from_secs(1);
/// Minimum time between updates: tiles are sent whole.
const PAUSE: Duration = Duration::from_millis(250);

/// Statistics of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LiveStats {
    /// Tiles sent.
    pub sent: u64,
    /// Tiles that found the channel full; they are sent later, as they are then.
    pub dropped: u64,
    /// Time spent on the mapper's thread.
    pub spent: Duration,
    /// Time spent encoding tiles, on other threads.
    pub packing: Duration,
}

/// A subscriber to a live map besides browsers. Called on its own thread: the mapper does not wait, and a subscriber that is
/// too slow skips to newer data.
pub trait Subscriber: Send {
    /// All primitives of a tile, after this many frames.
    fn tile(&mut self, frames: u64, tile: Tile, instances: &[Instance]);

    /// A sample of a frame's points with their classes, in world coordinates.
    fn points(&mut self, frames: u64, points: &[([f64; 3], u16)]);

    /// The sensor's trajectory so far, and whether the run is over.
    fn trajectory(&mut self, frames: u64, places: &[[f64; 3]], done: bool);
}

enum Update {
    Tile(Snapshot),
    /// Positions and labels of a frame's points.
    Points(Vec<([f64; 3], u16)>),
    Status(Value),
}

/// The mapper's end of the stream.
pub struct Publisher {
    show: Arc<Scenes>,
    channel: Option<SyncSender<(u64, Update)>>,
    taker: Option<JoinHandle<()>>,
    /// Whether there is a subscriber besides browsers.
    subscribed: bool,
    /// Whether a part of the map is elsewhere: then frames say what they changed.
    partial: bool,
    /// Changed since they were last sent.
    dirty: DirtyTiles,
    processors: f64,
    begun: Instant,
    last: Option<Instant>,
    frames: u64,
    counts: LiveStats,
}

impl Publisher {
    /// A stream into a live scene.
    pub fn new(show: Arc<Scenes>) -> Result<Self> {
        Self::start(show, None)
    }

    /// The same, and to a subscriber, whether or not a browser is connected.
    pub fn with_subscriber(show: Arc<Scenes>, subscriber: Box<dyn Subscriber>) -> Result<Self> {
        Self::start(show, Some(subscriber))
    }

    fn start(show: Arc<Scenes>, subscriber: Option<Box<dyn Subscriber>>) -> Result<Self> {
        let (channel, updates) = sync_channel(WAITING);
        let subscribed = subscriber.is_some();
        let taker = std::thread::Builder::new().name("e2bki-live".into()).spawn({
            let show = show.clone();
            move || take(&show, subscriber, &updates)
        });
        let taker = Some(taker.map_err(|e| Error::Start(e.to_string()))?);
        Ok(Self {
            show,
            channel: Some(channel),
            taker,
            subscribed,
            partial: false,
            dirty: DirtyTiles::default(),
            processors: std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64),
            begun: Instant::now(),
            last: None,
            frames: 0,
            counts: LiveStats::default(),
        })
    }

    /// A frame was inserted into a map of which a part is elsewhere: what it changed, and which tiles are in memory. Of the
    /// others the page keeps what it was sent last.
    pub fn frame_of_part(
        &mut self,
        map: &Mapper,
        frame: &Frame<'_>,
        changes: &Changes,
        here: impl Fn([i32; 2]) -> bool,
    ) {
        let start = Instant::now();
        self.partial = true;
        self.dirty.update_part(map, changes, here, self.frames + 1);
        self.counts.spent += start.elapsed();
        self.frame(map, frame);
    }

    /// A frame was inserted into the map.
    pub fn frame(&mut self, map: &Mapper, frame: &Frame<'_>) {
        let start = Instant::now();
        let place = frame.world_from_sensor.translation();
        self.frames += 1;
        if let Some(scene) = self.show.scene(0) {
            scene.moved(place);
        }
        if self.is_due() {
            if !self.partial {
                self.dirty.update(map, self.frames);
            }
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

    /// The map changed by something else than a frame, as by what another robot shares.
    pub fn changed(&mut self, map: &Mapper) {
        let start = Instant::now();
        if self.is_due() {
            self.dirty.update(map, self.frames);
            self.publish(map, start);
            self.tell(map, None, false);
            self.last = Some(Instant::now());
        }
        self.counts.spent += start.elapsed();
    }

    /// Whether it is time for what is new, there is time for it, and somebody looks.
    fn is_due(&self) -> bool {
        self.last.is_none_or(|last| last.elapsed() >= PAUSE)
            && self.affordable(Duration::ZERO)
            && (self.subscribed || self.show.clients() > 0)
    }

    /// The map is complete: sends all tiles that are still dirty, waiting for room. Returns the stream's statistics.
    pub fn finish(mut self, map: &Mapper) -> LiveStats {
        self.counts.packing = self.packing().1;
        if !self.partial {
            self.dirty.update(map, self.frames);
        }
        self.send_dirty(map);
        self.tell(map, None, true);
        self.close();
        self.counts
    }

    /// Sends the whole map, waiting for room: at the beginning, or after a change other than a frame.
    pub fn flush(&mut self, map: &Mapper) {
        self.dirty.add_all(map, self.frames);
        self.send_dirty(map);
        self.tell(map, None, false);
    }

    fn send_dirty(&mut self, map: &Mapper) {
        for tile in self.dirty.in_order() {
            let Some(channel) = &self.channel else { return };
            if channel.send((self.frames, Update::Tile(self.snapshot(map, tile)))).is_err() {
                return;
            }
            self.dirty.remove(tile);
            self.counts.sent += 1;
        }
    }

    fn snapshot(&self, map: &Mapper, tile: Tile) -> Snapshot {
        let heights = self.dirty.heights(tile);
        let states = states_in(map, tile, heights);
        let free = counters_in(map, tile, heights, &states);
        Snapshot { tile, next_id: map.next_id(), states, free }
    }

    /// Number of encoded tiles, and the time spent.
    fn packing(&self) -> (u64, Duration) {
        self.show.scene(0).map_or_else(Default::default, |scene| scene.packing())
    }

    /// Whether there is time left on the mapper's thread, and for encoding one more tile.
    fn affordable(&self, now: Duration) -> bool {
        let run = self.begun.elapsed().as_secs_f64();
        let (packed, took) = self.packing();
        let each = (took + GUESS).as_secs_f64() / (packed + 1) as f64;
        let packing = each * (self.counts.sent + 1) as f64 / self.processors;
        (self.counts.spent + now).as_secs_f64() <= SHARE * run && packing <= PACKING * (run + GRANTED.as_secs_f64())
    }

    /// Sends dirty tiles, longest waiting first, until the budget is spent or the channel is full.
    fn publish(&mut self, map: &Mapper, since: Instant) {
        for tile in self.dirty.in_order() {
            let Some(channel) = &self.channel else { return };
            match channel.try_send((self.frames, Update::Tile(self.snapshot(map, tile)))) {
                Ok(()) => {
                    self.counts.sent += 1;
                    self.dirty.remove(tile);
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
        let status = json!({
            "kind": "live", "frames": self.frames, "primitives": map.len(), "voxels": map.live_voxel_count(),
            "waiting": self.dirty.len(), "dropped": self.counts.dropped, "at": place, "done": done,
        });
        match &self.channel {
            // Nothing comes after the last status: it waits for room.
            Some(channel) if done => drop(channel.send((self.frames, Update::Status(status)))),
            // Others that find no room are overtaken by the next ones.
            Some(channel) => drop(channel.try_send((self.frames, Update::Status(status)))),
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

/// Applies updates to the scene, and passes them on.
fn take(show: &Scenes, mut subscriber: Option<Box<dyn Subscriber>>, updates: &Receiver<(u64, Update)>) {
    let Some(scene) = show.scene(0) else { return };
    for (frames, update) in updates {
        match update {
            Update::Tile(snapshot) => {
                let tile = snapshot.tile;
                show.broadcast(&json!({"kind": "changed", "map": 0, "tiles": [scene.replace(snapshot)]}));
                let begun = Instant::now();
                if let Some(subscriber) = &mut subscriber {
                    // What the mapper sent can be drawn: only what is no map fails here.
                    if let Ok(instances) = scene.instances(tile) {
                        subscriber.tile(frames, tile, &instances);
                    }
                    scene.count_packing(begun);
                }
            }
            Update::Points(points) => {
                if let Some(subscriber) = &mut subscriber {
                    subscriber.points(frames, &points);
                }
                show.broadcast(&json!({"kind": "changed", "map": 0, "points": scene.scanned(points)}));
            }
            Update::Status(status) => {
                let done = status["done"] == true;
                if let Some(subscriber) = &mut subscriber {
                    subscriber.trajectory(frames, &scene.trajectory(), done);
                }
                if done {
                    show.complete();
                }
                show.broadcast(&status);
            }
        }
    }
}
