//! What a robot added in a region, as bytes: exact, and the same bytes for the same sums.

use e2bki::PrimitiveState;
use e2bki::primitive::{QUANTUM_M, Sums};
use e2bki::submaps::Part;

use super::bytes::{Read, Reader, Unreadable, Writer};

/// Pairs of axes of Σxxᵀ.
const PAIRS: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];

/// Bytes of a row at the least: a weight, three of a corner, nine sums, a sum of ranges, a count of classes.
const LEAST: usize = 15;

fn whole(metres: f64) -> i64 {
    // Sums of a map are whole numbers of quanta far below 2⁵³: `PrimitiveState::check`.
    (metres / QUANTUM_M) as i64
}

/// Σxᵢxⱼ of points that are all at the mean: what is left is their spread.
fn at_mean(first: &[i64; 3], weight: i64, (i, j): (usize, usize)) -> i64 {
    let product = i128::from(first[i]) * i128::from(first[j]);
    i64::try_from(product.div_euclid(i128::from(weight.max(1)))).unwrap_or(0)
}

/// The rows of a part.
pub(super) fn encode(part: &Part) -> Vec<u8> {
    let mut out = Writer::default();
    out.count(part.len() as u64);
    let mut corner = [0; 3];
    for state in part.states() {
        let Sums { origin, weight, first, second, range } = state.sums;
        let (weight, first) = (weight as i64, first.map(whole));
        out.count(weight.cast_unsigned());
        for i in 0..3 {
            // Rows of a region are about the same corner, nearly always.
            out.number(i64::from(origin[i]) - i64::from(corner[i]));
        }
        corner = origin;
        first.iter().for_each(|v| out.number(*v));
        for (k, pair) in PAIRS.into_iter().enumerate() {
            out.number(second[k].wrapping_sub(at_mean(&first, weight, pair)));
        }
        out.number(whole(range));
        let evidence = || state.log_evidence.iter().enumerate().filter(|(_, value)| **value != 0);
        out.count(evidence().count() as u64);
        for (class, value) in evidence() {
            out.count(class as u64);
            out.number(*value);
        }
    }
    out.0
}

/// The part of rows, checked: one that a map of these classes and cubes can hold.
pub(super) fn decode(bytes: &[u8], region: [i32; 3], classes: usize, side: f64) -> Read<Part> {
    let mut reader = Reader(bytes);
    let count = reader.length()?;
    if count > reader.0.len() / LEAST {
        return Err(Unreadable("more rows than bytes for them"));
    }
    let mut states = Vec::with_capacity(count);
    let mut corner = [0_i32; 3];
    for row in 0..count {
        let weight = i64::try_from(reader.count()?).map_err(|_| Unreadable("a weight is too large"))?;
        for axis in &mut corner {
            *axis = axis.checked_add(reader.small()?).ok_or(Unreadable("a place is outside of the world"))?;
        }
        let first = [reader.number()?, reader.number()?, reader.number()?];
        let mut second = [0; 6];
        for (k, pair) in PAIRS.into_iter().enumerate() {
            second[k] = reader.number()?.wrapping_add(at_mean(&first, weight, pair));
        }
        let range = reader.number()?;
        let mut log_evidence = vec![0; classes];
        let mut next = 0;
        for _ in 0..reader.length()? {
            let class = usize::try_from(reader.count()?).map_err(|_| Unreadable("a class is too large"))?;
            let place = log_evidence.get_mut(class).filter(|_| class >= next);
            *place.ok_or(Unreadable("classes are not those of the map, in order"))? =
                Some(reader.number()?).filter(|v| *v != 0).ok_or(Unreadable("evidence of nothing"))?;
            next = class + 1;
        }
        let exact = |v: i64| -> Read<f64> {
            if v.unsigned_abs() > 1 << 53 { Err(Unreadable("a sum is too large")) } else { Ok(v as f64 * QUANTUM_M) }
        };
        let sums = Sums {
            origin: corner,
            weight: weight as f64,
            first: [exact(first[0])?, exact(first[1])?, exact(first[2])?],
            second,
            range: exact(range)?,
        };
        states.push(PrimitiveState { id: row as u64, muted: false, sums, log_evidence });
    }
    reader.finish()?;
    let refused = Unreadable("a sum is none that a map could hold");
    let part = Part::of_states(classes, side, &states, &[]).map_err(|_| refused.clone())?;
    // As it was written: in order, each cube and class once, about the corner of the mean, and in this region.
    if part.len() != states.len() || !part.is_within(region) || encode(&part) != bytes {
        return Err(refused);
    }
    Ok(part)
}
