//! libFuzzer on the target that the variable `FUZZ_TARGET` names. One program for all: it is linked once.

#![no_main]

use std::sync::OnceLock;

use e2bki_fuzz::{Target, named, seeds};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

static CHOSEN: OnceLock<Target> = OnceLock::new();

libfuzzer_sys::fuzz_target!(
    init: {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        let target = named(&name).unwrap_or_else(|| panic!("FUZZ_TARGET is `{name}`, which is no target"));
        // What is made once and kept, such as threads, does not count.
        (target.run)(&[]);
        if let Some(folder) = std::env::var_os("FUZZ_SEEDS") {
            for (number, seed) in seeds(&name).into_iter().enumerate() {
                std::fs::write(std::path::Path::new(&folder).join(format!("seed-{number}")), seed).ok();
            }
        }
        CHOSEN.get_or_init(|| target);
    },
    |data: &[u8]| {
        if let Some(target) = CHOSEN.get() {
            target.check(data, &MEMORY);
        }
    }
);
