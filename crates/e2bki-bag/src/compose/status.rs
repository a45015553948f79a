//! How a program is doing.

use crate::write::Fields;

/// How well a part of a program is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// All is well.
    Ok = 0,
    /// Something should be looked at.
    Warn = 1,
    /// Something does not work.
    Error = 2,
}

/// A part of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// How it is doing.
    pub level: Level,
    /// The same in words.
    pub message: String,
    /// Names and values.
    pub values: Vec<(String, String)>,
}

/// The parts of a program at a time.
pub fn diagnostics(stamp: u64, all: &[Status]) -> Vec<u8> {
    let mut fields = Fields::default();
    fields.header(stamp, "").u32(all.len() as u32);
    for status in all {
        fields.u8(status.level as u8).text(&status.name).text(&status.message).text("").u32(status.values.len() as u32);
        for (key, value) in &status.values {
            fields.text(key).text(value);
        }
    }
    fields.finish()
}
