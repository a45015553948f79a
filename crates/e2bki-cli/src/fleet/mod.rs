//! `e2bki fleet`: maps of many robots in one store.

mod city;
mod mapping;
mod print;

pub(crate) use city::scene;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use e2bki_fleet::{Fleet, Removal};
use e2bki_store::MapFile;

use crate::table;

/// Map a fleet: runs of many robots in one store, reduced to one map
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    e2bki fleet init city --like monday.e2bki          # classes and parameters of a map\n  \
    e2bki fleet map city --run robot-7-monday -- drives/7/monday --semantics labels:predictions\n  \
    e2bki fleet add city --run robot-8-monday monday-8.e2bki\n  \
    e2bki fleet commit city                            # reduces what is missing, then makes it the map\n  \
    e2bki fleet reduce city --part 3/16                # one of 16 tasks of a cluster; commit afterwards\n  \
    e2bki fleet remove city --run robot-8-monday --reason 'bad calibration'\n  \
    e2bki fleet levels city                            # coarser levels of detail, for `e2bki view city`\n  \
    e2bki fleet export city -o city.e2bki\n  \
    e2bki fleet export city --copc city-points         # for QGIS, CloudCompare and viewers of point clouds\n  \
    e2bki fleet export city --pmtiles city.pmtiles --origin 48.137,11.575   # from above, for maps in the browser\n\n\
    STORE is a folder, or with the feature `fleet-cloud` s3://BUCKET/PREFIX, gs://… or az://…; keys are taken from the\n\
    environment. Every command may be run twice, on any machine, at the same time: nothing counts twice.")]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a store a fleet's
    Init {
        /// Folder or address of the store
        store: String,
        /// Map whose classes and parameters all runs must have
        #[arg(long, value_name = "MAP.e2bki")]
        like: PathBuf,
    },
    /// Map a drive and add it as a run; does nothing if the same drive was added before
    Map {
        /// Folder or address of the store
        store: String,
        /// Name of the run
        #[arg(long, value_name = "NAME")]
        run: String,
        /// Arguments of `e2bki map`: the dataset, and how to read it
        #[arg(last = true, required = true)]
        map: Vec<String>,
    },
    /// Add a map file as a run
    Add {
        /// Folder or address of the store
        store: String,
        /// Name of the run
        #[arg(long, value_name = "NAME")]
        run: String,
        /// Map file of the run
        map: PathBuf,
    },
    /// List the tiles that the next commit needs
    Plan {
        /// Folder or address of the store
        store: String,
        /// Write them as JSON (- for standard output)
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
    /// Make tiles that the next commit needs
    Reduce {
        /// Folder or address of the store
        store: String,
        /// Only a part of them, as in 3/16: the third of sixteen
        #[arg(long, value_name = "I/N", value_parser = part)]
        part: Option<(usize, usize)>,
    },
    /// Make the runs in the store the map
    Commit {
        /// Folder or address of the store
        store: String,
        /// Take in a run again that was removed (may be repeated)
        #[arg(long, value_name = "NAME")]
        again: Vec<String>,
    },
    /// Take a run out of the map
    Remove {
        /// Folder or address of the store
        store: String,
        /// Name of the run
        #[arg(long, value_name = "NAME")]
        run: String,
        /// Why, for the record
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Also delete every object that holds something of it: it cannot come back
        #[arg(long)]
        purge: bool,
    },
    /// Make the coarser levels of detail that the viewer shows from afar, where they are missing
    Levels {
        /// Folder or address of the store
        store: String,
    },
    /// Check that the store holds what its manifest says
    Verify {
        /// Folder or address of the store
        store: String,
        /// Also make every tile anew and compare it byte for byte
        #[arg(long)]
        remake: bool,
    },
    /// Remove what killed programs left, and tiles that nobody needs
    Clean {
        /// Folder or address of the store
        store: String,
    },
    /// Write the fleet's map as one map file, or as files for geographic programs
    Export {
        /// Folder or address of the store
        store: String,
        /// Map file to write
        #[arg(short, long, value_name = "MAP.e2bki", required_unless_present_any = ["copc", "pmtiles"])]
        out: Option<PathBuf>,
        /// Folder to write to: a COPC file for every block of 256 m, and the index city.vpc
        #[arg(long, value_name = "FOLDER")]
        copc: Option<PathBuf>,
        /// With --copc: file with the coordinate reference system as well-known text, if the map's coordinates are of one
        #[arg(long, value_name = "FILE", requires = "copc")]
        wkt: Option<PathBuf>,
        /// File to write: the map from above as pictures, for maps in the browser and QGIS
        #[arg(long, value_name = "FILE.pmtiles")]
        pmtiles: Option<PathBuf>,
        /// With --pmtiles: where the map's (0, 0) is, degrees, and the direction of its x axis, degrees clockwise from north
        /// (90 is east) [default: where equator and zero meridian meet, x is east]
        #[arg(long, value_name = "LAT,LON[,HEADING]", requires = "pmtiles", allow_hyphen_values = true)]
        origin: Option<e2bki_fleet::Origin>,
        /// Number of an earlier manifest [default: the latest]
        #[arg(long, value_name = "N")]
        manifest: Option<u64>,
    },
    /// Say what is in the map, what waits and what is left to do
    Status {
        /// Folder or address of the store
        store: String,
        /// Write the same as JSON (- for standard output)
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
}

fn part(text: &str) -> Result<(usize, usize), String> {
    let wrong = || format!("`{text}` is not a part; give I/N with I from 1 to N, as in 3/16");
    let (i, n) = text.split_once('/').ok_or_else(wrong)?;
    let (i, n) = (i.parse::<usize>().map_err(|_| wrong())?, n.parse::<usize>().map_err(|_| wrong())?);
    if (1..=n).contains(&i) { Ok((i, n)) } else { Err(wrong()) }
}

/// The fleet of a place, if that is the store of one.
fn at(place: &Path) -> Result<Option<Fleet>> {
    let text = place.to_string_lossy();
    let is_store = text.contains("://") || place.join("fleet.json").is_file();
    Ok(if is_store { Some(Fleet::open(&text)?) } else { None })
}

/// The map of a fleet as a whole, if a place is the store of one.
pub(crate) fn load(place: &Path) -> Result<Option<e2bki::Mapper>> {
    at(place)?.map(|fleet| Ok(e2bki_fleet::load(&fleet, None)?)).transpose()
}

pub(crate) fn run(options: &Options) -> Result<()> {
    match &options.command {
        Command::Init { store, like } => {
            let header = MapFile::open(like)?.header().clone();
            e2bki_fleet::init(store, &header.classes, &header.config)?;
            table::line(&format!("{store} is a fleet's store of {} classes", header.classes.len()))
        }
        Command::Map { store, run, map } => mapping::map(&Fleet::open(store)?, run, map),
        Command::Add { store, run, map } => {
            let added = e2bki_fleet::add(&Fleet::open(store)?, run, map, None)?;
            print::added(run, &added)
        }
        Command::Plan { store, json } => print::plan(&Fleet::open(store)?, json.as_deref()),
        Command::Reduce { store, part } => reduce(&Fleet::open(store)?, *part),
        Command::Commit { store, again } => {
            let fleet = Fleet::open(store)?;
            reduce(&fleet, None)?;
            print::committed(&e2bki_fleet::commit(&fleet, again)?)
        }
        Command::Remove { store, run, reason, purge } => {
            let removal = Removal { run, reason, purge: *purge };
            print::committed(&e2bki_fleet::remove(&Fleet::open(store)?, &removal)?)
        }
        Command::Levels { store } => city::levels(&Fleet::open(store)?),
        Command::Verify { store, remake } => {
            let found = e2bki_fleet::verify(&Fleet::open(store)?, *remake)?;
            found.findings.iter().try_for_each(|finding| table::line(finding))?;
            let (runs, tiles) = (print::counted(found.runs, "run"), print::counted(found.tiles, "tile"));
            let (levels, remade) = (found.levels, found.remade);
            table::line(&format!("{runs}, {tiles} and {levels} of levels of detail read, {remade} made anew"))?;
            if !found.findings.is_empty() {
                bail!("{} found", print::counted(found.findings.len(), "fault"));
            }
            Ok(())
        }
        Command::Clean { store } => {
            let cleaned = e2bki_fleet::clean(&Fleet::open(store)?)?;
            let e2bki_fleet::Cleaned { unfinished, unused } = cleaned;
            table::line(&format!("{unfinished} unfinished files and {unused} unused objects removed"))
        }
        Command::Export { store, out, copc, wkt, pmtiles, origin, manifest } => {
            let fleet = Fleet::open(store)?;
            if let Some(out) = out {
                crate::outputs::check_file(out)?;
                let header = e2bki_fleet::export(&fleet, *manifest, out)?;
                table::line(&format!("{}: {} runs, {} frames", out.display(), header.sources.len(), header.frames))?;
            }
            if let Some(folder) = copc {
                city::copc(&fleet, *manifest, folder, wkt.as_deref())?;
            }
            pmtiles.as_ref().map_or(Ok(()), |out| city::pmtiles(&fleet, *manifest, out, *origin))
        }
        Command::Status { store, json } => print::status(&Fleet::open(store)?, json.as_deref()),
    }
}

fn reduce(fleet: &Fleet, part: Option<(usize, usize)>) -> Result<()> {
    let plan = e2bki_fleet::plan(fleet, &[], &[])?;
    let (share, shares) = part.unwrap_or((1, 1));
    let to_do = plan.share(share - 1, shares);
    let bar = table::progress(to_do.len(), "reducing tiles");
    let made = e2bki_fleet::reduce_all(fleet, &to_do, || bar.inc(1))?;
    bar.finish_and_clear();
    let (changed, there) = (made.iter().filter(|tile| tile.changed).count(), plan.tasks.len() - plan.to_do().count());
    table::line(&format!("{} tiles reduced ({changed} from the tile before), {there} were there", to_do.len()))
}
