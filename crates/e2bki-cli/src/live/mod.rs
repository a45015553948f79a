//! `e2bki live`: a map that grows with a running robot.

mod held;
mod onlooker;
mod options;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use e2bki_data::{ClassTable, Remap};
use e2bki_live::share::{Sharing, Traffic};
use e2bki_live::{Clock, Inputs, LiveMap, Network, Node};
use e2bki_store::CostTable;

use crate::interrupt::Interruptible;
use crate::table;
use held::Held;
use onlooker::Onlooked;
pub(crate) use options::Options;

/// Longest wait for something to happen.
const WAIT: Duration = Duration::from_millis(20);
/// Time from one report to diagnostics to the next, and from one line on the terminal to the next.
const STATUS: Duration = Duration::from_secs(1);
const LINE: Duration = Duration::from_secs(10);
/// Longest time that the end waits for robots that have not everything yet.
const PARTING: Duration = Duration::from_secs(5);

pub(crate) fn run(options: &Options) -> Result<()> {
    let config = options.config()?;
    let lock = options.check_out()?;
    // Names and files are looked at before the network is joined.
    let given = if options.classes_are_told() { None } else { Some(ClassTable::open(&options.classes)?) };
    if let Some(advice) = e2bki_live::advice().filter(|_| options.endpoint().is_none()) {
        table::say(&format!("warning: {advice}"));
    }
    let inputs = Inputs::new(options.poses(), options.queue, Clock::new(options.use_sim_time));
    let inputs = if options.semantics.is_some() { inputs.with_images() } else { inputs };
    let inputs = Arc::new(inputs.with(options.values()));
    let connection = options.connect(&inputs)?;
    let interruptible = Interruptible::new();
    let begun = Instant::now();
    let over = || {
        interruptible.asked_to_stop() || options.seconds.is_some_and(|seconds| begun.elapsed().as_secs_f64() >= seconds)
    };
    let Some((table, remap)) = classes(options, given, &inputs, connection.as_ref(), &over)? else {
        bail!("stopped before anybody told the names of the classes on {}", options.classes);
    };
    let (camera, planning) = (options.camera(&table)?, options.planning(table.classes())?);
    let mut map = Held::new(table.classes().clone(), &config, options, lock)?;
    let costs = CostTable::default().of(table.classes())?;
    let outlet = Onlooked::new(options, connection.as_ref(), &inputs)?;
    let mut node = Node::new(&inputs, &outlet, options.node(remap, costs, camera));
    if let Some(planning) = planning {
        node.plan(planning);
    }
    if let Some(sharing) = options.sharing(map.mapper())? {
        table::say(&format!("shared as {}", sharing.exchange().identity().run));
        node.share(sharing);
    }
    let (mut status, mut line, mut said) = (Instant::now(), Instant::now(), 0);
    while !over() {
        if !node.step(&mut map, connection.requests()) {
            inputs.scans.wait(WAIT);
        }
        if status.elapsed() >= STATUS {
            status = Instant::now();
            node.tell_status(&map);
            connection.notes().iter().for_each(|note| table::say(note));
            let notes = node.sharing().map(|sharing| sharing.notes()).unwrap_or_default();
            notes.iter().for_each(|note| table::say(note));
        }
        if line.elapsed() >= LINE && node.account.received > said {
            (line, said) = (Instant::now(), node.account.received);
            table::say(&format!("{}; {} primitives", node.account.line(), map.mapper().len()));
            for (count, reason) in node.account.left.values() {
                table::say(&format!("  left out ({count}): {reason}"));
            }
        }
    }
    node.finish(&mut map);
    // Others may not have all of it yet.
    let ended = Instant::now();
    while !node.part(&mut map) && ended.elapsed() < PARTING {
        std::thread::sleep(WAIT * 5);
    }
    node.tell_status(&map);
    let shared = node.sharing().map(|sharing| shared(sharing, begun.elapsed())).unwrap_or_default();
    let account = node.account;
    // First the map: what is printed may go to a terminal that is no longer there.
    let saved =
        if options.out.is_some() && (account.mapped > 0 || !map.mapper().is_empty()) { Some(map.save()) } else { None };
    drop(outlet);
    let lost = connection.lost();
    drop(connection);
    drop(interruptible);
    table::line(&account.line())?;
    table::line(&format!(
        "{} updates in {} messages, {:.1} MB; {} put off, {lost} messages not sent",
        account.updates,
        account.messages,
        account.bytes as f64 * 1e-6,
        account.postponed,
    ))?;
    let ms = |latencies: &e2bki_live::Latencies, share| latencies.quantile_ms(share).unwrap_or(0.0);
    let times = [
        ("map a scan", &account.mapping),
        ("make an update", &account.updating),
        ("tell of a scan", &account.to_update),
        ("make layers", &account.layers),
        ("look at a picture", &account.looking),
    ];
    for (what, latencies) in times.into_iter().filter(|(_, latencies)| !latencies.is_empty()) {
        table::line(&format!("ms to {what}: median {:.1}, p95 {:.1}", ms(latencies, 0.5), ms(latencies, 0.95)))?;
    }
    for line in shared {
        table::line(&line)?;
    }
    for (kind, (count, reason)) in inputs.broken() {
        table::line(&format!("{count} messages of {kind:?} could not be read: {reason}"))?;
    }
    for (count, reason) in account.left.values() {
        table::line(&format!("left out ({count}): {reason}"))?;
    }
    match saved {
        Some(saved) => table::line(&saved.context("the map could not be saved")?),
        None if options.out.is_some() => table::line("nothing was mapped, and nothing is saved"),
        None => Ok(()),
    }
}

/// What was shared, in words.
fn shared(sharing: &Sharing, took: Duration) -> Vec<String> {
    let Traffic { sent, sent_bytes, taken, taken_bytes, refused, failed } = sharing.traffic;
    let rate = |bytes: u64| bytes as f64 * 8e-6 / took.as_secs_f64().max(1e-3);
    let (out, into) = (rate(sent_bytes), rate(taken_bytes));
    let mut lines = vec![format!(
        "shared: {sent} messages sent ({out:.2} Mbit/s), {taken} taken ({into:.2} Mbit/s), {} refused; in the map: {}",
        refused + failed,
        sharing.runs().join(", ")
    )];
    if !sharing.told_all() {
        lines.push("not everybody has all that this robot added".into());
    }
    if !sharing.exchange().complete() {
        lines.push("not all that others shared has come".into());
    }
    lines
}

/// The classes, and what the ids of labels mean; waits where they are told on a topic. Nothing if the run ends before.
fn classes(
    options: &Options,
    given: Option<ClassTable>,
    inputs: &Inputs,
    connection: &dyn Network,
    over: &dyn Fn() -> bool,
) -> Result<Option<(ClassTable, Remap)>> {
    if let Some(table) = given {
        let remap = table.remap(options.semantic_ids.as_deref().unwrap_or("classes"))?;
        return Ok(Some((table, remap)));
    }
    while !over() {
        if let Some(names) = inputs.names() {
            let (table, ids) = ClassTable::of_ids(&names)?;
            table::say(&format!("classes: {}", table.classes().names().join(", ")));
            let remap = table.remap(options.semantic_ids.as_deref().unwrap_or(ids))?;
            return Ok(Some((table, remap)));
        }
        inputs.scans.wait(WAIT);
        connection.notes().iter().for_each(|note| table::say(note));
    }
    Ok(None)
}
