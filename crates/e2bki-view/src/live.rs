//! The stream of a running mapper. The mapper never waits: what is new goes into a bounded channel or stays marked for
//! later, and the time spent on it is held below a fixed share of the run's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use e2bki::{Frame, Mapper};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::points::sample;
use crate::scene::{Snapshot, states_in};
use crate::show::Show;
use crate::tile::Tile;

/// Snapshots that may wait to be taken over.
const WAITING: usize = 64;
/// Share of the run's time that may go into showing it.
const SHARE: f64 = 0.02;
/// Nothing is shown more often than this: eyes see no more, and a tile is sent whole.
const PAUSE: Duration = Duration::from_millis(250);
/// Most tiles that are marked at once; a frame of scattered nonsense must not mark the world.
const MOST_MARKED: usize = 4096;
/// Refinement changes primitives this near to new ones, metres.
const AROUND_M: f64 = 2.0;

/// What became of the stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LiveCounts {
    /// Tiles sent.
    pub sent: u64,
    /// Tiles that found the channel full; they are sent later, as they are then.
    pub dropped: u64,
    /// Time that the mapper's thread spent on showing.
    pub spent: Duration,
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
    channel: Option<SyncSender<Update>>,
    taker: Option<JoinHandle<()>>,
    /// Changed since they were last sent, with the frame that first changed them.
    marked: BTreeMap<Tile, u64>,
    /// Lowest and highest point that was ever seen in a tile.
    heights: BTreeMap<Tile, [f64; 2]>,
    begun: Instant,
    last: Option<Instant>,
    frames: u64,
    counts: LiveCounts,
}

impl Publisher {
    /// A stream into a growing show.
    pub fn new(show: Arc<Show>) -> Result<Self> {
        let (channel, updates) = sync_channel(WAITING);
        let taker = std::thread::Builder::new().name("e2bki-live".into()).spawn({
            let show = show.clone();
            move || take(&show, &updates)
        });
        let taker = Some(taker.map_err(|e| Error::Start(e.to_string()))?);
        Ok(Self {
            show,
            channel: Some(channel),
            taker,
            marked: BTreeMap::new(),
            heights: BTreeMap::new(),
            begun: Instant::now(),
            last: None,
            frames: 0,
            counts: LiveCounts::default(),
        })
    }

    /// A frame was inserted into the map.
    pub fn frame(&mut self, map: &Mapper, frame: &Frame<'_>) {
        let start = Instant::now();
        self.mark(frame, map.config().max_range);
        let place = frame.world_from_sensor.translation();
        self.frames += 1;
        let due = self.last.is_none_or(|last| last.elapsed() >= PAUSE);
        let affordable = self.counts.spent.as_secs_f64() <= SHARE * self.begun.elapsed().as_secs_f64();
        if let Some(scene) = self.show.scene(0) {
            scene.moved(place);
        }
        if due && affordable && self.show.watchers() > 0 {
            self.publish(map, Some(start));
            if let Some(channel) = &self.channel {
                // Points that find no room are not missed: the next frame has as many.
                drop(channel.try_send(Update::Points(sample(frame))));
            }
            self.tell(map, Some(place), false);
            self.last = Some(Instant::now());
        }
        self.counts.spent += start.elapsed();
    }

    /// The map is complete: everything that is still marked is sent, with time to wait. Returns what became of the stream.
    pub fn finish(mut self, map: &Mapper) -> LiveCounts {
        self.send_marked(map);
        self.tell(map, None, true);
        self.close();
        self.counts
    }

    /// Sends all of the map, with time to wait: at the beginning, or after something else than a frame changed it.
    pub fn flush(&mut self, map: &Mapper) {
        for [x, y, z] in map.primitives().map(|primitive| primitive.mean()) {
            let known = self.heights.entry(Tile::of(x, y)).or_insert([z, z]);
            *known = [known[0].min(z), known[1].max(z)];
        }
        self.marked.extend(self.heights.keys().map(|tile| (*tile, self.frames)));
        self.send_marked(map);
        self.tell(map, None, false);
    }

    fn send_marked(&mut self, map: &Mapper) {
        while let (Some((tile, _)), Some(channel)) = (self.marked.pop_first(), &self.channel) {
            if channel.send(Update::Tile(self.snapshot(map, tile))).is_err() {
                break;
            }
            self.counts.sent += 1;
        }
    }

    /// Marks the tiles that a frame may have changed.
    fn mark(&mut self, frame: &Frame<'_>, max_range: f64) {
        let far = max_range.min(e2bki::WORLD_LIMIT_M).powi(2);
        // Points that follow each other lie mostly in one tile: the tiles around the last ones, and their heights.
        let mut run: Option<([Tile; 2], [f64; 2])> = None;
        for point in frame.points {
            let p = point.map(f64::from);
            let distance = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
            if distance.is_nan() || distance > far {
                continue;
            }
            let [x, y, z] = frame.world_from_sensor.apply(p);
            let corners = [Tile::of(x - AROUND_M, y - AROUND_M), Tile::of(x + AROUND_M, y + AROUND_M)];
            match &mut run {
                Some((same, heights)) if *same == corners => *heights = [heights[0].min(z), heights[1].max(z)],
                _ => {
                    self.mark_run(run.replace((corners, [z, z])));
                }
            }
        }
        self.mark_run(run);
    }

    fn mark_run(&mut self, run: Option<([Tile; 2], [f64; 2])>) {
        let Some(([low, high], heights)) = run else { return };
        for tx in low.0[0]..=high.0[0] {
            for tile in (low.0[1]..=high.0[1]).map(|ty| Tile([tx, ty])) {
                if self.marked.len() >= MOST_MARKED && !self.marked.contains_key(&tile) {
                    continue;
                }
                self.marked.entry(tile).or_insert(self.frames);
                let known = self.heights.entry(tile).or_insert(heights);
                *known = [known[0].min(heights[0]), known[1].max(heights[1])];
            }
        }
    }

    fn snapshot(&self, map: &Mapper, tile: Tile) -> Snapshot {
        let heights = self.heights.get(&tile).copied().unwrap_or_default();
        Snapshot { tile, next_id: map.next_id(), states: states_in(map, tile, heights) }
    }

    /// Sends marked tiles, longest waiting first, until the budget is spent or the channel is full.
    fn publish(&mut self, map: &Mapper, since: Option<Instant>) {
        let mut order: Vec<(u64, Tile)> = self.marked.iter().map(|(tile, frame)| (*frame, *tile)).collect();
        order.sort_unstable();
        for (_, tile) in order {
            let Some(channel) = &self.channel else { return };
            match channel.try_send(Update::Tile(self.snapshot(map, tile))) {
                Ok(()) => {
                    self.counts.sent += 1;
                    self.marked.remove(&tile);
                }
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                    self.counts.dropped += 1;
                    return;
                }
            }
            let spent = self.counts.spent + since.map_or(Duration::ZERO, |since| since.elapsed());
            if spent.as_secs_f64() > SHARE * self.begun.elapsed().as_secs_f64() {
                return;
            }
        }
    }

    fn tell(&mut self, map: &Mapper, place: Option<[f64; 3]>, done: bool) {
        let news = json!({
            "kind": "live", "frames": self.frames, "primitives": map.len(), "voxels": map.live_voxel_count(),
            "waiting": self.marked.len(), "dropped": self.counts.dropped, "at": place, "done": done,
        });
        match &self.channel {
            // Nothing comes after the last news: they wait for room.
            Some(channel) if done => drop(channel.send(Update::News(news))),
            // Others that find no room are overtaken by the next ones.
            Some(channel) => drop(channel.try_send(Update::News(news))),
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

/// Takes updates over into the show.
fn take(show: &Show, updates: &Receiver<Update>) {
    for update in updates {
        match update {
            Update::Tile(snapshot) => {
                if let Some(scene) = show.scene(0) {
                    show.tell(&json!({"kind": "changed", "map": 0, "tiles": [scene.replace(snapshot)]}));
                }
            }
            Update::Points(points) => {
                if let Some(scene) = show.scene(0) {
                    show.tell(&json!({"kind": "changed", "map": 0, "points": scene.scanned(points)}));
                }
            }
            Update::News(news) => {
                if news["done"] == true {
                    show.complete();
                }
                show.tell(&news);
            }
        }
    }
}
