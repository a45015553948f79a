//! What layers of 100 × 100 m (or another side) at 0.2 m cost: from nothing, and kept up to date with the frames of a simulated drive.
//!
//!     cargo run --release -p e2bki-layers --example layers_speed -- [FRAMES] [COLUMNS] [SEED] [SIDE_M] [free]

use std::time::Instant;

use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
use e2bki_layers::{ClassCosts, Effort, Grid, LAYERS, Layers, Robot, Settings, UnknownClasses};
use e2bki_sim::{Drive, DriveOptions, ErrorModel, Sensor, WorldKind};

/// Of the bounded effort.
const NEAR_M: f64 = 10.0;
const ELSEWHERE: usize = 4000;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// User and system time of this process so far, ms; not a number where the system does not tell.
fn cpu_ms() -> f64 {
    let told = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = told.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    // A tick is 10 ms.
    ticks.map(|ticks| ticks.parse::<f64>().unwrap_or(f64::NAN) * 10.0).sum()
}

/// Wall time of each, and CPU time of all.
#[derive(Default)]
struct Times {
    each: Vec<f64>,
    cpu: f64,
}

impl Times {
    fn of<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (start, cpu) = (Instant::now(), cpu_ms());
        let result = work();
        self.each.push(1e3 * start.elapsed().as_secs_f64());
        self.cpu += cpu_ms() - cpu;
        result
    }

    fn say(&mut self, what: &str) {
        self.each.sort_by(f64::total_cmp);
        let (n, at) = (self.each.len(), |share: f64| self.each[(share * (self.each.len() - 1) as f64) as usize]);
        println!(
            "{what}: median {:.2} ms, 95 % within {:.2} ms, CPU {:.2} ms each",
            at(0.5),
            at(0.95),
            self.cpu / n as f64
        );
    }
}

fn bits(layers: &Layers) -> Vec<u32> {
    let cells = layers.cells().iter().flat_map(|cell| LAYERS.iter().map(|(_, _, _, value)| value(cell).to_bits()));
    let rows = (0..layers.grid().len()).flat_map(|cell| layers.probability(cell).iter().map(|p| p.to_bits()));
    cells.chain(rows).collect()
}

fn main() -> Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| given.get(at).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (frames, columns, seed, side) = (number(0, 40), number(1, 1024), number(2, 101), number(3, 100));
    let mut options = DriveOptions::new(WorldKind::Offroad, seed as u64, Sensor::Os1_64);
    options.columns = Some(columns);
    let drive = Drive::new(options)?;
    let errors = ErrorModel::for_drive(&drive, 0.3)?;
    let classes = ClassSet::new(drive.classes().iter().map(|class| (class.name, class.color)))?;
    let classes = e2bki_layers::with_known_costs(classes)?;
    let robot = Robot::default();
    let settings = Settings::new(robot.clone(), ClassCosts::of(&classes, &robot, UnknownClasses::Refuse)?);
    let free = given.iter().any(|word| word == "free");
    let config = Config::default().with(|c| c.free_space.enabled = free);
    let mut map = Mapper::new(classes, config)?;
    let middle = drive.world_from_sensor(frames / 2).to_matrix();
    let half = 0.5 * side as f64;
    let corner = |sign: f64| [middle[0][3] + half * sign, middle[1][3] + half * sign];
    let grid = Grid::covering(corner(-1.0), corner(1.0), 0.2)?;
    let mut layers = Layers::of(&map, grid, settings.clone())?;
    let mut bounded = layers.clone();
    let [mut insert, mut settle, mut follow, mut some, mut anew] = std::array::from_fn(|_| Times::default());
    let (mut cells, mut asked, mut points, mut some_asked, mut waiting, mut oldest) = (0, 0, 0, 0, 0, 0);
    for index in 0..frames {
        let frame = drive.frame(index);
        let evidence = errors.evidence(&frame);
        let pose = Pose::from_matrix(frame.world_from_sensor)?;
        let input = Frame {
            points: &frame.points,
            semantics: Semantics::Evidence(&evidence),
            world_from_sensor: pose,
            scan: None,
        };
        points += frame.points.len();
        insert.of(|| map.insert(&input))?;
        // Kernels and flags are derived when somebody looks: that is the map's work, not the layers'.
        settle.of(|| map.change_number());
        let done = follow.of(|| layers.refresh(&map))?;
        (cells, asked) = (cells + done.cells, asked + done.asked);
        let at = frame.world_from_sensor;
        let effort = Effort { near: Some(([at[0][3], at[1][3]], NEAR_M)), surfaces: ELSEWHERE, elsewhere: ELSEWHERE };
        let done = some.of(|| bounded.refresh_some(&map, &effort))?;
        (some_asked, waiting, oldest) = (some_asked + done.asked, waiting + done.waiting, oldest.max(done.oldest));
    }
    bounded.refresh(&map)?;
    if bits(&bounded) != bits(&layers) {
        return Err("layers that were refreshed in part are not complete after all".into());
    }
    for _ in 0..5 {
        let whole = anew.of(|| Layers::of(&map, grid, settings.clone()))?;
        if bits(&whole) != bits(&layers) {
            return Err("layers that followed the map differ from those from nothing".into());
        }
    }
    println!(
        "{frames} frames of {} points, {} primitives, {} cells, of which {} anew with a frame, {} of them asked; free space: {free}",
        points / frames,
        map.len(),
        grid.len(),
        cells / frames,
        asked / frames
    );
    insert.say("inserting a frame");
    settle.say("putting the map in order");
    follow.say("layers up to date");
    println!(
        "with a bounded effort, {NEAR_M} m around the sensor and {ELSEWHERE} cells elsewhere: {} asked, {} wait, the longest for {oldest} frames",
        some_asked / frames,
        waiting / frames
    );
    some.say("layers as far as that goes");
    anew.say("layers from nothing");
    Ok(())
}
