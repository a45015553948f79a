//! Ctrl-C, SIGTERM and SIGHUP: the first one asks a command to come to a good end, the second one ends it at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::table;

/// Whether somebody asked for the end of the run.
static ASKED_TO_STOP: AtomicBool = AtomicBool::new(false);
/// Whether a run is on that can be stopped: otherwise a signal ends the program at once.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// While it lives, the first signal only asks the run to stop; a second one ends the program.
pub(crate) struct Interruptible;

impl Interruptible {
    pub(crate) fn new() -> Self {
        static LISTENING: OnceLock<bool> = OnceLock::new();
        ASKED_TO_STOP.store(false, Ordering::SeqCst);
        // Where nobody can listen, signals do what they always did.
        LISTENING.get_or_init(listen);
        RUNNING.store(true, Ordering::SeqCst);
        Self
    }

    pub(crate) fn asked_to_stop(&self) -> bool {
        ASKED_TO_STOP.load(Ordering::SeqCst)
    }
}

impl Drop for Interruptible {
    fn drop(&mut self) {
        RUNNING.store(false, Ordering::SeqCst);
    }
}

/// What a signal does; `code` is what a shell expects of a program that it ended.
fn on_signal(code: i32) {
    if !RUNNING.load(Ordering::SeqCst) || ASKED_TO_STOP.swap(true, Ordering::SeqCst) {
        std::process::exit(code);
    }
    table::say("\nstopping after this frame; once more (Ctrl-C) ends at once and loses what is not saved");
}

#[cfg(unix)]
fn listen() -> bool {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
    let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) else { return false };
    let thread = std::thread::Builder::new().name("e2bki-signals".into());
    thread.spawn(move || signals.forever().for_each(|signal| on_signal(128 + signal))).is_ok()
}

/// Whether whoever started the program chose that a signal is not for it, as `nohup` does.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return false };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(not(unix))]
fn listen() -> bool {
    /// What a shell expects of a program ended by Ctrl-C.
    const INTERRUPTED: i32 = 130;
    ctrlc::set_handler(|| on_signal(INTERRUPTED)).is_ok()
}
