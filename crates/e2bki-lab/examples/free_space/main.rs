//! Free space measured: what moved and what stayed, on simulated urban drives whose objects know whether they move.
//!
//!     cargo run --release -p e2bki-lab --example free_space -- table 7 11 13
//!     cargo run --release -p e2bki-lab --example free_space -- frames 7 FOLDER     (for scripts/dufomap-table.py)
//!     cargo run --release -p e2bki-lab --example free_space -- cost hdl-64e SCAN.bin …

mod cost;
mod drive;
mod table;
mod write;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("table", seeds)) => {
            table::print(&seeds.iter().map(|s| s.parse()).collect::<std::result::Result<Vec<u64>, _>>()?)
        }
        Some(("frames", [seed, folder])) => write::write(seed.parse()?, folder.as_ref()),
        Some(("cost", [sensor, scans @ ..])) => cost::print(sensor, scans),
        _ => Err("say `table SEED…`, `frames SEED FOLDER` or `cost SENSOR SCAN…`".into()),
    }
}
