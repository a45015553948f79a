//! Every kept input through its target, with the memory it may ask for: seeds, and what fuzzing once found.

use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use e2bki_fuzz::{TARGETS, Target, named, seeds};

    use super::MEMORY;

    fn survive(target: &Target, bytes: &[u8]) {
        target.check(bytes, &MEMORY);
        // Cut short, and with a byte changed: what a disk does.
        for cut in [1, bytes.len() / 2, bytes.len().saturating_sub(1)] {
            target.check(&bytes[..cut.min(bytes.len())], &MEMORY);
        }
        for place in (0..bytes.len()).step_by(bytes.len() / 16 + 1) {
            let mut damaged = bytes.to_vec();
            damaged[place] ^= 0x91;
            target.check(&damaged, &MEMORY);
        }
    }

    /// One test, since memory is counted for the whole process.
    #[test]
    fn everything_that_was_kept_is_survived() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        for target in TARGETS {
            (target.run)(&[]);
            let mut inputs = 0;
            for entry in std::fs::read_dir(corpus.join(target.name)).unwrap() {
                let path = entry.unwrap().path();
                let bytes = std::fs::read(&path).unwrap();
                // The name is printed first: an input that ends the process is then known.
                println!("{}", path.display());
                survive(&target, &bytes);
                inputs += 1;
            }
            for seed in seeds(target.name) {
                survive(&target, &seed);
            }
            assert!(inputs > 0, "{} has no inputs in {}", target.name, corpus.display());
        }
        // Every folder belongs to a target: none is run by nobody.
        for entry in std::fs::read_dir(&corpus).unwrap() {
            let name = entry.unwrap().file_name();
            assert!(named(&name.to_string_lossy()).is_some(), "{name:?} is no target");
        }
    }
}
