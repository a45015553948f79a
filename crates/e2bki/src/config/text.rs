//! Configuration files: TOML in, commented TOML out.

use super::field::{Field, Kind};
use super::{ClassFactors, Config, Confusion, Growth, PRESETS, Profile, Reach, fields, records};
use crate::error::{Error, Result};

impl Config {
    /// Reads TOML. Keys that are absent keep the value of the preset named by the optional key `preset`.
    ///
    /// A parameter stands in the table of its record (`[kernel]`, `length_scale = 0.2`) or outside of all tables by its
    /// name alone (`length_scale = 0.2`), as map files and older configuration files have it.
    pub fn from_toml(text: &str) -> Result<Self> {
        Self::read(text, Self::default())
    }

    /// The same for a robot's own scans: where neither the file nor a preset says whether free space is counted, it is
    /// ([`Self::for_scans`]).
    pub fn from_toml_for_scans(text: &str) -> Result<Self> {
        Self::read(text, Self::for_scans())
    }

    /// Reads what [`Self::to_flat_toml`] wrote into a map file. What the first version of the format did not have is off
    /// where it is absent: a map that was made without it goes on without it.
    pub fn from_flat_toml(text: &str) -> Result<Self> {
        Self::read(text, Self::of_first_version())
    }

    /// What a map is made with that does not say: sparse kernels reached equally far in all directions, farther with range
    /// whatever they were on, and what was seen through was not counted.
    fn of_first_version() -> Self {
        Self::default().with(|c| {
            c.kernel.reach = Reach::Uniform;
            // Files from before there was a line for it were read with this.
            c.kernel.reach_growth = 0.1;
            c.kernel.growth = Growth::Everywhere;
            c.kernel.profile = Profile::Sparse;
            c.free_space.enabled = false;
        })
    }

    fn read(text: &str, start: Self) -> Result<Self> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| Error::Syntax(e.to_string()))?;
        let mut config = match table.get("preset") {
            None => start,
            Some(toml::Value::String(name)) => Self::preset(name)?,
            Some(other) => {
                return Err(Error::BadValue {
                    key: "preset".into(),
                    found: other.to_string(),
                    allowed: PRESETS.iter().map(|(n, _)| format!("\"{n}\"")).collect::<Vec<_>>().join(", "),
                });
            }
        };
        let mut seen = Vec::new();
        for (key, value) in table.iter().filter(|(key, _)| *key != "preset") {
            match value {
                // A table of a misspelt record is entered as well, so that the message names the parameter meant.
                toml::Value::Table(record) if is_record(key) || !record.is_empty() && find(key).is_none() => {
                    for (name, value) in record {
                        config.set_once(&format!("{key}.{name}"), value, &mut seen)?;
                    }
                }
                _ => config.set_once(key, value, &mut seen)?,
            }
        }
        config.check()?;
        Ok(config)
    }

    /// Sets one parameter from text, as in `kernel.length_scale=0.1` or `length_scale=0.1` on a command line.
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

    /// Writes TOML with a table per record and a comment on every parameter; [`Config::from_toml`] reads it back unchanged.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for record in records() {
            let gap = if text.is_empty() { "" } else { "\n" };
            text += &format!("{gap}# {}.\n[{}]\n", record.about, record.name);
            for field in fields().iter().filter(|field| field.record == record.name) {
                text += &format!("# {} Allowed: {}.\n", field.text(), field.allowed());
                text += &format!("{} = {}\n", field.name, field.value(self));
            }
        }
        text
    }

    /// Writes TOML without records or comments, as map files have it: every program that knows the format reads it. What
    /// the first version of the format did not have is written only where it differs from what it is without a line.
    pub fn to_flat_toml(&self) -> String {
        let start = Self::of_first_version();
        let written = |field: &&Field| match field.key {
            "fusion.correlated" | "clustering.min_points_per_cluster" => field.value(self) != field.value(&start),
            "input.class_weights" | "kernel.class_reach" | "kernel.growth" | "kernel.profile" => {
                field.value(self) != field.value(&start)
            }
            "kernel.reach" => self.kernel.reach != Reach::Uniform,
            "kernel.reach_across" => self.kernel.reach != Reach::Uniform || field.value(self) != field.value(&start),
            _ => field.record != "free_space" || field.value(self) != field.value(&start),
        };
        fields().iter().filter(written).map(|field| format!("{} = {}\n", field.flat, field.value(self))).collect()
    }

    /// Sets a parameter that no other line of the file has set.
    fn set_once(&mut self, key: &str, value: &toml::Value, seen: &mut Vec<&'static str>) -> Result<()> {
        let field = self.set(key, value)?;
        if seen.contains(&field.key) {
            return Err(Error::BadValue {
                key: field.key.into(),
                found: format!("there twice, also as `{}`", field.flat),
                allowed: "one of them".into(),
            });
        }
        seen.push(field.key);
        Ok(())
    }

    fn set(&mut self, key: &str, value: &toml::Value) -> Result<&'static Field> {
        let field = find(key).ok_or_else(|| unknown(key))?;
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
            (Kind::Factors { set, .. }, toml::Value::Array(values)) => {
                set(self, ClassFactors::of_toml(values).ok_or_else(bad)?);
            }
            _ => return Err(bad()),
        }
        Ok(field)
    }
}

fn is_record(name: &str) -> bool {
    records().iter().any(|record| record.name == name)
}

fn find(name: &str) -> Option<&'static Field> {
    fields().iter().find(|field| field.is_named(name))
}

/// Names the parameter whose name is nearest, with its record or without, or in another record.
fn unknown(key: &str) -> Error {
    let last = key.rsplit('.').next().unwrap_or(key);
    let distance = |field: &&Field| {
        let near = [(field.key, key), (field.flat, key), (field.name, last), (field.flat, last)];
        near.into_iter().map(|(a, b)| edit_distance(a, b)).min()
    };
    let nearest = fields().iter().min_by_key(distance);
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
    use super::super::ClusterCount;
    use super::*;

    #[test]
    fn every_default_survives_a_round_trip_and_is_in_range() {
        for (name, _) in PRESETS {
            let config = Config::preset(name).unwrap();
            config.check().unwrap();
            assert_eq!(Config::from_toml(&config.to_toml()).unwrap(), config);
            assert_eq!(Config::from_flat_toml(&config.to_flat_toml()).unwrap(), config);
        }
        for (name, clusters) in [("paper-rellis", 256), ("paper-urban", 1024)] {
            let clustering = Config::from_toml(&format!("preset = \"{name}\"")).unwrap().clustering;
            assert_eq!((clustering.count, clustering.clusters), (ClusterCount::PerClass, clusters));
            assert_eq!((clustering.min_points_per_cluster, clustering.max_extent), (1, f64::INFINITY));
        }
    }

    #[test]
    fn mistakes_name_the_key_the_range_and_the_nearest_key() {
        let message = |text: &str| Config::from_toml(text).unwrap_err().to_string();
        assert!(message("lenght_scale = 0.2").contains("did you mean `kernel.length_scale`"));
        for wrong in
            ["kernel.lenght_scale = 1", "kernal.length_scale = 1", "run.length_scale = 1", "[kernal]\nlength_scale = 1"]
        {
            assert!(message(wrong).contains("did you mean `kernel.length_scale`"), "{wrong}: {}", message(wrong));
        }
        assert!(message("prior = -1").contains("`kernel.prior` is -1"));
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
        assert!(message("threads = 2\n[run]\nthreads = 2").contains("`run.threads` is there twice"));
        assert!(message("kernel = 3").contains("unknown"));
        assert!(message("run.threads = { a = 1 }").contains("0 to 1024"));
        assert!(message("threads = { a = 1 }").contains("0 to 1024"));
    }

    #[test]
    fn a_confusion_survives_a_round_trip_and_must_be_one() {
        let mut config = Config::default();
        config.set_text("confusion", "[[0.75, 0.25], [0, 1]]").unwrap();
        assert_eq!(config.input.confusion.rows(), [[0.75, 0.25], [0.0, 1.0]]);
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
    fn factors_of_classes_survive_a_round_trip_and_are_numbers_in_range() {
        let mut config = Config::default();
        let plain = config.to_flat_toml();
        assert!(
            !plain.contains("class_reach") && !plain.contains("class_weights"),
            "files of before stay as they were"
        );
        config.set_text("kernel.class_reach", "[1, 1.5]").unwrap();
        config.set_text("class_weights", "[0.8, 1]").unwrap();
        assert_eq!(config.kernel.class_reach.of_classes(), [1.0, 1.5]);
        assert_eq!((config.input.class_weights.of(0), config.input.class_weights.of(7)), (0.8, 1.0));
        assert_eq!(Config::from_toml(&config.to_toml()).unwrap(), config);
        assert_eq!(Config::from_flat_toml(&config.to_flat_toml()).unwrap(), config);
        assert!((config.longest_reach() - 1.5 * Config::default().longest_reach()).abs() < 1e-9);
        for wrong in ["[0]", "[1, -1]", "[nan]", "[21]", "[[1]]", "1", "\"x\""] {
            let message = config.clone().set_text("class_reach", wrong).unwrap_err().to_string();
            assert!(message.contains("0.05 to 20"), "{wrong}: {message}");
        }
        assert!(config.check_classes(2).is_ok());
        let message = config.check_classes(3).unwrap_err().to_string();
        assert!(message.contains("class_weights") && message.contains("3 classes"), "{message}");
    }

    #[test]
    fn a_command_line_setting_needs_no_quotes_and_changes_nothing_when_wrong() {
        let mut config = Config::default();
        config.set_text("clustering", "fps").unwrap();
        config.set_text("views.resolution", "0.1").unwrap();
        config.set_text("refinement.order", "one-pass").unwrap();
        assert_eq!((config.clustering.method.name(), config.views.resolution), ("fps", 0.1));
        assert_eq!(config.refinement.order.name(), "one-pass");
        let before = config.clone();
        assert!(config.set_text("resolution", "-4").is_err());
        assert_eq!(config, before);
    }

    #[test]
    fn names_are_unique_and_say_their_record() {
        for (i, a) in fields().iter().enumerate() {
            assert_eq!(a.key, format!("{}.{}", a.record, a.name));
            assert!(is_record(a.record));
            assert!(fields()[i + 1..].iter().all(|b| a.key != b.key && a.flat != b.flat), "{}", a.key);
            let words = a.about.chars().next().is_some_and(char::is_uppercase) && !a.about.ends_with('.');
            assert!(words && !a.text().contains("metres"), "{}: {}", a.key, a.about);
        }
    }

    /// The files have a value that is no default for every parameter.
    #[test]
    fn a_file_without_records_says_the_same_as_one_with_records() {
        let config = Config::from_toml(include_str!("../../tests/golden/flat.toml")).unwrap();
        let usual = Config::default();
        for field in fields() {
            assert_ne!(field.value(&config), field.value(&usual), "{}", field.key);
        }
        assert_eq!(config, Config::from_toml(include_str!("../../tests/golden/records.toml")).unwrap());
    }
}
