//! Tells the program which commit and compiler it was built from, for the records of its benchmarks.

use std::process::Command;

fn main() {
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success());
        output.and_then(|output| String::from_utf8(output.stdout).ok()).map(|text| text.trim().to_string())
    };
    let commit = said("git", &["describe", "--always", "--dirty", "--exclude=*"]).unwrap_or_else(|| "unknown".into());
    let compiler = std::env::var("RUSTC").ok().and_then(|rustc| said(&rustc, &["--version"])).unwrap_or_default();
    println!("cargo::rustc-env=E2BKI_COMMIT={commit}");
    println!("cargo::rustc-env=E2BKI_RUSTC={compiler}");
    // Changes with every commit; where there is no repository, nothing needs to be told again.
    let log = "../../.git/logs/HEAD";
    println!("cargo::rerun-if-changed={}", if std::path::Path::new(log).exists() { log } else { "build.rs" });
}
