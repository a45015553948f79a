//! Output of the commands, shared by the program and the laboratory: tables and progress on the terminal, JSON, pictures,
//! HTML reports.

pub mod outputs;
pub mod pictures;
pub mod report;
pub mod score;
pub mod table;

/// A finding of a command that did its work: exit code 1.
#[derive(Debug)]
pub struct Finding(pub String);

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Finding {}
