//! A part in columns of whole numbers: less what can be told from the other columns, so that little is left to pack.

use e2bki::PrimitiveState;
use e2bki::primitive::Sums;

/// Whole numbers per metre.
const PER_METRE: f64 = 65_536.0;

/// Columns of one number per row: weight, origin (3), Σx (3), Σxxᵀ (6), Σ range, classes with evidence.
pub(super) const FIXED: usize = 15;

/// Pairs of axes of Σxxᵀ.
const PAIRS: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];

/// A part as numbers: [`FIXED`] columns of one per row, then for every class with evidence its number and the evidence.
pub(super) struct Columns {
    pub(super) fixed: Vec<Vec<i64>>,
    pub(super) class: Vec<i64>,
    pub(super) evidence: Vec<i64>,
}

fn whole(value: f64, scale: f64) -> Option<i64> {
    let scaled = value * scale;
    (scaled.abs() < 9.0e18 && (scaled as i64) as f64 == scaled).then_some(scaled as i64)
}

/// Σxᵢxⱼ of points that are all at the mean: what is left is their spread.
fn at_mean(first: &[i64; 3], weight: i64, (i, j): (usize, usize)) -> i64 {
    let product = i128::from(first[i]) * i128::from(first[j]);
    i64::try_from(product.div_euclid(i128::from(weight.max(1)))).unwrap_or(0)
}

/// The numbers of a part, or the row that the format cannot hold exactly.
pub(super) fn columns_of(states: impl ExactSizeIterator<Item = PrimitiveState>) -> Result<Columns, usize> {
    let mut columns = Columns { fixed: vec![Vec::new(); FIXED], class: vec![], evidence: vec![] };
    for (row, state) in states.enumerate() {
        let numbers = || -> Option<[i64; FIXED]> {
            let Sums { origin, weight, first, second, range } = state.sums;
            let weight = whole(weight, 1.0)?;
            let first = [whole(first[0], PER_METRE)?, whole(first[1], PER_METRE)?, whole(first[2], PER_METRE)?];
            let mut all = [0; FIXED];
            all[0] = weight;
            all[1..4].copy_from_slice(&origin.map(i64::from));
            all[4..7].copy_from_slice(&first);
            for (k, pair) in PAIRS.into_iter().enumerate() {
                all[7 + k] = second[k].wrapping_sub(at_mean(&first, weight, pair));
            }
            all[13] = whole(range, PER_METRE)?;
            Some(all)
        };
        let mut numbers = numbers().ok_or(row)?;
        for (class, value) in state.log_evidence.iter().enumerate().filter(|(_, value)| **value != 0) {
            numbers[14] += 1;
            columns.class.push(class as i64);
            columns.evidence.push(*value);
        }
        columns.fixed.iter_mut().zip(numbers).for_each(|(column, number)| column.push(number));
    }
    Ok(columns)
}

/// The states of checked columns: all of one length, and as many entries of evidence as rows say.
pub(super) fn states_of(columns: &Columns, rows: usize, classes: usize) -> Result<Vec<PrimitiveState>, String> {
    let mut states = Vec::with_capacity(rows);
    let mut entries = columns.class.iter().zip(&columns.evidence);
    for row in 0..rows {
        let at = |column: usize| columns.fixed[column][row];
        let origin =
            |axis: usize| i32::try_from(at(1 + axis)).map_err(|_| format!("row {row} is outside of the world"));
        let (weight, first) = (at(0), [at(4), at(5), at(6)]);
        let second = |k: usize| at(7 + k).wrapping_add(at_mean(&first, weight, PAIRS[k]));
        let sums = Sums {
            origin: [origin(0)?, origin(1)?, origin(2)?],
            weight: weight as f64,
            first: first.map(|v| v as f64 / PER_METRE),
            second: std::array::from_fn(second),
            range: at(13) as f64 / PER_METRE,
        };
        let mut log_evidence = vec![0; classes];
        for _ in 0..at(14) {
            let (class, value) = entries.next().ok_or_else(|| format!("row {row} lacks log-evidence"))?;
            let place = usize::try_from(*class).ok().and_then(|class| log_evidence.get_mut(class));
            *place.ok_or_else(|| format!("row {row} has evidence of a class {class}"))? = *value;
        }
        states.push(PrimitiveState { id: row as u64, muted: false, sums, log_evidence });
    }
    if entries.next().is_some() {
        return Err("there is more log-evidence than rows have".into());
    }
    Ok(states)
}
