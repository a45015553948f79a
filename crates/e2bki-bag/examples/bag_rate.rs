//! How fast clouds of a recording are read and decoded: `cargo run --release -p e2bki-bag --example bag_rate -- DRIVE.mcap [THREADS]`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use e2bki_bag::messages::Cloud;
use e2bki_bag::{Bag, Entry};

const CLOUD: &str = "sensor_msgs/msg/PointCloud2";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which recording?")?;
    let threads: usize = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let begun = Instant::now();
    let bag = Bag::open(&path)?;
    let opened = begun.elapsed().as_secs_f64();
    let scans: Vec<&Entry> =
        bag.entries().iter().filter(|entry| bag.topics().get(entry.topic).is_some_and(|t| t.kind == CLOUD)).collect();
    println!(
        "opened in {opened:.2} s, {:.0} scans/s: every chunk is checked and walked once",
        scans.len() as f64 / opened
    );
    let (next, points, bytes) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    // A stretch of scans after another for each thread: scans of a chunk are decompressed once.
    let stretch = 8;
    let one = || -> Result<(), String> {
        loop {
            let first = next.fetch_add(stretch, Ordering::SeqCst);
            if first >= scans.len() {
                return Ok(());
            }
            for entry in &scans[first..scans.len().min(first + stretch)] {
                let data = bag.read(entry).map_err(|e| e.to_string())?;
                let cloud = Cloud::read(bag.wire(entry), &data).map_err(|e| e.to_string())?;
                points.fetch_add(cloud.decode().map_err(|e| e.to_string())?.points.len(), Ordering::SeqCst);
                bytes.fetch_add(data.len(), Ordering::SeqCst);
            }
        }
    };
    for round in 0..3 {
        [&next, &points, &bytes].into_iter().for_each(|count| count.store(0, Ordering::SeqCst));
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(one)).collect();
            all.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a thread stopped".into())))
        })?;
        let seconds = begun.elapsed().as_secs_f64();
        println!(
            "round {round}: {} scans of {} points, {:.0} scans/s, {:.0} MB/s of messages, {threads} threads",
            scans.len(),
            points.load(Ordering::SeqCst) / scans.len().max(1),
            scans.len() as f64 / seconds,
            bytes.load(Ordering::SeqCst) as f64 * 1e-6 / seconds,
        );
    }
    Ok(())
}
