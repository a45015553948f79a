//! `e2bki view`: maps in the browser.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use e2bki::{ClassSet, Mapper};
use e2bki_data::parse::{PoseRows, pose_rows};
use e2bki_data::{Dataset, GroundTruth, OpenOptions, SemanticsSource, read_ahead};
use e2bki_view::{RawPoints, Scene, Scenes, ServeOptions, Server};

use crate::rerun::Recording;
use crate::{maps, table};

/// Address of the page.
#[derive(Args, Clone)]
pub(crate) struct ServeArguments {
    /// Port of the page; the next free one if it is taken
    #[arg(long, default_value_t = 7878, value_name = "PORT")]
    port: u16,
    /// Address to serve at; any but loopback needs the token in the printed address
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDRESS")]
    host: IpAddr,
    /// Scenes the map in Rerun instead: a recording to write (.rrd), or the address of a running Rerun viewer
    #[arg(long, value_name = "FILE.rrd|ADDRESS")]
    pub(crate) rerun: Option<String>,
}

impl ServeArguments {
    /// Address to serve at.
    #[cfg(feature = "ros2")]
    pub(crate) fn host(&self) -> IpAddr {
        self.host
    }

    /// Starts the server and says where it is.
    pub(crate) fn serve(&self, show: Arc<Scenes>) -> Result<Server> {
        let server = Server::start(&ServeOptions { host: self.host, port: self.port }, show)?;
        if self.port != 0 && server.address().port() != self.port {
            table::say(&format!("note: port {} is taken; using {}", self.port, server.address().port()));
        }
        table::line(&format!("open {}", server.url()))?;
        Ok(server)
    }
}

/// View a map, or two side by side, in the browser
#[derive(Args)]
#[command(after_help = "Examples:\n  e2bki view demo-out\n  e2bki view before.e2bki after.e2bki\n  \
    e2bki view street.e2bki --points drive --semantics labels:predictions\n  \
    e2bki view street.e2bki --trajectory poses.txt --port 8000\n  e2bki view street.e2bki --way way.csv --robot husky.toml\n  e2bki view street.e2bki --host 0.0.0.0\n  e2bki view street.e2bki --rerun street.rrd\n\n\
    The page is part of the program and needs no network. It shows ellipsoids, voxels or points by class, uncertainty,\n\
    variance or age, and what driving costs a robot; a click shows the full belief of that place. `e2bki map … --view` shows a map while it is built,\n\
    `e2bki map … --view --beside s-bki` beside the map of another method.")]
pub(crate) struct Options {
    /// Map file, map folder, a folder that holds one map file, or the store of a fleet (feature `fleet`), of which only what
    /// is looked at is read; two are shown side by side
    #[arg(required = true, num_args = 1..=2, value_name = "MAP")]
    maps: Vec<PathBuf>,
    /// Dataset whose raw points and sensor trajectory are shown too
    #[arg(long, value_name = "DIR")]
    points: Option<PathBuf>,
    /// Source of the semantics of these points, as in `e2bki map`
    #[arg(long, default_value = "ground-truth", value_name = "SOURCE", requires = "points")]
    semantics: String,
    /// Sensor trajectory: poses in KITTI or TUM format, or with frame numbers
    #[arg(long, value_name = "FILE")]
    trajectory: Option<PathBuf>,
    /// Voxel size shown, metres [default: the map's]
    #[arg(long, value_name = "M")]
    resolution: Option<f64>,
    /// Robot whose costs are shown, TOML; `e2bki config --robot` prints one to change
    #[arg(long, value_name = "FILE")]
    robot: Option<PathBuf>,
    /// Way to draw in the colour of its risk: what `e2bki plan -o way.csv` wrote
    #[arg(long, value_name = "FILE.csv")]
    way: Option<PathBuf>,
    #[command(flatten)]
    serve: ServeArguments,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(side) = options.resolution.filter(|side| !(0.005..=10.0).contains(side)) {
        bail!("--resolution is {side}; allowed: 0.005 to 10 m");
    }
    let robot = options.robot.as_deref().map(e2bki_layers::Robot::read).transpose()?;
    let way = options.way.as_deref().map(planned).transpose()?.unwrap_or_default();
    let (points, mut trajectory) = match &options.points {
        Some(folder) => scanned(folder, &options.semantics)?,
        None => Default::default(),
    };
    if let Some(path) = &options.trajectory {
        trajectory = places(path)?;
    }
    let mut scenes = Vec::new();
    for path in &options.maps {
        let (scene, classes) = scene(path, &trajectory, options)?;
        let scene = match &robot {
            Some(robot) => scene.with_robot(robot)?,
            None => scene,
        };
        scenes.push((scene.with_points(points.clone()).with_way(&way), classes));
    }
    if let Some(target) = &options.serve.rerun {
        let [(scene, classes)] = &scenes[..] else { bail!("--rerun shows one map; {} were given", scenes.len()) };
        let recording = Recording::open(target, &options.maps[0].display().to_string(), classes)?;
        scene.send_to(&mut *recording.follower())?;
        return recording.finish();
    }
    let server = options.serve.serve(Scenes::of_maps(scenes.into_iter().map(|(scene, _)| scene).collect()))?;
    table::line("Ctrl-C ends it")?;
    server.wait();
    Ok(())
}

/// A map as it is shown: as a whole, or the store of a fleet by what is looked at.
fn scene(path: &Path, trajectory: &[[f64; 3]], options: &Options) -> Result<(Scene, ClassSet)> {
    #[cfg(feature = "fleet")]
    if options.serve.rerun.is_none()
        && let Some((scene, classes)) = crate::fleet::scene(path)?
    {
        return Ok((scene.with_view(trajectory.to_vec(), options.resolution), classes));
    }
    let (path, map) = load(path)?;
    table::line(&format!("{}: {} primitives, {} classes", path.display(), map.len(), map.classes().len()))?;
    let classes = map.classes().clone();
    Ok((Scene::of_map(path.display().to_string(), map, trajectory.to_vec(), options.resolution), classes))
}

/// A map, and where it is.
fn load(path: &Path) -> Result<(PathBuf, Mapper)> {
    #[cfg(feature = "fleet")]
    if let Some(map) = crate::fleet::load(path)? {
        return Ok((path.into(), map));
    }
    let path = find(path)?;
    let map = maps::load(&path, None)?;
    Ok((path, map))
}

/// A map: the file or folder itself, or the only map file of a folder.
fn find(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() || e2bki_store::is_folder(path) {
        return Ok(path.into());
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|file| file.extension().is_some_and(|e| e.eq_ignore_ascii_case("e2bki")))
        .collect();
    found.sort();
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => bail!("{} holds no map (.e2bki); `e2bki map … -o map.e2bki` makes one", path.display()),
        _ => bail!("{} holds {} maps; name one or two of them, as {}", path.display(), found.len(), found[0].display()),
    }
}

/// Points of a dataset, and the places they were seen from.
fn scanned(folder: &Path, semantics: &str) -> Result<(RawPoints, Vec<[f64; 3]>)> {
    let semantics: SemanticsSource = semantics.parse()?;
    let options = OpenOptions { semantics, ground_truth: GroundTruth::Off, ..OpenOptions::default() };
    let dataset = Arc::new(Dataset::open(folder, &options)?);
    let chosen = dataset.select(None, 1);
    let bar = table::progress(chosen.len(), "reading points");
    let (mut points, mut way) = (RawPoints::default(), Vec::new());
    for frame in read_ahead(dataset, chosen, 3) {
        let frame = frame?;
        points.add(&frame.frame());
        way.push(frame.frame().world_from_sensor.translation());
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok((points, way))
}

/// The steps of a planned way.
fn planned(path: &Path) -> Result<Vec<e2bki_layers::Step>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    e2bki_layers::Way::steps_of_csv(&text).with_context(|| format!("cannot read {}", path.display()))
}

/// The places of a pose file.
fn places(path: &Path) -> Result<Vec<[f64; 3]>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let rows = pose_rows(&text).map_err(|flaw| anyhow::anyhow!("{}: {flaw}", path.display()))?;
    Ok(match rows {
        PoseRows::ByLine(poses) => poses.iter().map(e2bki::Pose::translation).collect(),
        PoseRows::ByFrame(poses) => poses.values().map(e2bki::Pose::translation).collect(),
        PoseRows::ByTime(poses) => poses.iter().map(|(_, pose)| pose.translation()).collect(),
    })
}
