//! One parameter: its names, its words, its values.

use super::{ClassFactors, Config, Confusion};
use crate::error::{Error, Result};

/// One parameter of [`Config`].
pub struct Field {
    /// Name in configuration files, on the command line and in Rust: the record and the name in it, `kernel.length_scale`.
    pub key: &'static str,
    /// The record that it is in.
    pub record: &'static str,
    /// Its name in the record.
    pub name: &'static str,
    /// Its name without a record: Python's keyword, and the name in map files and in older configuration files.
    pub flat: &'static str,
    /// The paper's symbol, or nothing.
    pub symbol: &'static str,
    /// The unit, or nothing.
    pub unit: &'static str,
    /// One line of meaning, without a full stop.
    pub about: &'static str,
    pub(super) kind: Kind,
}

/// A group of parameters in [`Config`].
pub struct Record {
    /// Name in configuration files and in Rust.
    pub name: &'static str,
    /// One line of meaning, without a full stop.
    pub about: &'static str,
}

/// Type, range and access of a parameter.
pub(super) enum Kind {
    Float {
        min: f64,
        max: f64,
        get: fn(&Config) -> f64,
        set: fn(&mut Config, f64),
    },
    Integer {
        min: u64,
        max: u64,
        get: fn(&Config) -> u64,
        set: fn(&mut Config, u64),
    },
    Flag {
        get: fn(&Config) -> bool,
        set: fn(&mut Config, bool),
    },
    Choice {
        names: &'static [&'static str],
        meanings: &'static [&'static str],
        get: fn(&Config) -> &'static str,
        set: fn(&mut Config, &str) -> bool,
    },
    Shares {
        get: fn(&Config) -> &Confusion,
        set: fn(&mut Config, Confusion),
    },
    Factors {
        get: fn(&Config) -> &ClassFactors,
        set: fn(&mut Config, ClassFactors),
    },
}

impl Field {
    /// Meaning, unit and symbol in sentences, as in the documentation of the records.
    pub fn text(&self) -> String {
        let part =
            |name: &str, value: &str| if value.is_empty() { String::new() } else { format!(" {name}: {value}.") };
        format!("{}.{}{}", self.about, part("Unit", self.unit), part("Paper", self.symbol))
    }

    /// Whether it goes by that name, with its record or without.
    pub fn is_named(&self, name: &str) -> bool {
        self.key == name || self.flat == name
    }

    /// The values this parameter may take, in words.
    pub fn allowed(&self) -> String {
        match &self.kind {
            Kind::Float { min, max, .. } if *max == f64::INFINITY => format!("a number of at least {min}, or inf"),
            Kind::Float { min, max, .. } => format!("a number from {min} to {max}"),
            Kind::Integer { min, max, .. } => format!("a whole number from {min} to {max}"),
            Kind::Flag { .. } => "true or false".into(),
            Kind::Shares { .. } => "[], or a row per class whose shares add up to 1".into(),
            Kind::Factors { .. } => "[], or a number from 0.05 to 20 per class".into(),
            Kind::Choice { names, .. } => names.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", "),
        }
    }

    /// The names that a choice is made from, each with its meaning; none for other parameters.
    pub fn choices(&self) -> Vec<(&'static str, &'static str)> {
        match &self.kind {
            Kind::Choice { names, meanings, .. } => {
                names.iter().zip(*meanings).map(|(name, meaning)| (*name, meaning.trim())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The value as it is written in a configuration file.
    pub fn value(&self, config: &Config) -> String {
        match &self.kind {
            Kind::Float { get, .. } => format!("{:?}", get(config)),
            Kind::Integer { get, .. } => get(config).to_string(),
            Kind::Flag { get, .. } => get(config).to_string(),
            Kind::Choice { get, .. } => format!("\"{}\"", get(config)),
            Kind::Shares { get, .. } => get(config).to_string(),
            Kind::Factors { get, .. } => get(config).to_string(),
        }
    }

    pub(super) fn check(&self, config: &Config) -> Result<()> {
        let fits = match &self.kind {
            Kind::Float { min, max, get, .. } => (*min..=*max).contains(&get(config)),
            Kind::Integer { min, max, get, .. } => (*min..=*max).contains(&get(config)),
            Kind::Shares { get, .. } => get(config).is_proper(),
            Kind::Factors { get, .. } => get(config).is_proper(),
            Kind::Flag { .. } | Kind::Choice { .. } => true,
        };
        if fits { Ok(()) } else { Err(self.bad(self.value(config))) }
    }

    pub(super) fn bad(&self, found: String) -> Error {
        Error::BadValue { key: self.key.into(), found, allowed: self.allowed() }
    }
}
