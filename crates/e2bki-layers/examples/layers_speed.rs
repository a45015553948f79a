//! What layers of 100 × 100 m (or another side) at 0.2 m cost: from nothing, and kept up to date with the frames of a simulated drive.
//!
//!     cargo run --release -p e2bki-layers --example layers_speed -- [FRAMES] [COLUMNS] [SEED] [SIDE_M] [free]

use std::time::Instant;

use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
use e2bki_layers::{Area, ClassCosts, Grid, LAYERS, Layers, Robot, Settings, UnknownClasses};
use e2bki_sim::{Drive, DriveOptions, ErrorModel, Sensor, WorldKind};

/// What is read with every frame, metres around the sensor.
const NEAR_M: f64 = 10.0;
/// What is read besides, after so many frames: a square of this side beside it.
const EVERY: usize = 5;
const WINDOW_M: f64 = 20.0;

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

/// Whether two are the same, bit for bit, where that is asked.
fn same(a: &Layers, b: &Layers, wanted: impl Fn(usize) -> bool) -> bool {
    let bits = |layers: &Layers, cell: usize| {
        let values = LAYERS.map(|(_, _, _, value)| value(&layers.cells()[cell]).to_bits());
        (values, layers.probability(cell).iter().map(|p| p.to_bits()).collect::<Vec<u32>>())
    };
    (0..a.grid().len()).filter(|cell| wanted(*cell)).all(|cell| bits(a, cell) == bits(b, cell))
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
    let mut lazy = layers.clone();
    let [mut insert, mut settle, mut follow, mut near, mut window, mut rest, mut anew] =
        std::array::from_fn(|_| Times::default());
    let (mut cells, mut asked, mut points, mut near_asked, mut waiting, mut most_read) = (0, 0, 0, 0, 0, 0);
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
        let place = [at[0][3], at[1][3]];
        let done = near.of(|| lazy.refresh_within(&map, &Area::Around(place, NEAR_M)))?;
        (near_asked, waiting) = (near_asked + done.asked, waiting + done.waiting);
        let away = |cell: usize| (grid.center(cell)[0] - place[0]).hypot(grid.center(cell)[1] - place[1]);
        if !same(&lazy, &layers, |cell| away(cell) <= NEAR_M || !lazy.is_waiting(cell)) {
            return Err("what is near, or does not wait, is not up to date".into());
        }
        if index % EVERY == EVERY - 1 {
            let (low, high) = ([place[0] + 15.0, place[1]], [place[0] + 15.0 + WINDOW_M, place[1] + WINDOW_M]);
            let done = window.of(|| lazy.refresh_within(&map, &Area::Between(low, high)))?;
            most_read = most_read.max(done.asked);
            let inside = |cell: usize| (0..2).all(|i| (low[i]..=high[i]).contains(&grid.center(cell)[i]));
            if !same(&lazy, &layers, inside) {
                return Err("what was read is not up to date".into());
            }
        }
    }
    let late = rest.of(|| lazy.refresh(&map))?.asked;
    if !same(&lazy, &layers, |_| true) {
        return Err("layers of which only parts were read are not complete after all".into());
    }
    for _ in 0..5 {
        let whole = anew.of(|| Layers::of(&map, grid, settings.clone()))?;
        if !same(&whole, &layers, |_| true) {
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
    follow.say("layers up to date everywhere");
    println!(
        "within {NEAR_M} m of the sensor: {} asked, {} cells wait elsewhere",
        near_asked / frames,
        waiting / frames
    );
    near.say("layers up to date there, the rest noted");
    println!("a square of {WINDOW_M} m besides, every {EVERY} frames: at most {most_read} asked");
    window.say("layers of that");
    println!("all that waited, at the end: {late} asked");
    rest.say("layers of that");
    anew.say("layers from nothing");
    Ok(())
}
