//! What robots say to each other.

use e2bki::MAX_COUNT;

use super::bytes::{Read, Reader, Unreadable, Writer};

/// In front of every message, with the number of the format.
const MAGIC: [u8; 4] = *b"e2s\x02";

/// What somebody holds of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Name of the run.
    pub run: String,
    /// It has everything up to this number.
    pub through: u64,
    /// The latest number it has heard of.
    pub latest: u64,
}

/// What a region is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Primitives: four cubes wide.
    Primitives,
    /// Free space: 8 m wide.
    Space,
}

/// A region of a map: what it is of, and where it is in multiples of its width.
pub type Place = (Kind, [i32; 3]);

/// A region of a run: its place, the number of the message that last changed it, and its rows or counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionBytes {
    /// Its place.
    pub place: Place,
    /// Number of the message that it was first in, as it is now.
    pub number: u64,
    /// Its rows or counts.
    pub rows: Vec<u8>,
}

/// Frames of a run: those in its map, and those that were counted in its free space.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Frames {
    /// In its map.
    pub mapped: u64,
    /// In its free space.
    pub counted: u64,
}

/// All regions of a run whose numbers are above `after` and up to `through`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Name of the run.
    pub run: String,
    /// What its maps must have in common with ours: see [`Hello::digest`].
    pub digest: u64,
    /// Numbers above this are told.
    pub after: u64,
    /// Numbers up to this are told.
    pub through: u64,
    /// Frames of the run.
    pub frames: Frames,
    /// Number as of which frames are counted.
    pub counted: u64,
    /// The regions, in ascending order.
    pub regions: Vec<RegionBytes>,
}

/// Who is there, and what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// Who speaks: the name of its run.
    pub from: String,
    /// Whether it takes what others share.
    pub joins: bool,
    /// Whether its map is of the same kind: of its description.
    pub digest: u64,
    /// Classes and parameters of its map; empty where they were said a while ago.
    pub description: String,
    /// What it holds.
    pub known: Vec<Known>,
}

/// Asks somebody for what is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Who is asked.
    pub to: String,
    /// Of this run.
    pub run: String,
    /// Numbers above this.
    pub after: u64,
    /// Numbers up to this.
    pub through: u64,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Who is there.
    Hello(Hello),
    /// What was seen.
    Told(Told),
    /// What is missing.
    Ask(Ask),
}

impl Message {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer(MAGIC.to_vec());
        match self {
            Self::Hello(Hello { from, joins, digest, description, known }) => {
                out.0.push(0);
                out.bytes(from.as_bytes());
                out.0.push(u8::from(*joins));
                out.count(*digest);
                out.bytes(description.as_bytes());
                out.count(known.len() as u64);
                for Known { run, through, latest } in known {
                    out.bytes(run.as_bytes());
                    [*through, *latest].iter().for_each(|v| out.count(*v));
                }
            }
            Self::Told(Told { run, digest, after, through, frames, counted, regions }) => {
                out.0.push(1);
                out.bytes(run.as_bytes());
                [*digest, *after, *through, frames.mapped, frames.counted, *counted].iter().for_each(|v| out.count(*v));
                for kind in [Kind::Primitives, Kind::Space] {
                    let of_kind = || regions.iter().filter(|region| region.place.0 == kind);
                    out.count(of_kind().count() as u64);
                    let mut last = [0; 3];
                    for RegionBytes { place: (_, region), number, rows } in of_kind() {
                        (0..3).for_each(|i| out.number(i64::from(region[i]) - i64::from(last[i])));
                        last = *region;
                        out.count(number.saturating_sub(*after));
                        out.bytes(rows);
                    }
                }
            }
            Self::Ask(Ask { to, run, after, through }) => {
                out.0.push(2);
                [to, run].iter().for_each(|text| out.bytes(text.as_bytes()));
                [*after, *through].iter().for_each(|v| out.count(*v));
            }
        }
        out.0
    }

    /// Reads a message. What it says of regions is not looked at yet.
    pub fn decode(bytes: &[u8]) -> Result<Self, Unreadable> {
        let rest = bytes.strip_prefix(&MAGIC[..3]).ok_or(Unreadable("it is not of e2bki"))?;
        let mut reader = Reader(rest);
        if reader.byte()? != MAGIC[3] {
            return Err(Unreadable("it is of another version of e2bki"));
        }
        let message = match reader.byte()? {
            0 => Self::Hello(hello(&mut reader)?),
            1 => Self::Told(told(&mut reader)?),
            2 => {
                let (to, run) = (reader.text()?, reader.text()?);
                Self::Ask(Ask { to, run, after: reader.count()?, through: reader.count()? })
            }
            _ => return Err(Unreadable("it is of a kind that is not known")),
        };
        reader.finish()?;
        Ok(message)
    }
}

fn hello(reader: &mut Reader<'_>) -> Read<Hello> {
    let from = reader.text()?;
    let joins = match reader.byte()? {
        0 => false,
        1 => true,
        _ => return Err(Unreadable("neither yes nor no")),
    };
    let (digest, description) = (reader.count()?, reader.text()?);
    let count = reader.length()?;
    let mut known = Vec::new();
    for _ in 0..count {
        known.push(Known { run: reader.text()?, through: reader.count()?, latest: reader.count()? });
    }
    Ok(Hello { from, joins, digest, description, known })
}

fn told(reader: &mut Reader<'_>) -> Read<Told> {
    let run = reader.text()?;
    let (digest, after, through) = (reader.count()?, reader.count()?, reader.count()?);
    let frames = Frames { mapped: reader.count()?, counted: reader.count()? };
    let counted = reader.count()?;
    if after >= through || [through, counted, frames.mapped, frames.counted].iter().any(|n| *n > MAX_COUNT) {
        return Err(Unreadable("its numbers are in no order"));
    }
    let mut regions: Vec<RegionBytes> = Vec::new();
    for kind in [Kind::Primitives, Kind::Space] {
        let mut last = [0_i32; 3];
        for _ in 0..reader.length()? {
            for axis in &mut last {
                *axis = axis.checked_add(reader.small()?).ok_or(Unreadable("a place is outside of the world"))?;
            }
            let place = (kind, last);
            if regions.last().is_some_and(|before| before.place >= place) {
                return Err(Unreadable("its regions are in no order"));
            }
            let number = after.checked_add(reader.count()?).filter(|n| *n > after && *n <= through);
            let number = number.ok_or(Unreadable("a region has a number that is not told"))?;
            regions.push(RegionBytes { place, number, rows: reader.bytes()?.to_vec() });
        }
    }
    Ok(Told { run, digest, after, through, frames, counted, regions })
}
