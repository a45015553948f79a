//! Fuzz targets: any bytes are refused or read, without a panic and in memory that the size of the input bounds.
//!
//! `scripts/fuzz.sh` runs them with libFuzzer; `tests/corpus.rs` runs what is kept in `corpus/` as ordinary tests.

mod bags;
mod folders;
mod maps;
mod parsers;
mod recordings;
mod reseal;
mod seeds;
mod share;
mod texts;

use peak_alloc::PeakAlloc;

pub use seeds::seeds;

/// Bytes that any input may cost, whatever its size: tables, buffers, messages.
const ALLOWANCE: usize = 4 << 20;

/// Something to be given any bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, and that of its folder in `corpus/`.
    pub name: &'static str,
    /// Reads the bytes; panics if what was read is not consistent.
    pub run: fn(&[u8]),
    /// Bytes of memory that a byte of input may ask for at most.
    pub multiple: usize,
}

/// All targets.
pub const TARGETS: [Target; 28] = [
    Target { name: "points", run: parsers::points, multiple: 8 },
    Target { name: "labels", run: parsers::labels, multiple: 8 },
    Target { name: "npy", run: parsers::npy, multiple: 64 },
    Target { name: "ply", run: parsers::ply, multiple: 200 },
    // A compressed byte becomes at most 88, three of which become a point of 24.
    Target { name: "pcd", run: parsers::pcd, multiple: 1600 },
    Target { name: "las", run: parsers::las, multiple: 16 },
    Target { name: "grid", run: parsers::grid, multiple: 64 },
    // Deflate makes at most 1032 bytes of one, and a bit of a black and white picture becomes three bytes of colour.
    Target { name: "picture", run: parsers::picture, multiple: 60_000 },
    Target { name: "poses", run: texts::poses, multiple: 200 },
    Target { name: "calibration", run: texts::calibration, multiple: 200 },
    Target { name: "classes", run: texts::classes, multiple: 2000 },
    Target { name: "config", run: texts::config, multiple: 2000 },
    Target { name: "description", run: texts::description, multiple: 2000 },
    Target { name: "safetensors", run: parsers::safetensors, multiple: 200 },
    Target { name: "npz", run: maps::npz, multiple: 2000 },
    Target { name: "map_file", run: maps::file, multiple: 2000 },
    Target { name: "map_resealed", run: maps::resealed, multiple: 20_000 },
    // A byte may be a row (not less: parts are filled up), which is a state of some hundred bytes, and some thirty pieces of
    // twice that where it is moved.
    Target { name: "submap", run: maps::submap, multiple: 20_000 },
    Target { name: "cdr", run: bags::cdr, multiple: 200 },
    Target { name: "cloud", run: bags::cloud, multiple: 200 },
    Target { name: "transforms", run: bags::transforms, multiple: 200 },
    // Chunks are compressed: Bzip2 makes more than a million zeros of a byte. What a chunk may become is bounded in any case.
    Target { name: "bag", run: recordings::any, multiple: 3_000_000 },
    Target { name: "mcap", run: recordings::mcap, multiple: 3_000_000 },
    Target { name: "ros1", run: recordings::ros1, multiple: 3_000_000 },
    // What SQLite itself takes is not counted. Refused as a whole unless the feature `db3` is on.
    Target { name: "db3", run: recordings::db3, multiple: 3_000_000 },
    // A row of fifteen bytes becomes a state, a sum and a primitive of some hundred bytes each.
    Target { name: "share", run: share::message, multiple: 2000 },
    // A byte is a step, and what a step saves is read again.
    Target { name: "map_folder", run: folders::operations, multiple: 1 << 20 },
    Target { name: "requests", run: e2bki_view::parse_untrusted, multiple: 200 },
];

/// The target that the program was compiled for alone, where `FUZZ_ONLY` named one: nothing else is linked then, so that libFuzzer
/// has a few thousand counters to look through after every run instead of 230,000.
pub const ONLY: Option<Target> = match option_env!("FUZZ_ONLY") {
    Some(name) => Some(known(name)),
    None => None,
};

/// The target of that name, found while compiling.
const fn known(name: &str) -> Target {
    let mut at = 0;
    while at < TARGETS.len() {
        if same(TARGETS[at].name.as_bytes(), name.as_bytes()) {
            return TARGETS[at];
        }
        at += 1;
    }
    panic!("FUZZ_ONLY names no target")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// The target of that name.
pub fn named(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

impl Target {
    /// Runs the target; panics if it asked for more memory than the input may cost. Returns the bytes it asked for.
    pub fn check(&self, data: &[u8], memory: &PeakAlloc) -> usize {
        let before = memory.current_usage();
        memory.reset_peak_usage();
        (self.run)(data);
        let asked = memory.peak_usage().saturating_sub(before);
        let allowed = ALLOWANCE + self.multiple * data.len();
        assert!(
            asked <= allowed,
            "{}: {} bytes of input asked for {asked} bytes of memory; {allowed} are allowed",
            self.name,
            data.len()
        );
        asked
    }
}
