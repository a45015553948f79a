//! Sixty-four counters in as few bytes as they need: one, two or four each, and none while all are zero.

/// Counters of the parts of a cube, four along each side.
#[derive(Debug, Clone, Default)]
pub(super) enum Cells {
    #[default]
    Zero,
    One(Box<[u8; 64]>),
    Two(Box<[u16; 64]>),
    Four(Box<[u32; 64]>),
}

impl Cells {
    /// The narrowest that hold these values.
    pub(super) fn of(values: &[u32; 64]) -> Self {
        match values.iter().copied().max().unwrap_or(0) {
            0 => Self::Zero,
            1..=0xff => Self::One(Box::new(values.map(|v| v as u8))),
            0x100..=0xffff => Self::Two(Box::new(values.map(|v| v as u16))),
            _ => Self::Four(Box::new(*values)),
        }
    }

    pub(super) fn get(&self, i: usize) -> u32 {
        match self {
            Self::Zero => 0,
            Self::One(cells) => u32::from(cells[i]),
            Self::Two(cells) => u32::from(cells[i]),
            Self::Four(cells) => cells[i],
        }
    }

    pub(super) fn values(&self) -> [u32; 64] {
        match self {
            Self::Zero => [0; 64],
            Self::One(cells) => cells.map(u32::from),
            Self::Two(cells) => cells.map(u32::from),
            Self::Four(cells) => **cells,
        }
    }

    /// A bit for every counter that is not zero.
    pub(super) fn mask(&self) -> u64 {
        let bits = |there: &dyn Fn(usize) -> bool| (0..64).fold(0, |mask, i| mask | u64::from(there(i)) << i);
        match self {
            Self::Zero => 0,
            Self::One(cells) => bits(&|i| cells[i] != 0),
            Self::Two(cells) => bits(&|i| cells[i] != 0),
            Self::Four(cells) => bits(&|i| cells[i] != 0),
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        matches!(self, Self::Zero)
    }

    /// Adds one to every counter whose bit is set. Counters are kept below 2³² by who calls.
    pub(super) fn add_bits(&mut self, mut bits: u64) {
        while bits != 0 {
            let done = match self {
                Self::Zero => false,
                Self::One(cells) => count(cells, &mut bits, |v| v.checked_add(1)),
                Self::Two(cells) => count(cells, &mut bits, |v| v.checked_add(1)),
                Self::Four(cells) => count(cells, &mut bits, |v| Some(v.saturating_add(1))),
            };
            if !done {
                *self = match std::mem::take(self) {
                    Self::Zero => Self::One(Box::new([0; 64])),
                    Self::One(cells) => Self::Two(Box::new(cells.map(u16::from))),
                    Self::Two(cells) => Self::Four(Box::new(cells.map(u32::from))),
                    widest => widest,
                };
            }
        }
    }

    /// Whether every counter is at least as large as another's.
    pub(super) fn covers(&self, other: &Self) -> bool {
        other.is_zero() || self.values().iter().zip(other.values()).all(|(a, b)| *a >= b)
    }

    /// Whether every counter whose bit is set is above zero.
    pub(super) fn covers_bits(&self, bits: u64) -> bool {
        (0..64).all(|i| bits >> i & 1 == 0 || self.get(i) > 0)
    }

    /// Adds another's counters, or takes them away; the result is the narrowest.
    pub(super) fn combine(&mut self, other: &Self, take: bool) {
        if !other.is_zero() {
            let (mut values, others) = (self.values(), other.values());
            for (v, o) in values.iter_mut().zip(others) {
                *v = if take { v.saturating_sub(o) } else { v.saturating_add(o) };
            }
            *self = Self::of(&values);
        }
    }

    /// Takes one away from every counter whose bit is set; the result is the narrowest.
    pub(super) fn take_bits(&mut self, bits: u64) {
        if bits != 0 {
            let mut values = self.values();
            for (i, v) in values.iter_mut().enumerate() {
                *v = v.saturating_sub((bits >> i & 1) as u32);
            }
            *self = Self::of(&values);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Zero => 0,
            Self::One(_) => 64,
            Self::Two(_) => 128,
            Self::Four(_) => 256,
        }
    }
}

impl PartialEq for Cells {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Zero, Self::Zero) => true,
            (Self::One(a), Self::One(b)) => a == b,
            _ => self.values() == other.values(),
        }
    }
}

/// Counts bits into cells until one is full; whether all were counted.
fn count<T: Copy>(cells: &mut [T; 64], bits: &mut u64, next: impl Fn(T) -> Option<T>) -> bool {
    while *bits != 0 {
        let cell = &mut cells[bits.trailing_zeros() as usize & 63];
        let Some(value) = next(*cell) else { return false };
        *cell = value;
        *bits &= *bits - 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_grow_past_every_width_and_come_back() {
        let mut cells = Cells::default();
        for n in 1..=70_000_u32 {
            cells.add_bits(1 << 5 | u64::from(n % 300 == 0) << 63);
            assert_eq!(cells.get(5), n);
        }
        assert_eq!((cells.get(63), cells.get(4)), (233, 0));
        assert!(matches!(cells, Cells::Four(_)));
        let mut other = cells.clone();
        other.combine(&cells, false);
        assert_eq!(other.get(5), 140_000);
        assert!(other.covers(&cells) && !cells.covers(&other));
        other.combine(&cells, true);
        assert_eq!(other, cells);
        other.combine(&cells, true);
        assert!(other.is_zero());
    }
}
