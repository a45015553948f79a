//! The machine that was measured.

use serde_json::{Value, json};

/// Processor, cores, compiler, version and commit.
pub(super) fn describe(threads: usize) -> Value {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    json!({
        "processor": processor(), "cores": cores, "threads": threads, "target": target(),
        "compiler": env!("E2BKI_RUSTC"), "version": env!("CARGO_PKG_VERSION"), "commit": env!("E2BKI_COMMIT"),
    })
}

/// One line for people.
pub(super) fn line(threads: usize) -> String {
    let machine = describe(threads);
    let word = |key: &str| machine[key].as_str().unwrap_or_default().to_string();
    let threads = if threads == 0 { "one thread per core".into() } else { format!("{threads} threads") };
    format!(
        "{}, {} cores, {threads}; {}; e2bki {} at {}\n",
        word("processor"),
        machine["cores"],
        word("compiler"),
        word("version"),
        word("commit")
    )
}

/// The name that the system gives its processor.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name));
    name.map_or_else(|| std::env::consts::ARCH.to_string(), |name| name.trim().to_string())
}

/// Architecture and the vectors that are chosen at run time: instruction counts are comparable within one of these only.
pub(super) fn target() -> String {
    format!("{} {:?}", std::env::consts::ARCH, pulp::Arch::new())
        .split(['(', ' '])
        .take(2)
        .collect::<Vec<_>>()
        .join(" ")
}
