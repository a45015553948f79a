//! The exchange of contributions between robots, without a network and without a map: messages in, messages out.
//!
//! A run of a robot is known by its name. What it added to the map is kept in regions, each as the run's latest word on it and with
//! the number of the message in which that word was first said. A region replaces its predecessor, so it does not matter how
//! often, in what order, or by whom it is told. Numbers have no gaps: who misses some asks for all regions whose number is among
//! them. A region that has changed since has a higher number, and is told with that.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use e2bki::free::Counters;
use e2bki::submaps::{Contribution, Part};

use super::bytes::Unreadable;
use super::message::{Ask, Frames, Hello, Kind, Known, Message, Place, RegionBytes, Told};
use super::replica::{ABOUT_REGION, Replica};
use super::{rows, space};

/// Time from one hello to the next, and from one question to the next.
const HELLO: Duration = Duration::from_secs(1);
const ASK: Duration = Duration::from_secs(1);

/// Every so many hellos all of the description is said; otherwise what it is known by.
const DESCRIBE: u64 = 10;

/// Who was not heard for so long has gone away.
const GONE: Duration = Duration::from_secs(5);

/// Runs and robots that are kept: a bound on what strangers can ask for.
const MOST_RUNS: usize = 256;

/// Bytes of a region, as long as there is none: of primitives, and of free space.
const USUAL: usize = 500;
const USUAL_SPACE: usize = 5000;

/// Bytes of a message besides its regions.
const BESIDE: usize = 1024;

/// What all maps have in common, and who we are.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Name of the run: never the same for two runs of a robot.
    pub run: String,
    /// Whether what we map is told.
    pub shares: bool,
    /// Whether what others tell is taken.
    pub joins: bool,
    /// Classes and parameters that maps must have in common, as text.
    pub description: String,
    /// Number of classes.
    pub classes: usize,
    /// Side of the cubes, metres.
    pub side: f64,
}

/// What a message changes in the map.
#[derive(Debug)]
pub struct Change {
    run: String,
    span: (u64, u64),
    news: Vec<RegionBytes>,
    frames: (Frames, u64),
    /// To be taken out, and put in.
    pub taken: Contribution,
    /// See [`Self::taken`].
    pub added: Contribution,
}

/// Why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// It cannot be read.
    Unreadable(Unreadable),
    /// It is of a map with other classes or parameters.
    Other,
    /// There are too many runs.
    TooMany,
}

#[derive(Debug, Clone)]
struct Peer {
    heard: Duration,
    joins: bool,
    digest: u64,
    description: String,
    through: BTreeMap<String, u64>,
}

/// The exchange, as one of the robots sees it.
#[derive(Debug)]
pub struct Exchange {
    identity: Identity,
    digest: u64,
    own: Replica,
    others: BTreeMap<String, Replica>,
    peers: BTreeMap<String, Peer>,
    /// What others asked for: run, after, through.
    asked: BTreeSet<(String, u64, u64)>,
    /// When we last asked, by run; and what was missing then.
    asking: BTreeMap<String, (Duration, u64)>,
    greeted: Option<Duration>,
    greetings: u64,
}

/// FNV-1a.
fn digest_of(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Exchange {
    /// Nothing was said yet.
    pub fn new(identity: Identity) -> Self {
        let digest = digest_of(&identity.description);
        Self {
            identity,
            digest,
            own: Replica::default(),
            others: BTreeMap::new(),
            peers: BTreeMap::new(),
            asked: BTreeSet::new(),
            asking: BTreeMap::new(),
            greeted: None,
            greetings: 0,
        }
    }

    /// Who we are.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Takes a message. What it changes in the map is returned, and is to be done and then [committed](Self::commit).
    pub fn take(&mut self, bytes: &[u8], now: Duration) -> Result<Option<Change>, Refused> {
        match Message::decode(bytes).map_err(Refused::Unreadable)? {
            Message::Hello(hello) => self.greet(hello, now).map(|()| None),
            Message::Ask(Ask { to, run, after, through }) => {
                if to == self.identity.run && after < through && self.asked.len() < MOST_RUNS {
                    self.asked.insert((run, after, through));
                }
                Ok(None)
            }
            Message::Told(told) => self.hear(told),
        }
    }

    fn greet(&mut self, hello: Hello, now: Duration) -> Result<(), Refused> {
        if hello.from == self.identity.run {
            return Ok(());
        }
        self.peers.retain(|_, peer| now.saturating_sub(peer.heard) < GONE);
        if !self.peers.contains_key(&hello.from) && self.peers.len() >= MOST_RUNS {
            return Err(Refused::TooMany);
        }
        let ours = hello.digest == self.digest;
        let through = hello.known.iter().map(|known| (known.run.clone(), known.through)).collect();
        let Hello { from, joins, digest, mut description, known } = hello;
        if description.is_empty() {
            description = self.peers.remove(&from).map_or_else(String::new, |peer| peer.description);
        }
        self.peers.insert(from, Peer { heard: now, joins, digest, description, through });
        if !ours {
            return Err(Refused::Other);
        }
        if self.identity.joins {
            for Known { run, latest, .. } in known {
                if let Some(replica) = self.replica(&run)? {
                    replica.heard_of(latest);
                }
            }
        }
        Ok(())
    }

    /// What is kept of a run; nothing of our own.
    fn replica(&mut self, run: &str) -> Result<Option<&mut Replica>, Refused> {
        if run == self.identity.run {
            return Ok(None);
        }
        if !self.others.contains_key(run) && self.others.len() >= MOST_RUNS {
            return Err(Refused::TooMany);
        }
        Ok(Some(self.others.entry(run.to_string()).or_default()))
    }

    fn hear(&mut self, told: Told) -> Result<Option<Change>, Refused> {
        if told.digest != self.digest {
            return Err(Refused::Other);
        }
        if !self.identity.joins {
            return Ok(None);
        }
        let (classes, side) = (self.identity.classes, self.identity.side);
        let Some(replica) = self.replica(&told.run)? else { return Ok(None) };
        let (run, span, counted) = (told.run.clone(), (told.after, told.through), (told.frames, told.counted));
        let news = replica.news(told);
        let held = |(kind, region): Place, rows: &[u8], to: &mut Contribution| -> Result<(), Unreadable> {
            match kind {
                Kind::Primitives => to.parts.push(rows::decode(rows, region, classes, side)?),
                Kind::Space => to.free_space.push(space::decode(rows, region)?),
            }
            Ok(())
        };
        let [mut taken, mut added] = [Contribution::default(), Contribution::default()];
        for new in &news {
            held(new.place, &new.rows, &mut added).map_err(Refused::Unreadable)?;
            if let Some((_, old)) = replica.regions.get(&new.place) {
                held(new.place, old, &mut taken).map_err(Refused::Unreadable)?;
            }
        }
        let mut frames = if counted.1 >= replica.frames.1 { counted } else { replica.frames };
        // Regions of free space come one by one: what was counted is never less than what they say.
        let most = added.free_space.iter().map(Counters::frames).max().unwrap_or(0);
        frames.0.counted = frames.0.counted.max(most).max(replica.most_counted(&news));
        (taken.frames, taken.counted) = (replica.frames.0.mapped, replica.frames.0.counted);
        (added.frames, added.counted) = (frames.0.mapped, frames.0.counted);
        Ok(Some(Change { run, span, news, frames, taken, added }))
    }

    /// What a message changes has been done: it is known from now on.
    pub fn commit(&mut self, change: Change) {
        if let Some(replica) = self.others.get_mut(&change.run) {
            replica.put(change.news);
            replica.covered.add(change.span.0, change.span.1);
            replica.frames = change.frames;
            replica.heard_of(change.span.1.max(change.frames.1));
        }
    }

    /// What others added in a region.
    pub fn others_in(&self, region: [i32; 3]) -> Result<Vec<Part>, Unreadable> {
        let (classes, side) = (self.identity.classes, self.identity.side);
        let held = self.others.values().filter_map(|replica| replica.regions.get(&(Kind::Primitives, region)));
        held.map(|(_, rows)| rows::decode(rows, region, classes, side)).collect()
    }

    /// What others counted of free space in a region.
    pub fn space_of_others_in(&self, region: [i32; 3]) -> Result<Vec<Counters>, Unreadable> {
        let held = self.others.values().filter_map(|replica| replica.regions.get(&(Kind::Space, region)));
        held.map(|(_, counts)| space::decode(counts, region)).collect()
    }

    /// All that others added: what an empty map has to be given.
    pub fn all_of_others(&self) -> Result<Contribution, Unreadable> {
        let places: BTreeSet<Place> = self.others.values().flat_map(|r| r.regions.keys().copied()).collect();
        let Frames { mapped, counted } = self.frames_of_others();
        let mut all = Contribution { frames: mapped, counted, ..Contribution::default() };
        for (kind, region) in places {
            match kind {
                Kind::Primitives => all.parts.extend(self.others_in(region)?),
                Kind::Space => all.free_space.extend(self.space_of_others_in(region)?),
            }
        }
        Ok(all)
    }

    /// Frames of the others.
    pub fn frames_of_others(&self) -> Frames {
        self.others.values().fold(Frames::default(), |sum, replica| Frames {
            mapped: sum.mapped.saturating_add(replica.frames.0.mapped),
            counted: sum.counted.saturating_add(replica.frames.0.counted),
        })
    }

    /// Regions that we told of.
    pub fn own_regions(&self) -> impl Iterator<Item = Place> {
        self.own.regions.keys().copied()
    }

    /// Says what we added: regions as they are now, of so many frames. What is as it was is left out. Returns the messages, each of
    /// at most so many bytes.
    pub fn publish(
        &mut self,
        parts: &BTreeMap<[i32; 3], Part>,
        spaces: &BTreeMap<[i32; 3], Counters>,
        frames: Frames,
        most: usize,
    ) -> Vec<Vec<u8>> {
        let parts = parts.iter().map(|(region, part)| {
            let place = (Kind::Primitives, *region);
            (place, rows::encode(part), part.is_empty())
        });
        let spaces = spaces.iter().map(|(region, counters)| {
            let place = (Kind::Space, *region);
            (place, space::encode(counters), counters.is_empty())
        });
        let is_news = |(place, rows, is_empty): &(Place, Vec<u8>, bool)| {
            self.own.regions.get(place).map_or(!is_empty, |(_, old)| **old != **rows)
        };
        let news: Vec<(Place, Vec<u8>)> =
            parts.chain(spaces).filter(is_news).map(|(place, rows, _)| (place, rows)).collect();
        let mut messages = Vec::new();
        let mut left = news.into_iter().peekable();
        while left.peek().is_some() || self.own.frames.0 != frames {
            let number = self.own.latest + 1;
            let (mut regions, mut size) = (Vec::new(), BESIDE);
            while let Some((place, rows)) =
                left.next_if(|(_, rows)| size + rows.len() + ABOUT_REGION <= most || size == BESIDE)
            {
                size += rows.len() + ABOUT_REGION;
                regions.push(RegionBytes { place, number, rows });
            }
            self.own.put(regions.clone());
            self.own.heard_of(number);
            self.own.covered.add(number - 1, number);
            self.own.frames = (frames, number);
            messages.push(self.told(&self.identity.run, &self.own, (number - 1, number, regions)));
        }
        messages
    }

    fn told(&self, run: &str, replica: &Replica, (after, through, regions): (u64, u64, Vec<RegionBytes>)) -> Vec<u8> {
        let (frames, counted) = replica.frames;
        Message::Told(Told { run: run.into(), digest: self.digest, after, through, frames, counted, regions }).encode()
    }

    /// Answers those who asked, in messages of at most so many bytes and until so many bytes are said.
    pub fn answers(&mut self, most: usize, budget: usize) -> Vec<Vec<u8>> {
        let (mut messages, mut spent) = (Vec::new(), 0);
        while let Some((run, after, through)) = self.asked.pop_first() {
            if spent >= budget {
                // They ask again.
                break;
            }
            let replica = if run == self.identity.run { Some(&self.own) } else { self.others.get(&run) };
            let Some(replica) = replica else { continue };
            // Only what we are sure of: all of it.
            let through = through.min(replica.covered.through());
            if after >= through {
                continue;
            }
            for part in replica.told((after, through), most.saturating_sub(BESIDE), budget - spent) {
                let message = self.told(&run, replica, part);
                spent += message.len();
                messages.push(message);
            }
        }
        messages
    }

    /// What is due: that we are there, and questions for what is missing.
    pub fn due(&mut self, now: Duration) -> Vec<Vec<u8>> {
        self.peers.retain(|_, peer| now.saturating_sub(peer.heard) < GONE);
        let mut messages = Vec::new();
        if self.greeted.is_none_or(|then| now.saturating_sub(then) >= HELLO) {
            self.greeted = Some(now);
            messages.push(Message::Hello(self.hello()).encode());
            self.greetings += 1;
        }
        for (run, replica) in &self.others {
            let Some((after, through)) = replica.covered.missing(replica.latest) else {
                self.asking.remove(run);
                continue;
            };
            let (since, before) = *self.asking.entry(run.clone()).or_insert((now, after));
            // What is on its way is waited for.
            if before != after {
                self.asking.insert(run.clone(), (now, after));
            } else if now.saturating_sub(since) >= ASK {
                self.asking.insert(run.clone(), (now, after));
                let has = |peer: &Peer| peer.through.get(run).is_some_and(|known| *known > after);
                let to = if self.peers.contains_key(run) {
                    Some(run)
                } else {
                    self.peers.iter().find(|(_, peer)| has(peer)).map(|(name, _)| name)
                };
                let ask = to.map(|to| Message::Ask(Ask { to: to.clone(), run: run.clone(), after, through }));
                messages.extend(ask.map(|ask| ask.encode()));
            }
        }
        messages
    }

    fn hello(&self) -> Hello {
        let all = self.others.iter().chain(self.identity.shares.then_some((&self.identity.run, &self.own)));
        let known = all.map(|(run, replica)| Known {
            run: run.clone(),
            through: replica.covered.through(),
            latest: replica.latest,
        });
        let Identity { run, joins, description, .. } = &self.identity;
        let said = if self.greetings.is_multiple_of(DESCRIBE) { description.clone() } else { String::new() };
        Hello { from: run.clone(), joins: *joins, digest: self.digest, description: said, known: known.collect() }
    }

    /// Whether everybody who is there and takes what we share has all that was published.
    pub fn everybody_has_ours(&self) -> bool {
        let mut theirs = self.peers.values().filter(|peer| peer.joins && peer.digest == self.digest);
        theirs.all(|peer| peer.through.get(&self.identity.run).copied().unwrap_or(0) >= self.own.latest)
    }

    /// Whether we have all that the others were heard to have.
    pub fn complete(&self) -> bool {
        self.others.values().all(|replica| replica.covered.missing(replica.latest).is_none())
    }

    /// Robots that are there, and those of them whose maps are others: their names and descriptions.
    pub fn peers(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.peers.iter().map(|(name, peer)| {
            let other = (peer.digest != self.digest).then_some(peer.description.as_str());
            (name.as_str(), other)
        })
    }

    /// Names of the runs whose contributions are known, ours left out.
    pub fn runs(&self) -> impl Iterator<Item = &str> {
        self.others.iter().filter(|(_, replica)| replica.latest > 0).map(|(run, _)| run.as_str())
    }

    /// Bytes that a region of ours takes, on average, by kind.
    pub fn usual_bytes(&self, kind: Kind) -> usize {
        let unknown = if kind == Kind::Space { USUAL_SPACE } else { USUAL };
        self.own.usual_bytes(kind).map_or(unknown, |rows| rows + ABOUT_REGION)
    }

    /// Bytes that contributions take, ours and the others'.
    pub fn byte_size(&self) -> usize {
        const EACH: usize = 64;
        self.others.values().chain([&self.own]).map(|replica| replica.bytes + EACH * replica.regions.len()).sum()
    }
}
