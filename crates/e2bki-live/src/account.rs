//! How a node is doing: what came, what was mapped, what was left out and why, how long it took.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use e2bki_bag::compose::{Level, Status};

/// The last durations of a kind.
#[derive(Debug, Clone, Default)]
pub struct Latencies(VecDeque<Duration>);

/// How many are kept.
const KEPT: usize = 1000;

impl Latencies {
    /// Adds one.
    pub fn add(&mut self, took: Duration) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(took);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The duration that a share of them does not exceed, milliseconds; nothing where there are none.
    pub fn quantile_ms(&self, share: f64) -> Option<f64> {
        let mut sorted: Vec<Duration> = self.0.iter().copied().collect();
        sorted.sort_unstable();
        let at = (share.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
        sorted.get(at.max(1) - 1).map(|took| took.as_secs_f64() * 1e3)
    }

    /// Median, 95 of 100 and largest, in words.
    fn words(&self) -> String {
        match [0.5, 0.95, 1.0].map(|share| self.quantile_ms(share)) {
            [Some(a), Some(b), Some(c)] => format!("{a:.1} / {b:.1} / {c:.1}"),
            _ => "none yet".into(),
        }
    }
}

/// Why a scan was not mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Left {
    /// Where the sensor was is not known.
    NoPose,
    /// Its points have no labels.
    NoLabels,
    /// No picture of its time, or nothing that says where it was taken.
    NoImage,
    /// The map refused it.
    Refused,
}

/// The account of a node.
#[derive(Debug)]
pub struct Account {
    /// Scans that came, and those that the queue dropped.
    pub received: u64,
    /// See [`Self::received`].
    pub dropped: u64,
    /// Scans in the map.
    pub mapped: u64,
    /// Scans whose transforms did not come in time: they were placed by the nearest ones, or left out.
    pub late: u64,
    /// Scans that were left out, and why the last of each was.
    pub left: BTreeMap<Left, (u64, String)>,
    /// Messages that cannot be read.
    pub broken: u64,
    /// How often a clock jumped back.
    pub jumps: u64,
    /// Points in the map, and left out.
    pub points: [u64; 2],
    /// Updates that were sent, their messages and bytes, and those that were put off because the network was busy.
    pub updates: u64,
    /// See [`Self::updates`].
    pub messages: u64,
    /// See [`Self::updates`].
    pub bytes: u64,
    /// See [`Self::updates`].
    pub postponed: u64,
    /// Saves that failed.
    pub failed_saves: u64,
    /// Questions about points in frames whose place is not known.
    pub unanswered: u64,
    /// How long scans took to map.
    pub mapping: Latencies,
    /// How long it took from a scan's arrival until the update with it was handed to the network.
    pub to_update: Latencies,
    /// How long updates took to make.
    pub updating: Latencies,
    /// How long layers for planners took.
    pub layers: Latencies,
    /// How long the network looked at a picture.
    pub looking: Latencies,
    /// Why there are no layers for planners.
    pub no_layers: Option<String>,
    last: Snapshot,
}

/// Counts at the last report.
#[derive(Debug, Clone, Copy)]
struct Snapshot {
    at: Instant,
    received: u64,
    mapped: u64,
    lost: u64,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            received: 0,
            dropped: 0,
            mapped: 0,
            late: 0,
            left: BTreeMap::new(),
            broken: 0,
            jumps: 0,
            points: [0; 2],
            updates: 0,
            messages: 0,
            bytes: 0,
            postponed: 0,
            failed_saves: 0,
            unanswered: 0,
            mapping: Latencies::default(),
            to_update: Latencies::default(),
            updating: Latencies::default(),
            layers: Latencies::default(),
            looking: Latencies::default(),
            no_layers: None,
            last: Snapshot { at: Instant::now(), received: 0, mapped: 0, lost: 0 },
        }
    }
}

impl Account {
    /// A scan was left out.
    pub fn leave(&mut self, why: Left, reason: String) {
        let entry = self.left.entry(why).or_default();
        *entry = (entry.0 + 1, reason);
    }

    fn left_by(&self, why: Left) -> u64 {
        self.left.get(&why).map_or(0, |(count, _)| *count)
    }

    /// Scans that are not in the map and will not be.
    pub fn lost(&self) -> u64 {
        self.dropped + self.left.values().map(|(count, _)| count).sum::<u64>()
    }

    /// The account in one line.
    pub fn line(&self) -> String {
        let mut line = format!("{} scans mapped of {}", self.mapped, self.received);
        for (count, what) in [
            (self.dropped, "dropped as the queue was full"),
            (self.left_by(Left::NoPose), "without a pose"),
            (self.left_by(Left::NoLabels), "without labels"),
            (self.left_by(Left::NoImage), "without a picture"),
            (self.left_by(Left::Refused), "refused"),
            (self.late, "with late transforms"),
        ] {
            if count > 0 {
                line += &format!(", {count} {what}");
            }
        }
        line
    }

    /// The account as it is told to diagnostics; rates are those since the last time.
    pub fn status(&mut self, name: &str, waiting: usize, primitives: usize, voxels: usize) -> Status {
        let now = Instant::now();
        let seconds = (now - self.last.at).as_secs_f64().max(1e-3);
        let rate = |count: u64, before: u64| format!("{:.1}", (count - before) as f64 / seconds);
        let rates = [rate(self.received, self.last.received), rate(self.mapped, self.last.mapped)];
        let (came, lost) = (self.received - self.last.received, self.lost() - self.last.lost);
        self.last = Snapshot { at: now, received: self.received, mapped: self.mapped, lost: self.lost() };
        let reason = self.left.values().map(|(_, reason)| reason.as_str()).next_back();
        let (level, message) = match (self.received, came, lost) {
            (0, ..) => (Level::Warn, "no scan has come yet".to_string()),
            (_, 0, _) => (Level::Warn, "no scans come".to_string()),
            (_, _, 0) => (Level::Ok, format!("{} scans per second in the map", rates[1])),
            (_, came, lost) if lost >= came => {
                (Level::Error, format!("no scan goes into the map: {}", reason.unwrap_or("the queue is full")))
            }
            (_, _, lost) => (Level::Warn, format!("scans left out: {lost}")),
        };
        let [scans_in, scans_mapped] = rates;
        let values = [
            ("scans per second", scans_in),
            ("scans per second mapped", scans_mapped),
            ("scans", self.received.to_string()),
            ("scans mapped", self.mapped.to_string()),
            ("scans waiting", waiting.to_string()),
            ("dropped: queue full", self.dropped.to_string()),
            ("dropped: no pose", self.left_by(Left::NoPose).to_string()),
            ("dropped: no labels", self.left_by(Left::NoLabels).to_string()),
            ("dropped: no picture", self.left_by(Left::NoImage).to_string()),
            ("dropped: refused", self.left_by(Left::Refused).to_string()),
            ("late transforms", self.late.to_string()),
            ("messages that cannot be read", self.broken.to_string()),
            ("clock jumps", self.jumps.to_string()),
            ("points mapped", self.points[0].to_string()),
            ("points left out", self.points[1].to_string()),
            ("primitives", primitives.to_string()),
            ("voxels", voxels.to_string()),
            ("updates", self.updates.to_string()),
            ("update messages", self.messages.to_string()),
            ("update bytes", self.bytes.to_string()),
            ("updates put off", self.postponed.to_string()),
            ("saves that failed", self.failed_saves.to_string()),
            ("questions without an answer", self.unanswered.to_string()),
            ("ms to map (50 %, 95 %, most)", self.mapping.words()),
            ("ms to make an update (50 %, 95 %, most)", self.updating.words()),
            ("ms to make layers (50 %, 95 %, most)", self.layers.words()),
            ("ms to look at a picture (50 %, 95 %, most)", self.looking.words()),
            ("ms from scan to update (50 %, 95 %, most)", self.to_update.words()),
        ];
        let values = values.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
        Status { name: name.into(), level, message, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_a_sorted_list() {
        let mut latencies = Latencies::default();
        assert_eq!((latencies.quantile_ms(0.5), latencies.words()), (None, "none yet".into()));
        for ms in (1..=100).rev() {
            latencies.add(Duration::from_millis(ms));
        }
        assert_eq!(
            [0.0, 0.01, 0.5, 0.95, 1.0].map(|q| latencies.quantile_ms(q).unwrap()),
            [1.0, 1.0, 50.0, 95.0, 100.0]
        );
        for _ in 0..2 * KEPT {
            latencies.add(Duration::from_millis(7));
        }
        assert_eq!((latencies.words().as_str(), latencies.0.len()), ("7.0 / 7.0 / 7.0", KEPT));
    }

    #[test]
    fn the_level_says_whether_somebody_should_look() {
        let mut account = Account::default();
        let mut look = |change: &dyn Fn(&mut Account)| {
            change(&mut account);
            account.last.at = Instant::now() - Duration::from_secs(2);
            account.status("e2bki", 3, 5, 7)
        };
        assert_eq!(look(&|_| ()).message, "no scan has come yet");
        let fine = look(&|a| (a.received, a.mapped) = (20, 20));
        let value = |status: &Status, key: &str| {
            status.values.iter().find(|(k, _)| k == key).map(|(_, value)| value.clone()).unwrap()
        };
        assert_eq!((fine.level, value(&fine, "scans per second")), (Level::Ok, "10.0".into()));
        assert_eq!((value(&fine, "scans waiting"), value(&fine, "primitives")), ("3".into(), "5".into()));
        assert_eq!(look(&|_| ()).level, Level::Warn);
        let some = look(&|a| (a.received, a.mapped, a.dropped) = (40, 39, 1));
        assert_eq!((some.level, some.message.as_str()), (Level::Warn, "scans left out: 1"));
        let none = look(&|a| {
            a.received = 41;
            a.leave(Left::NoPose, "no transform names `lidar`".into());
        });
        assert_eq!((none.level, value(&none, "dropped: no pose")), (Level::Error, "1".into()));
        assert!(none.message.contains("`lidar`"), "{}", none.message);
        assert_eq!(account.line(), "39 scans mapped of 41, 1 dropped as the queue was full, 1 without a pose");
    }
}
