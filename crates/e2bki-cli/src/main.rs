//! The program `e2bki`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(e2bki_cli::run(std::env::args_os()))
}
