//! The program `e2bki`.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    with_settings_of_memory();
    ExitCode::from(e2bki_cli::run(std::env::args_os()))
}

/// With a budget of bytes: one arena of the C library's allocator. With eight per core, what tiles leave free when they go is in another one
/// than what comes: resident memory grew by a fifth in ten minutes. And a size from which on memory is the system's own and goes back to it:
/// the library raises that to what was last given back, up to 32 MB, until buffers of a save lie among the tiles and leave holes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const BUDGETED: &[(&str, &str)] =
    &[("MALLOC_ARENA_MAX", "1"), ("MALLOC_MMAP_THRESHOLD_", "131072"), ("MALLOC_TRIM_THRESHOLD_", "131072")];

/// In a node: what a scan took is kept for the next one. To give it back and ask for it again at every scan took 3 ms of 9 that the
/// system spent on a scan (10 of 12 in `map`, which does nothing but map). In one arena: in ten of them nearly half was free and held by the
/// wrong thread, and more of it from minute to minute (docs/live.md).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LIVE: &[(&str, &str)] =
    &[("MALLOC_ARENA_MAX", "1"), ("MALLOC_MMAP_THRESHOLD_", "33554432"), ("MALLOC_TRIM_THRESHOLD_", "536870912")];

/// Starts the program anew, as the same process, with settings of the C library's allocator, where they matter. The library looks at
/// these variables at the start of a process only; whoever has set them knows better.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn with_settings_of_memory() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::process::CommandExt;

    let budgeted =
        |argument: &std::ffi::OsString| argument.as_bytes().split(|b| *b == b'=').next() == Some(b"--memory");
    let arguments: Vec<_> = std::env::args_os().collect();
    let settings = match arguments.get(1) {
        _ if arguments.iter().any(budgeted) => BUDGETED,
        Some(command) if command == "live" => LIVE,
        _ => return,
    };
    if settings.iter().any(|(name, _)| std::env::var_os(name).is_some()) {
        return;
    }
    if let (Ok(program), Some((name, rest))) = (std::env::current_exe(), arguments.split_first()) {
        // Comes back only if that is not possible: then it goes on as it is.
        drop(std::process::Command::new(program).arg0(name).args(rest).envs(settings.iter().copied()).exec());
    }
}
