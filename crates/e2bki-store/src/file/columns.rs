//! The columns of a map file: what a primitive holds, exactly, and what people want to read of it, derived.
//!
//! Sums are multiples of powers of two, so they are kept as whole numbers: exact, and short once packed.

use e2bki::PrimitiveState;
use e2bki::primitive::{Sums, opinion_of, witnesses_per_point};

use crate::error::{Error, Result};

/// Whole numbers per metre (sums of positions and ranges); sums of products and log-evidence are whole numbers already.
const PER_METRE: f64 = 65_536.0;

/// How a column is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// 64-bit whole numbers, as packed differences.
    Whole,
    /// 64-bit floating point, plain.
    Double,
    /// 32-bit floating point, plain.
    Float,
    /// One bit each.
    Flag,
    /// Class names, by a dictionary.
    Class,
}

/// A column's values.
pub(super) enum Values {
    Whole(Vec<i64>),
    Double(Vec<f64>),
    Float(Vec<f32>),
    Flag(Vec<bool>),
    /// Numbers of classes.
    Class(Vec<usize>),
}

/// Columns before the log-evidence of each class.
const FIXED: [(&str, Kind); 29] = [
    ("id", Kind::Whole),
    ("x", Kind::Double),
    ("y", Kind::Double),
    ("z", Kind::Double),
    ("label", Kind::Whole),
    ("class", Kind::Class),
    ("uncertainty", Kind::Float),
    ("cov_xx", Kind::Float),
    ("cov_yy", Kind::Float),
    ("cov_zz", Kind::Float),
    ("cov_xy", Kind::Float),
    ("cov_xz", Kind::Float),
    ("cov_yz", Kind::Float),
    ("points", Kind::Whole),
    ("muted", Kind::Flag),
    ("origin_x", Kind::Whole),
    ("origin_y", Kind::Whole),
    ("origin_z", Kind::Whole),
    ("sum_x", Kind::Whole),
    ("sum_y", Kind::Whole),
    ("sum_z", Kind::Whole),
    ("sum_xx", Kind::Whole),
    ("sum_yy", Kind::Whole),
    ("sum_zz", Kind::Whole),
    ("sum_xy", Kind::Whole),
    ("sum_xz", Kind::Whole),
    ("sum_yz", Kind::Whole),
    ("sum_range", Kind::Whole),
    ("range", Kind::Float),
];

/// Position of the first column of a name; the table above is fixed, so this is too.
const fn at(name: &str) -> usize {
    let mut i = 0;
    while i < FIXED.len() {
        let (a, b) = (FIXED[i].0.as_bytes(), name.as_bytes());
        let mut same = a.len() == b.len();
        let mut k = 0;
        while same && k < a.len() {
            same = a[k] == b[k];
            k += 1;
        }
        if same {
            return i;
        }
        i += 1;
    }
    usize::MAX
}

/// Name and kind of every column of a map of so many classes.
pub(super) fn columns(classes: usize) -> Vec<(String, Kind)> {
    let fixed = FIXED.iter().map(|(name, kind)| (name.to_string(), *kind));
    fixed.chain((0..classes).map(|class| (format!("log_evidence_{class}"), Kind::Whole))).collect()
}

/// The values of every column.
pub(super) fn values_of(states: &[PrimitiveState], classes: usize, correlation: f64) -> Result<Vec<Values>> {
    let whole = |scale: f64, what: &str, get: &dyn Fn(&PrimitiveState) -> f64| -> Result<Values> {
        let exact = |state: &PrimitiveState| {
            let scaled = get(state) * scale;
            if scaled.abs() < 9.0e18 && (scaled as i64) as f64 == scaled {
                return Ok(scaled as i64);
            }
            let what = format!("{what} {} is not a whole number of 1/{scale}", get(state));
            Err(Error::Inexact { id: state.id, what })
        };
        Ok(Values::Whole(states.iter().map(exact).collect::<Result<_>>()?))
    };
    let quanta = |get: &dyn Fn(&PrimitiveState) -> i64| Values::Whole(states.iter().map(get).collect());
    let floats = |get: &dyn Fn(&PrimitiveState) -> f64| Values::Float(states.iter().map(|s| get(s) as f32).collect());
    if let Some(state) = states.iter().find(|state| state.log_evidence.len() != classes) {
        let what = format!("{} values of log-evidence for {classes} classes", state.log_evidence.len());
        return Err(Error::Inexact { id: state.id, what });
    }
    let mut probability = vec![0.0; classes];
    let opinions: Vec<(usize, f32)> = states
        .iter()
        .map(|state| {
            let factor = witnesses_per_point(state.sums.weight, correlation);
            opinion_of(&state.log_evidence, factor, &mut probability)
        })
        .map(|opinion| (opinion.label, opinion.uncertainty as f32))
        .collect();
    let mut all = vec![Values::Whole(states.iter().map(|s| s.id as i64).collect())];
    all.extend((0..3).map(|i| Values::Double(states.iter().map(|s| s.sums.mean()[i]).collect())));
    all.push(Values::Whole(opinions.iter().map(|(label, _)| *label as i64).collect()));
    all.push(Values::Class(opinions.iter().map(|(label, _)| *label).collect()));
    all.push(Values::Float(opinions.iter().map(|(_, uncertainty)| *uncertainty).collect()));
    all.extend((0..6).map(|i| floats(&|s| s.sums.covariance()[i])));
    all.push(whole(1.0, "the number of points", &|s| s.sums.weight)?);
    all.push(Values::Flag(states.iter().map(|s| s.muted).collect()));
    all.extend((0..3).map(|i| Values::Whole(states.iter().map(|s| i64::from(s.sums.origin[i])).collect())));
    for i in 0..3 {
        all.push(whole(PER_METRE, "a sum of positions,", &|s| s.sums.first[i])?);
    }
    for i in 0..6 {
        all.push(quanta(&|s| s.sums.second[i]));
    }
    all.push(whole(PER_METRE, "the sum of ranges,", &|s| s.sums.range)?);
    all.push(floats(&|s| s.sums.mean_range()));
    for class in 0..classes {
        all.push(quanta(&|s| s.log_evidence[class]));
    }
    Ok(all)
}

/// Primitives from the exact columns: `whole` gives the numbers of a column, `muted` those of the one flag.
pub(super) fn states_of(
    rows: usize,
    classes: usize,
    whole: impl Fn(usize) -> Result<Vec<i64>>,
    muted: impl Fn(usize) -> Result<Vec<bool>>,
) -> Result<Vec<PrimitiveState>> {
    const { assert!(at("sum_yz") == at("sum_xx") + 5 && at("sum_range") < FIXED.len()) };
    let mut states: Vec<PrimitiveState> = whole(at("id"))?
        .into_iter()
        .zip(muted(at("muted"))?)
        .map(|(id, muted)| PrimitiveState {
            id: id as u64,
            muted,
            sums: Sums::about([0; 3]),
            log_evidence: vec![0; classes],
        })
        .collect();
    if states.len() != rows {
        states.truncate(rows);
    }
    let mut fill = |column: usize, set: &dyn Fn(&mut PrimitiveState, i64)| -> Result<()> {
        for (state, value) in states.iter_mut().zip(whole(column)?) {
            set(state, value);
        }
        Ok(())
    };
    fill(at("points"), &|s, v| s.sums.weight = v as f64)?;
    for i in 0..3 {
        // Beyond i32 only in a made-up file; then it lies outside of the world, which the map refuses.
        fill(at("origin_x") + i, &|s, v| s.sums.origin[i] = i32::try_from(v).unwrap_or(i32::MAX))?;
        fill(at("sum_x") + i, &|s, v| s.sums.first[i] = v as f64 / PER_METRE)?;
    }
    for i in 0..6 {
        fill(at("sum_xx") + i, &|s, v| s.sums.second[i] = v)?;
    }
    fill(at("sum_range"), &|s, v| s.sums.range = v as f64 / PER_METRE)?;
    for class in 0..classes {
        fill(FIXED.len() + class, &|s, v| s.log_evidence[class] = v)?;
    }
    Ok(states)
}
