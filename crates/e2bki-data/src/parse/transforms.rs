//! Rigid transforms as text: RELLIS-3D's small YAML, and rows of 12 or 16 numbers.

use e2bki::Pose;

use super::Parsed;
use crate::error::Flaw;

/// The transform of a top-level key, with parts `q` (w, x, y, z) and `t` (x, y, z).
pub fn transform(text: &str, key: &str) -> Parsed<Pose> {
    let (mut top, mut part) = (String::new(), String::new());
    let mut keys = Vec::new();
    let mut values = [None; 7];
    for (i, line) in text.lines().enumerate() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let (inner, name, value) = (line.starts_with([' ', '\t']), name.trim(), value.trim());
        if !inner {
            top = name.to_string();
            keys.push(top.clone());
        } else if value.is_empty() {
            part = name.to_string();
        } else if top == key {
            let place = match (part.as_str(), name) {
                ("q", "w") => 0,
                ("q", "x") => 1,
                ("q", "y") => 2,
                ("q", "z") => 3,
                ("t", "x") => 4,
                ("t", "y") => 5,
                ("t", "z") => 6,
                _ => continue,
            };
            let number =
                value.parse::<f64>().map_err(|_| Flaw::at_line(i + 1, format!("`{value}` is not a number")))?;
            values[place] = Some(number);
        }
    }
    if !keys.iter().any(|k| k == key) {
        return Err(Flaw::new(format!("no key `{key}`; found {}", keys.join(", "))));
    }
    let all: Option<Vec<f64>> = values.into_iter().collect();
    let Some([w, x, y, z, a, b, c]) = all.as_deref() else {
        return Err(Flaw::new(format!("`{key}` must have q with w, x, y, z and t with x, y, z")));
    };
    from_quaternion([*w, *x, *y, *z], [*a, *b, *c])
}

/// A pose of a quaternion w, x, y, z of any length but zero, and a translation.
pub(super) fn from_quaternion(q: [f64; 4], t: [f64; 3]) -> Parsed<Pose> {
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    if !(0.5..=2.0).contains(&length) {
        return Err(Flaw::new(format!("a quaternion of length {length} is not a rotation")));
    }
    let [w, x, y, z] = q.map(|v| v / length);
    let rotation = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ];
    Pose::new(rotation, t).map_err(|error| Flaw::new(error.to_string()))
}

/// A rigid transform of 12 numbers (3×4 by rows) or 16 (4×4 by rows).
pub fn rigid(v: &[f64]) -> Parsed<Pose> {
    if v.len() == 16 && v[12..] != [0.0, 0.0, 0.0, 1.0] {
        return Err(Flaw::new(format!("the last row of a 4×4 transform is {:?}, not 0 0 0 1", &v[12..])));
    }
    if v.len() != 12 && v.len() != 16 {
        return Err(Flaw::new(format!("12 numbers (3×4) or 16 (4×4) expected, {} found", v.len())));
    }
    Pose::new([[v[0], v[1], v[2]], [v[4], v[5], v[6]], [v[8], v[9], v[10]]], [v[3], v[7], v[11]])
        .map_err(|error| Flaw::new(error.to_string()))
}
