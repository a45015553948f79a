//! What an update of a live node costs, by its parts: five scans of 125,000 points to an update, a drive that comes back.
//!
//!     cargo run --release -p e2bki-live --example update_cost -- [FRAMES] [TURNS]

use std::time::Instant;

use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
use e2bki_live::{Picture, messages};
use e2bki_sim::{Drive, DriveOptions, Sensor, WorldKind};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Side of the grid from above, and how far kernels reach beyond it, metres.
const WINDOW_M: f64 = 60.0;
const REACH_M: i32 = 4;
const SCANS_TO_AN_UPDATE: usize = 5;

/// User and system time of this process so far, ms; not a number where the system does not tell.
fn cpu_ms() -> f64 {
    let told = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = told.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    // A tick is 10 ms.
    ticks.map(|ticks| ticks.parse::<f64>().unwrap_or(f64::NAN) * 10.0).sum()
}

/// Wall time and CPU time of all turns, ms.
#[derive(Default)]
struct Cost {
    turns: usize,
    wall: f64,
    cpu: f64,
}

impl Cost {
    fn of<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (start, cpu) = (Instant::now(), cpu_ms());
        let result = work();
        self.turns += 1;
        self.wall += 1e3 * start.elapsed().as_secs_f64();
        self.cpu += cpu_ms() - cpu;
        result
    }

    fn say(&self, what: &str) {
        let turns = self.turns as f64;
        println!("{what:<28} {:7.1} ms, CPU {:7.1} ms, {} times", self.wall / turns, self.cpu / turns, self.turns);
    }
}

fn main() -> Result<()> {
    let given: Vec<usize> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let (frames, turns) = (given.first().copied().unwrap_or(100), given.get(1).copied().unwrap_or(2));
    let drive = Drive::new(DriveOptions::new(WorldKind::Urban, 7, Sensor::Hdl64e))?;
    let classes = ClassSet::new(drive.classes().iter().map(|class| (class.name, class.color)))?;
    let mut map = Mapper::new(classes, Config::default())?;
    let mut picture = Picture::new([0.0; 3], 0.02);
    let [mut insert, mut derive, mut blocks, mut differ, mut say, mut flat, mut cells] =
        std::array::from_fn(|_| Cost::default());
    let (mut number, mut told, mut looked) = (0, 0, 0);
    let scans: Vec<_> = (0..frames).map(|index| drive.frame(index)).collect();
    for index in 0..frames * turns {
        let scan = &scans[index % frames];
        let pose = Pose::from_matrix(scan.world_from_sensor)?;
        let labels = scan.labels.iter().map(|label| u32::from(*label)).collect::<Vec<u32>>();
        let frame =
            Frame { points: &scan.points, semantics: Semantics::Labels(&labels), world_from_sensor: pose, scan: None };
        insert.of(|| map.insert(&frame))?;
        if (index + 1) % SCANS_TO_AN_UPDATE != 0 {
            continue;
        }
        let changes = map.changes_since(number);
        number = changes.number;
        map.forget_changes(number);
        derive.of(|| map.live_voxel_count());
        let changed = blocks.of(|| map.live_blocks(&changes));
        looked += changed.iter().map(|block| block.voxels.len()).sum::<usize>();
        let points = differ.of(|| picture.update(&changed, map.classes(), false));
        told += points.len();
        say.of(|| messages(0, "map", &points));
        let [x, y, _] = pose.translation();
        let low = [x, y].map(|v| (v - 0.5 * WINDOW_M) as i32 - REACH_M);
        let high = [x, y].map(|v| (v + 0.5 * WINDOW_M) as i32 + REACH_M);
        let seen = flat.of(|| map.birds_eye_within(low, high))?;
        cells.of(|| seen.cells(0.2))?;
    }
    insert.say("a scan into the map");
    derive.say("voxels that changed");
    blocks.say("blocks that changed");
    differ.say("what differs");
    say.say("messages");
    flat.say("the map from above");
    cells.say("its cells");
    println!("{} voxels looked at, {} bytes told an update", looked / derive.turns, told / derive.turns);
    Ok(())
}
