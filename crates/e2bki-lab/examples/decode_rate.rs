//! How many scans a second are decoded from the page cache: `cargo run --release -p e2bki-lab --example decode_rate -- DIR`.

use std::time::Instant;

use e2bki_data::{Dataset, OpenOptions, SemanticsSource};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).ok_or("give the folder of a dataset")?;
    for (name, semantics) in
        [("points alone", SemanticsSource::Nothing), ("points and labels", SemanticsSource::GroundTruth)]
    {
        let dataset = match Dataset::open(dir.as_ref(), &OpenOptions { semantics, ..OpenOptions::default() }) {
            Ok(dataset) => dataset,
            Err(error) => {
                println!("{name}: {error}");
                continue;
            }
        };
        let mut best = f64::INFINITY;
        let mut points = 0;
        for _ in 0..8 {
            let start = Instant::now();
            points = 0;
            for index in 0..dataset.len() {
                points += dataset.load(index)?.points.len();
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!(
            "{name}: {:.0} scans per second, {} points each, one thread, best of 8",
            dataset.len() as f64 / best,
            points / dataset.len()
        );
    }
    Ok(())
}
