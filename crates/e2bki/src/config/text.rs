//! Configuration files: TOML in, commented TOML out.

use super::fields::{Field, Kind, fields};
use super::{Config, Confusion, PRESETS};
use crate::error::{Error, Result};

impl Config {
    /// Reads TOML. Keys that are absent keep the value of the preset named by the optional key `preset`.
    pub fn from_toml(text: &str) -> Result<Self> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| Error::Syntax(e.to_string()))?;
        let mut config = match table.get("preset") {
            None => Self::default(),
            Some(toml::Value::String(name)) => Self::preset(name)?,
            Some(other) => {
                return Err(Error::BadValue {
                    key: "preset".into(),
                    found: other.to_string(),
                    allowed: PRESETS.iter().map(|(n, _)| format!("\"{n}\"")).collect::<Vec<_>>().join(", "),
                });
            }
        };
        for (key, value) in table.iter().filter(|(key, _)| *key != "preset") {
            config.set(key, value)?;
        }
        config.check()?;
        Ok(config)
    }

    /// Sets one parameter from text, as in `name=value` on a command line.
    pub fn set_text(&mut self, key: &str, text: &str) -> Result<()> {
        // A bare word is a string: nobody wants to quote on a command line.
        let value = format!("v = {text}")
            .parse::<toml::Table>()
            .ok()
            .and_then(|mut table| table.remove("v"))
            .unwrap_or_else(|| toml::Value::String(text.into()));
        let mut changed = self.clone();
        changed.set(key, &value)?;
        changed.check()?;
        *self = changed;
        Ok(())
    }

    /// Writes TOML with a comment on every parameter; [`Config::from_toml`] reads it back unchanged.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for field in fields() {
            let symbol = if field.symbol.is_empty() { String::new() } else { format!(" (paper: {})", field.symbol) };
            text += &format!("# {}{symbol}; {}\n{} = {}\n", field.about, field.allowed(), field.key, field.value(self));
        }
        text
    }

    fn set(&mut self, key: &str, value: &toml::Value) -> Result<()> {
        let field = fields().iter().find(|field| field.key == key).ok_or_else(|| unknown(key))?;
        let bad = || field.bad(value.to_string());
        match (&field.kind, value) {
            (Kind::Float { set, .. }, toml::Value::Float(v)) => set(self, *v),
            (Kind::Float { set, .. }, toml::Value::Integer(v)) => set(self, *v as f64),
            (Kind::Integer { min, max, set, .. }, toml::Value::Integer(v)) => {
                // Checked before the conversion, which would wrap.
                let v = u64::try_from(*v).ok().filter(|v| (*min..=*max).contains(v)).ok_or_else(bad)?;
                set(self, v);
            }
            (Kind::Flag { set, .. }, toml::Value::Boolean(v)) => set(self, *v),
            (Kind::Choice { set, .. }, toml::Value::String(v)) if set(self, v) => {}
            (Kind::Shares { set, .. }, toml::Value::Array(rows)) => {
                set(self, Confusion::of_toml(rows).ok_or_else(bad)?);
            }
            _ => return Err(bad()),
        }
        Ok(())
    }
}

fn unknown(key: &str) -> Error {
    let nearest = fields().iter().min_by_key(|field: &&Field| edit_distance(field.key, key));
    Error::UnknownKey { key: key.into(), nearest: nearest.map_or_else(String::new, |field| field.key.into()) }
}

/// Levenshtein distance: the fewest single-letter edits from one word to the other.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_survives_a_round_trip_and_is_in_range() {
        for (name, _) in PRESETS {
            let config = Config::preset(name).unwrap();
            config.check().unwrap();
            assert_eq!(Config::from_toml(&config.to_toml()).unwrap(), config);
        }
        assert_eq!(Config::from_toml("preset = \"paper-rellis\"").unwrap().clusters, 256);
        assert_eq!(Config::preset("paper-urban").unwrap().clusters, 1024);
    }

    #[test]
    fn mistakes_name_the_key_the_range_and_the_nearest_key() {
        let message = |text: &str| Config::from_toml(text).unwrap_err().to_string();
        assert!(message("lenght_scale = 0.2").contains("did you mean `length_scale`"));
        assert!(message("prior = -1").contains("`prior` is -1"));
        assert!(message("resolution = nan").contains("0.005 to 10"));
        assert!(message("resolution = inf").contains("0.005 to 10"));
        assert!(message("threads = -3").contains("0 to 1024"));
        assert!(message("threads = 1.5").contains("whole number"));
        assert!(message("clustering = \"kmeans\"").contains("\"kmeans++\""));
        assert!(message("prune = 1").contains("true or false"));
        assert!(message("merge_radius = 3.0").contains("consistency_radius"));
        assert!(message("preset = \"papr\"").contains("paper-urban"));
        assert!(message("a = = 3").contains("TOML"));
        assert!(message("min_range = 9\nmax_range = 5").contains("max_range"));
    }

    #[test]
    fn a_confusion_survives_a_round_trip_and_must_be_one() {
        let mut config = Config::default();
        config.set_text("confusion", "[[0.75, 0.25], [0, 1]]").unwrap();
        assert_eq!(config.confusion.rows(), [[0.75, 0.25], [0.0, 1.0]]);
        assert_eq!(Config::from_toml(&config.to_toml()).unwrap(), config);
        let before = config.clone();
        for wrong in ["[[1.0]", "[1, 2]", "[[1, 0]]", "[[0.5, 0.4], [0, 1]]", "[[2, -1], [0, 1]]", "[[nan]]", "\"x\""] {
            let message = config.set_text("confusion", wrong).unwrap_err().to_string();
            assert!(message.contains("add up to 1"), "{wrong}: {message}");
        }
        assert_eq!(config, before);
        config.set_text("confusion", "[]").unwrap();
        assert_eq!(config, Config::default());
    }

    #[test]
    fn a_command_line_setting_needs_no_quotes_and_changes_nothing_when_wrong() {
        let mut config = Config::default();
        config.set_text("clustering", "fps").unwrap();
        config.set_text("resolution", "0.1").unwrap();
        assert_eq!((config.clustering.name(), config.resolution), ("fps", 0.1));
        let before = config.clone();
        assert!(config.set_text("resolution", "-4").is_err());
        assert_eq!(config, before);
    }
}
