//! Comparison with the numbers of an earlier run.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::Finding;
use crate::table;

/// Prints what changed against an earlier file. Instruction counts that rose by more than `limit` percent are a finding;
/// times depend on what else the machine does and are only shown.
pub(super) fn compare(path: &Path, now: &Value, limit: f64) -> Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let before: Value = serde_json::from_str(&text)
        .with_context(|| format!("{} is not the JSON that `e2bki bench --json` writes", path.display()))?;
    let (before, now) = (numbers(&before), numbers(now));
    let mut rows = vec![["against", "before", "now", "ratio"].map(str::to_string).to_vec()];
    let mut risen = Vec::new();
    for (key, value) in &now {
        let Some((_, old)) = before.iter().find(|(known, _)| known == key).filter(|(_, old)| *old != 0.0) else {
            continue;
        };
        let ratio = value / old;
        rows.push(vec![key.clone(), format!("{old:.3}"), format!("{value:.3}"), format!("{ratio:.3}")]);
        if key.contains("instructions") && ratio > 1.0 + limit / 100.0 {
            risen.push(format!("{key} by {:.1} %", 100.0 * (ratio - 1.0)));
        }
    }
    table::print(&rows)?;
    if rows.len() == 1 {
        table::line(&format!(
            "nothing to compare with in {}: other benchmarks, compiler or processor\n",
            path.display()
        ))?;
    }
    if risen.is_empty() { Ok(()) } else { Err(Finding(format!("instructions rose: {}", risen.join(", "))).into()) }
}

/// The numbers that say how fast or how large, with names that do not depend on their order.
fn numbers(record: &Value) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    for result in record["results"].as_array().into_iter().flatten() {
        let word = |key: &str| result[key].as_str().unwrap_or_default();
        // Counts of another compiler or other vectors say nothing.
        let name = [word("name"), word("compiler"), word("target")].into_iter().filter(|word| !word.is_empty());
        collect(&name.collect::<Vec<_>>().join(" "), result, &mut all);
    }
    all
}

fn collect(name: &str, value: &Value, all: &mut Vec<(String, f64)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let telling = ["_ms", "per_second", "bytes", "instructions"]
                    .iter()
                    .any(|word| key.contains(word) || name.ends_with("_ms") || name.ends_with("instructions"));
                if telling || value.is_object() || value.is_array() {
                    collect(&format!("{name} {key}"), value, all);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                let label = ["at", "method", "case", "stage"].iter().find_map(|key| match &item[key] {
                    Value::String(word) => Some(word.clone()),
                    Value::Number(number) => Some(number.to_string()),
                    _ => None,
                });
                collect(&format!("{name} {}", label.unwrap_or_default()), item, all);
            }
        }
        Value::Number(number) => all.extend(number.as_f64().map(|number| (name.to_string(), number))),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(instructions: f64, compiler: &str) -> Value {
        json!({"results": [
            {"name": "scan", "median_ms": 80.0, "points": 7, "stage_ms": {"view": 40.0}},
            {"name": "methods", "methods": [{"method": "S-BKI", "min_ms": 3.0}]},
            {"name": "instructions", "compiler": compiler, "million_instructions": {"view": instructions}},
        ]})
    }

    #[test]
    fn numbers_are_found_by_name() {
        let names: Vec<String> = numbers(&record(5.0, "r")).into_iter().map(|(name, _)| name).collect();
        let expected = [
            "scan median_ms",
            "scan stage_ms view",
            "methods methods S-BKI min_ms",
            "instructions r million_instructions view",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn only_instructions_of_the_same_compiler_can_fail() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("before.json");
        std::fs::write(&path, serde_json::to_string(&record(100.0, "r"))?)?;
        compare(&path, &record(109.0, "r"), 10.0)?;
        compare(&path, &record(500.0, "other"), 10.0)?;
        let error = compare(&path, &record(111.0, "r"), 10.0).err().context("a rise of 11 % passed")?;
        assert!(error.is::<Finding>() && error.to_string().contains("view by 11.0 %"), "{error}");
        let mut slow = record(100.0, "r");
        slow["results"][0]["median_ms"] = 800.0.into();
        compare(&path, &slow, 10.0)?;
        assert!(compare(&folder.path().join("none.json"), &slow, 10.0).is_err());
        Ok(())
    }
}
