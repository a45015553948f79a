//! A compound kernel per class: one length across, one up; kept as TOML with the names of the classes.

use e2bki::{ClassSet, Error, Result};

/// Length of a kernel that has not been trained, metres.
const INITIAL_M: f64 = 0.5;

/// Least and largest length, metres.
pub(super) const LEAST_M: f64 = 0.01;
pub(super) const MOST_M: f64 = 1.0;

/// Lengths of ConvBKI's kernels in metres, by class: k(d_xy, horizontal) · k(|d_z|, vertical).
#[derive(Debug, Clone, PartialEq)]
pub struct ConvKernels {
    /// Length in the plane, metres.
    pub horizontal: Vec<f64>,
    /// Length along z, metres.
    pub vertical: Vec<f64>,
}

impl ConvKernels {
    /// Untrained kernels: 0.5 m each way.
    pub fn initial(classes: usize) -> Self {
        Self { horizontal: vec![INITIAL_M; classes], vertical: vec![INITIAL_M; classes] }
    }

    /// Checks the number of lengths and every length: 0.01 to 1 m.
    pub fn check(&self, classes: usize) -> Result<()> {
        for (field, values) in [("horizontal", &self.horizontal), ("vertical", &self.vertical)] {
            if values.len() != classes {
                let why = format!("one per class, {classes} classes");
                return Err(Error::Length { field, found: values.len(), expected: classes, why });
            }
            if let Some(bad) = values.iter().find(|v| !(LEAST_M..=MOST_M).contains(*v)) {
                return Err(Error::BadValue {
                    key: field.into(),
                    found: bad.to_string(),
                    allowed: format!("a number from {LEAST_M} to {MOST_M}"),
                });
            }
        }
        Ok(())
    }

    /// Writes the kernels with the names of their classes.
    pub fn to_toml(&self, classes: &ClassSet) -> Result<String> {
        self.check(classes.len())?;
        let mut text = String::from("# Kernels of ConvBKI: lengths in metres, across and up, by class.\n");
        for ((name, across), up) in classes.names().iter().zip(&self.horizontal).zip(&self.vertical) {
            let name = toml::Value::from(name.as_str());
            text += &format!("\n[[kernel]]\nclass = {name}\nhorizontal = {across:?}\nvertical = {up:?}\n");
        }
        Ok(text)
    }

    /// Reads kernels back; they must be those of the same classes in the same order.
    pub fn from_toml(text: &str, classes: &ClassSet) -> Result<Self> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| Error::Syntax(e.to_string()))?;
        let bad = |key: String, found: String, allowed: &str| Error::BadValue { key, found, allowed: allowed.into() };
        if let Some(key) = table.keys().find(|key| *key != "kernel") {
            return Err(Error::UnknownKey { key: key.clone(), nearest: "kernel".into() });
        }
        let Some(entries) = table.get("kernel").and_then(toml::Value::as_array) else {
            return Err(bad("kernel".into(), "missing".into(), "one [[kernel]] table per class"));
        };
        if entries.len() != classes.len() {
            return Err(Error::Classes(format!(
                "the file has kernels of {} classes, the map has {}",
                entries.len(),
                classes.len()
            )));
        }
        let mut kernels = Self { horizontal: Vec::new(), vertical: Vec::new() };
        for (i, (entry, name)) in entries.iter().zip(classes.names()).enumerate() {
            let found = entry.get("class").and_then(toml::Value::as_str).unwrap_or_default();
            if found != name {
                return Err(Error::Classes(format!("kernel {i} is of class `{found}`, but class {i} is `{name}`")));
            }
            let length = |key: &str| match entry.get(key) {
                Some(toml::Value::Float(v)) => Ok(*v),
                Some(toml::Value::Integer(v)) => Ok(*v as f64),
                other => {
                    let found = other.map_or_else(|| "missing".into(), toml::Value::to_string);
                    Err(bad(format!("{key} of class {name}"), found, "a number from 0.01 to 1"))
                }
            };
            kernels.horizontal.push(length("horizontal")?);
            kernels.vertical.push(length("vertical")?);
        }
        kernels.check(classes.len())?;
        Ok(kernels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_survive_their_text_and_mistakes_are_named() {
        let classes = ClassSet::from_names(["road", "a \"tall\" pole\n"]).unwrap();
        let kernels = ConvKernels { horizontal: vec![0.731, 0.01], vertical: vec![0.2, 1.0] };
        let text = kernels.to_toml(&classes).unwrap();
        assert_eq!(ConvKernels::from_toml(&text, &classes).unwrap(), kernels);
        let message = |text: &str| ConvKernels::from_toml(text, &classes).unwrap_err().to_string();
        assert!(message("= 3").contains("TOML"));
        assert!(message("").contains("[[kernel]]"));
        assert!(message("kernels = 1").contains("`kernel`"));
        assert!(message(&text.replace("road", "rod")).contains("`rod`"));
        assert!(message(&text.replace("0.731", "7.31")).contains("7.31"));
        assert!(message(&text.replace("0.731", "nan")).contains("NaN"));
        assert!(message(&text.replace("0.731", "\"x\"")).contains("horizontal of class road"));
        assert!(message(&text.replace("vertical = 0.2\n", "")).contains("missing"));
        let three = ClassSet::from_names(["a", "b", "c"]).unwrap();
        assert!(ConvKernels::from_toml(&text, &three).unwrap_err().to_string().contains("2 classes"));
        assert!(kernels.to_toml(&three).is_err());
    }
}
