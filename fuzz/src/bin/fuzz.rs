//! libFuzzer on the target that the variable `FUZZ_TARGET` names. One program for all: it is linked once. For campaigns it can be
//! compiled for one target alone (`FUZZ_ONLY` while compiling), which is faster to run, and then makes no seeds.

#![no_main]

use std::sync::OnceLock;

use e2bki_fuzz::{ONLY, Target, named, seeds};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

static CHOSEN: OnceLock<Target> = OnceLock::new();

/// The target that is asked for, its seeds written where they are wanted.
fn any() -> Target {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let target = named(&name).unwrap_or_else(|| panic!("FUZZ_TARGET is `{name}`, which is no target"));
    if let Some(folder) = std::env::var_os("FUZZ_SEEDS") {
        for (number, seed) in seeds(&name).into_iter().enumerate() {
            std::fs::write(std::path::Path::new(&folder).join(format!("seed-{number}")), seed).ok();
        }
    }
    target
}

libfuzzer_sys::fuzz_target!(
    init: {
        let target = match ONLY {
            Some(target) => target,
            None => any(),
        };
        // What is made once and kept, such as threads, does not count.
        (target.run)(&[]);
        CHOSEN.get_or_init(|| target);
    },
    |data: &[u8]| {
        if let Some(target) = CHOSEN.get() {
            target.check(data, &MEMORY);
        }
    }
);
