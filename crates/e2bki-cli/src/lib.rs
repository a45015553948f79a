//! The program `e2bki`: thin; every command is a call into a library crate.
//!
//! A library, so that the Python package can bring the same program along. Exit codes: 0 done, 1 a finding
//! or stopped by a signal with everything kept, 2 bad usage or input, 128 + N ended at once by signal N.

mod ask;
mod calibrate;
mod check;
mod config;
mod correct;
mod data;
mod demo;
mod eval;
mod export;
#[cfg(feature = "fleet")]
mod fleet;
mod info;
mod inspect;
mod interrupt;
mod layers;
#[cfg(feature = "ros2")]
mod live;
mod map;
mod maps;
mod merge;
mod network;
mod plan;
mod query;
mod recover;
mod remove;
#[cfg(feature = "rerun")]
mod rerun;
#[cfg(not(feature = "rerun"))]
#[path = "no_rerun.rs"]
mod rerun;
#[cfg(feature = "segment")]
mod segment;
mod simulate;
mod submaps;
#[cfg(feature = "segment")]
mod train;
mod view;

use std::ffi::OsString;
use std::io::Write;

use clap::{Parser, Subcommand};
use e2bki_lab::{bench, experiment};
use e2bki_output::{Finding, outputs, pictures, report, score, table};

pub use e2bki_output::report::report_map;

/// Semantic 3-D maps with uncertainty, from LiDAR points and class evidence.
#[derive(Parser)]
#[command(name = "e2bki", version, propagate_version = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build a map from a dataset folder
    Map(Box<map::Options>),
    /// Calibrate a network on labelled frames: its class confusion and its confidence
    Calibrate(calibrate::Options),
    /// Inspect one frame of a dataset: what was found, and what looks wrong
    Inspect(inspect::Options),
    /// Simulate a drive, map it, score the map and write pictures
    Demo(demo::Options),
    /// Write a simulated drive in a real dataset's on-disk format
    Simulate(simulate::Options),
    /// Describe a map file
    Info(info::Options),
    /// Check the integrity of a map file
    Check(check::Options),
    /// Recover the intact part of a damaged map
    Recover(recover::Options),
    /// Merge maps of several drives or robots into one
    Merge(merge::Options),
    /// List the submaps of a map: what each stretch of a drive added
    Submaps(submaps::Options),
    /// Take submaps or whole drives out of a map, exactly
    Remove(remove::Options),
    /// Move the submaps of a map to corrected poses
    Correct(correct::Options),
    /// Map what a running robot sees: a ROS 2 node without ROS
    #[cfg(feature = "ros2")]
    Live(Box<live::Options>),
    /// Map a fleet: runs of many robots in one store, reduced to one map
    #[cfg(feature = "fleet")]
    Fleet(fleet::Options),
    /// Export a map: PLY, Gaussian splats, PCD, NumPy, LAS, pictures, cost grids, tables
    Export(export::Options),
    /// Compute grids for planners: ground, slope, obstacles, class, traversability
    Layers(layers::Options),
    /// Plan a way through a map for a robot, aware of uncertainty
    Plan(plan::Options),
    /// Query a map at any points: class, probability, uncertainty
    Query(query::Options),
    /// Ask a map how much of a class there is, how sure, and near what
    Ask(ask::Options),
    /// Score a saved map by the labels of a dataset
    Eval(eval::Options),
    /// View a map, or two side by side, in the browser
    View(view::Options),
    /// Print the configuration: every parameter with its meaning and range
    Config(config::Options),
    /// Benchmark the engine: time per stage, scaling, queries, memory
    Bench(bench::Options),
    /// Run a segmentation network on images
    #[cfg(feature = "segment")]
    Segment(segment::Options),
    /// Train an evidential segmentation network
    #[cfg(feature = "segment")]
    Train(train::Options),
    /// Reproduce a table or figure of the paper, all methods side by side
    Experiment(experiment::Options),
}

/// Runs the program with its arguments, the first of which is its own name; returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    table::heed(&arguments);
    let code = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => execute(arguments.command),
        // Help and version are printed in this way too; whoever asked for them may have gone away.
        Err(usage) => {
            usage.print().ok();
            u8::try_from(usage.exit_code()).unwrap_or(2)
        }
    };
    std::io::stdout().flush().ok();
    code
}

fn execute(command: Command) -> u8 {
    let result = match command {
        Command::Map(options) => map::run(&options),
        Command::Calibrate(options) => calibrate::run(&options),
        Command::Inspect(options) => match inspect::run(&options) {
            Ok(true) => return 1,
            other => other.map(|_| ()),
        },
        Command::Demo(options) => demo::run(&options),
        Command::Simulate(options) => simulate::run(&options),
        Command::Info(options) => info::run(&options),
        Command::Check(options) => check::run(&options),
        Command::Recover(options) => recover::run(&options),
        Command::Merge(options) => merge::run(&options),
        Command::Submaps(options) => submaps::run(&options),
        Command::Remove(options) => remove::run(&options),
        Command::Correct(options) => correct::run(&options),
        #[cfg(feature = "ros2")]
        Command::Live(options) => live::run(&options),
        #[cfg(feature = "fleet")]
        Command::Fleet(options) => fleet::run(&options),
        Command::Export(options) => export::run(&options),
        Command::Layers(options) => layers::run(&options),
        Command::Plan(options) => plan::run(&options),
        Command::Query(options) => query::run(&options),
        Command::Ask(options) => ask::run(&options),
        Command::Eval(options) => eval::run(&options),
        Command::View(options) => view::run(&options),
        Command::Config(options) => config::run(&options),
        Command::Bench(options) => bench::run(&options, network::any_source),
        Command::Experiment(options) => experiment::run(&options, network::any_source, network::OWN),
        #[cfg(feature = "segment")]
        Command::Segment(options) => segment::run(&options),
        #[cfg(feature = "segment")]
        Command::Train(options) => train::run(&options),
    };
    match result {
        Ok(()) => 0,
        // A reader that went away (`e2bki config | head`) is not a mistake of anybody's.
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) if error.is::<Finding>() => {
            table::say(&error.to_string());
            1
        }
        Err(error) => {
            table::say(&format!("error: {}", with_causes(&error)));
            2
        }
    }
}

/// An error and its causes, without those that a message before them has in it already.
fn with_causes(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match text.as_str() {
        "" => cause,
        known if known.contains(&cause) => text,
        known => format!("{known}: {cause}"),
    })
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe))
}
