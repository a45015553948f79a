//! The program `e2bki`.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    with_one_arena();
    ExitCode::from(e2bki_cli::run(std::env::args_os()))
}

/// Starts the program anew, as the same process, with one arena of the C library's allocator, if it has to keep to a budget of bytes.
/// With eight per core, what tiles leave free when they go is in another one than what comes: resident memory grew by a fifth
/// in ten minutes. The library looks at this variable at the start of a process only; whoever has set it knows better.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn with_one_arena() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::process::CommandExt;
    const ARENAS: &str = "MALLOC_ARENA_MAX";

    let budgeted =
        |argument: &std::ffi::OsString| argument.as_bytes().split(|b| *b == b'=').next() == Some(b"--memory");
    let arguments: Vec<_> = std::env::args_os().collect();
    if !arguments.iter().any(budgeted) || std::env::var_os(ARENAS).is_some() {
        return;
    }
    if let (Ok(program), Some((name, rest))) = (std::env::current_exe(), arguments.split_first()) {
        // Comes back only if that is not possible: then it goes on as it is.
        drop(std::process::Command::new(program).arg0(name).args(rest).env(ARENAS, "1").exec());
    }
}
