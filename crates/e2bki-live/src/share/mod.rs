//! Several robots, one map: what each of them added is told to the others, and every map is the sum of all.
//!
//! `bytes.rs`, `rows.rs` and `space.rs` (a region as bytes) → `message.rs` → `replica.rs` (what is known of a run) → `exchange.rs` (who knows
//! what, who is told what) → here, the map: what others added is put in, and what we added is the map without it.

mod bytes;
mod exchange;
mod message;
mod replica;
mod rows;
mod space;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use e2bki::free::Counters;
use e2bki::submaps::{Contribution, Part};
use e2bki::{Changes, ClassSet, Config, Mapper};

use crate::error::{Error, Result};
use crate::map::LiveMap;
use crate::picture::MOST_BYTES;

pub use bytes::Unreadable;
pub use exchange::{Change, Exchange, Identity, Refused};
pub use message::{Ask, Frames, Hello, Kind, Known, Message, Place, RegionBytes, Told};

/// Regions that are looked at together.
const AT_ONCE: usize = 1024;

/// What may be saved up to be told, seconds of the allowed rate.
const SAVED_S: f64 = 2.0;

/// Bytes per second at the end of a run.
const HURRY: f64 = 10e6;

/// Parameters that need not be the same: how a map is looked at, how the work is done, what a robot's sensors are like.
const OWN: [&str; 3] = ["views.", "run.", "input."];

/// What maps must have in common to be shared: one line for the classes, and one for each parameter.
pub fn description(classes: &ClassSet, config: &Config) -> String {
    let mut text = format!("classes = {}\n", classes.names().join(", "));
    for field in e2bki::config::fields().iter().filter(|field| !OWN.iter().any(|own| field.key.starts_with(own))) {
        text += &format!("{} = {}\n", field.key, field.value(config));
    }
    text
}

/// The first line in which two descriptions differ.
fn difference(ours: &str, theirs: &str) -> String {
    let differ = ours.lines().zip(theirs.lines()).find(|(a, b)| a != b);
    if theirs.is_empty() {
        return "other classes or parameters".into();
    }
    differ.map_or("another version of e2bki".into(), |(a, b)| format!("`{b}`, and here `{a}`"))
}

/// What was said and heard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages that were sent, and their bytes.
    pub sent: u64,
    /// See [`Self::sent`].
    pub sent_bytes: u64,
    /// Messages that were taken, and their bytes.
    pub taken: u64,
    /// See [`Self::taken`].
    pub taken_bytes: u64,
    /// Messages that cannot be read, or of maps of another kind.
    pub refused: u64,
    /// Messages that the map refused.
    pub failed: u64,
}

/// A map that is shared.
#[derive(Debug)]
pub struct Sharing {
    exchange: Exchange,
    /// Regions that we changed and have not told of, the first to change first.
    waiting: VecDeque<Place>,
    is_waiting: BTreeSet<Place>,
    /// Number of the map's change up to which it is known what we counted of free space.
    space_number: u64,
    /// Bytes per second that may be said, and what may be said now.
    rate: f64,
    saved: f64,
    last: Duration,
    /// What was said and heard.
    pub traffic: Traffic,
    notes: Vec<String>,
    noted: BTreeSet<String>,
}

impl Sharing {
    /// Shares the map of a run, at most so many bytes per second. Fails if the map is not a sum.
    pub fn new(run: String, (shares, joins): (bool, bool), mapper: &Mapper, rate: f64) -> Result<Self> {
        let config = mapper.config();
        if let Some(reason) = config.not_a_sum() {
            return Err(Error::map(format!("only a map that is a sum can be shared: {reason}")));
        }
        let (classes, side) = (mapper.classes().len(), config.clustering.cell_size);
        let description = description(mapper.classes(), config);
        let identity = Identity { run, shares, joins, description, classes, side };
        Ok(Self {
            exchange: Exchange::new(identity),
            waiting: VecDeque::new(),
            is_waiting: BTreeSet::new(),
            space_number: 0,
            rate,
            saved: rate,
            last: Duration::ZERO,
            traffic: Traffic::default(),
            notes: Vec::new(),
            noted: BTreeSet::new(),
        })
    }

    /// Who knows what.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Takes a message into the map.
    pub fn take(&mut self, map: &mut dyn LiveMap, message: &[u8], now: Duration) {
        match self.exchange.take(message, now) {
            Ok(None) => {}
            Ok(Some(change)) => match map.replace(&change.taken, &change.added) {
                Ok(()) => {
                    self.exchange.commit(change);
                    self.traffic.taken += 1;
                    self.traffic.taken_bytes += message.len() as u64;
                }
                Err(error) => {
                    self.traffic.failed += 1;
                    self.note(format!("what another robot shares cannot be taken: {error}"));
                }
            },
            Err(why) => {
                self.traffic.refused += 1;
                match why {
                    Refused::Unreadable(Unreadable(what)) => {
                        self.note(format!("a shared message cannot be read: {what}"))
                    }
                    Refused::TooMany => self.note("too many robots share: the others are left out".into()),
                    Refused::Other => self.strangers(),
                }
            }
        }
    }

    fn strangers(&mut self) {
        let ours = &self.exchange.identity().description;
        let others = self.exchange.peers().filter_map(|(name, theirs)| Some((name, theirs?)));
        let lines: Vec<String> =
            others.map(|(name, theirs)| format!("{name} is left out: it has {}", difference(ours, theirs))).collect();
        lines.into_iter().for_each(|line| self.note(line));
    }

    /// What is to be said is said once.
    fn note(&mut self, line: String) {
        if self.noted.len() < AT_ONCE && self.noted.insert(line.clone()) {
            self.notes.push(line);
        }
    }

    /// What is to be said since the last time.
    pub fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Our own frames changed the map.
    pub fn changed(&mut self, mapper: &Mapper, changes: &Changes) {
        if !self.exchange.identity().shares {
            return;
        }
        let everything = if changes.everything { mapper.state_list().origins() } else { Vec::new() };
        match mapper.regions_around(changes.primitive_blocks().chain(everything)) {
            Ok(regions) => self.wait(regions.into_iter().map(|region| (Kind::Primitives, region))),
            Err(error) => self.note(format!("what this robot added cannot be shared: {error}")),
        }
        let since = if changes.everything { 0 } else { self.space_number };
        self.wait(mapper.free_space_regions_since(since).into_iter().map(|region| (Kind::Space, region)));
        self.space_number = changes.number;
    }

    fn wait(&mut self, places: impl IntoIterator<Item = Place>) {
        for place in places {
            if self.is_waiting.insert(place) {
                self.waiting.push_back(place);
            }
        }
    }

    /// The map was emptied: what we added is withdrawn, what the others added is put in again.
    pub fn emptied(&mut self, map: &mut dyn LiveMap) -> Result<()> {
        let unread = |Unreadable(what)| Error::map(what);
        let others = self.exchange.all_of_others().map_err(unread)?;
        map.replace(&Contribution::default(), &others)?;
        let told: Vec<Place> = self.exchange.own_regions().collect();
        self.wait(told);
        self.space_number = 0;
        Ok(())
    }

    /// What is to be said now: that we are there, what is missing, what was asked for, and what we added, as much as may be. To be
    /// asked after [`Self::changed`] and [`Self::take`]: what changed since is taken for what others added.
    pub fn messages(&mut self, mapper: &Mapper, now: Duration) -> Vec<Vec<u8>> {
        self.space_number = mapper.change_number();
        let seconds = now.saturating_sub(self.last).as_secs_f64();
        self.last = now;
        self.saved = (self.saved + seconds * self.rate).min(f64::max(SAVED_S * self.rate, 1.0));
        let mut messages = self.exchange.due(now);
        self.spend(&messages);
        // Who comes late and what is new get half each, where there is not enough for both.
        let half = if self.waiting.is_empty() { self.saved } else { 0.5 * self.saved };
        if half > 0.0 {
            let answers = self.exchange.answers(MOST_BYTES.min(1 + half as usize), half as usize);
            self.spend(&answers);
            messages.extend(answers);
        }
        while self.saved > 0.0 && self.exchange.identity().shares {
            let most = MOST_BYTES.min(1 + self.saved as usize);
            match self.own(mapper, most) {
                Ok(Some(own)) => {
                    self.spend(&own);
                    messages.extend(own);
                }
                Ok(None) => break,
                Err(error) => {
                    self.traffic.failed += 1;
                    self.note(format!("what this robot added cannot be shared: {error}"));
                    break;
                }
            }
        }
        messages
    }

    fn spend(&mut self, messages: &[Vec<u8>]) {
        let bytes: usize = messages.iter().map(Vec::len).sum();
        self.saved -= bytes as f64;
        self.traffic.sent += messages.len() as u64;
        self.traffic.sent_bytes += bytes as u64;
    }

    /// The next of what we added; nothing where all was told.
    fn own(&mut self, mapper: &Mapper, most: usize) -> Result<Option<Vec<Vec<u8>>>> {
        let others = self.exchange.frames_of_others();
        let counted = mapper.free_space().map_or(0, Counters::frames);
        let frames = Frames {
            mapped: mapper.frames().saturating_sub(others.mapped),
            counted: counted.saturating_sub(others.counted),
        };
        // About as many as fit into what may be said: what does not wait is told as it is now, not as it will be.
        let [of_primitives, of_space] = [Kind::Primitives, Kind::Space].map(|kind| self.exchange.usual_bytes(kind));
        let (mut size, mut count) = (0, 0);
        for (kind, _) in self.waiting.iter().take(AT_ONCE) {
            size += if *kind == Kind::Space { of_space } else { of_primitives };
            if size > most && count > 0 {
                break;
            }
            count += 1;
        }
        let places: Vec<Place> = self.waiting.drain(..count).collect();
        for place in &places {
            self.is_waiting.remove(place);
        }
        let of = |kind: Kind| -> Vec<[i32; 3]> {
            places.iter().filter(|place| place.0 == kind).map(|(_, region)| *region).collect()
        };
        let unread = |Unreadable(what)| Error::map(what);
        let mut parts: BTreeMap<[i32; 3], Part> = mapper.parts_in(&of(Kind::Primitives)).map_err(Error::map)?;
        for (region, part) in &mut parts {
            let others = self.exchange.others_in(*region).map_err(unread)?;
            if !others.is_empty() {
                *part = part.without(&others.iter().collect::<Vec<&Part>>()).map_err(Error::map)?;
            }
        }
        let mut spaces: BTreeMap<[i32; 3], Counters> = mapper.free_space_in(&of(Kind::Space));
        for (region, counters) in &mut spaces {
            let others = self.exchange.space_of_others_in(*region).map_err(unread)?;
            if !others.is_empty() {
                *counters = counters.without(&others).map_err(Error::map)?;
            }
        }
        let messages = self.exchange.publish(&parts, &spaces, frames, MOST_BYTES);
        Ok((count > 0 || !messages.is_empty()).then_some(messages))
    }

    /// The end is near: everything is told at once.
    pub fn hurry(&mut self) {
        (self.rate, self.saved) = (self.rate.max(HURRY), self.saved.max(HURRY));
    }

    /// Runs in the map, ours among them.
    pub fn runs(&self) -> Vec<String> {
        let Identity { run, shares, .. } = self.exchange.identity();
        self.exchange.runs().map(ToString::to_string).chain(shares.then(|| run.clone())).collect()
    }

    /// Whether everybody has all that we added.
    pub fn told_all(&self) -> bool {
        self.waiting.is_empty() && self.exchange.everybody_has_ours()
    }

    /// The sharing as diagnostics have it.
    pub fn values(&self) -> Vec<(String, String)> {
        let Traffic { sent, sent_bytes, taken, taken_bytes, refused, failed } = self.traffic;
        let robots: Vec<&str> = self.exchange.peers().map(|(name, _)| name).collect();
        [
            ("sharing: robots", robots.join(", ")),
            ("sharing: contributions of others", self.exchange.runs().count().to_string()),
            ("sharing: all of theirs is here", self.exchange.complete().to_string()),
            ("sharing: regions to tell", self.waiting.len().to_string()),
            ("sharing: messages sent", sent.to_string()),
            ("sharing: bytes sent", sent_bytes.to_string()),
            ("sharing: messages taken", taken.to_string()),
            ("sharing: bytes taken", taken_bytes.to_string()),
            ("sharing: refused", (refused + failed).to_string()),
            ("sharing: bytes kept", self.exchange.byte_size().to_string()),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_string(), value))
        .collect()
    }
}
