//! Counter-based randomness: every value is a hash of a seed and its own indices.
//! A frame, a world tile or a single beam can therefore be computed alone, in any order, with the same result.

use e2bki::random::SPLIT_MIX_STEP;
pub(crate) use e2bki::random::split_mix64 as mix;

/// Hash of a seed and two integers.
#[inline]
pub(crate) const fn hash2(seed: u64, a: i64, b: i64) -> u64 {
    let k = (a as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93).wrapping_add((b as u64).wrapping_mul(0xA076_1D64_78BD_642F));
    mix(seed ^ k)
}

/// Hash of a seed and three integers.
#[inline]
pub(crate) const fn hash3(seed: u64, a: i64, b: i64, c: i64) -> u64 {
    hash2(seed ^ (c as u64).wrapping_mul(0xE703_7ED1_A0B4_28DB), a, b)
}

/// The top 53 bits of a hash as a number in `[0, 1)`.
#[inline]
pub(crate) fn unit_from(hash: u64) -> f64 {
    (hash >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

/// One standard normal value from a hash (Box–Muller on its two halves).
#[inline]
pub(crate) fn normal_from(hash: u64) -> f64 {
    let u = ((hash >> 32) as f64 + 0.5) * (1.0 / 4_294_967_296.0);
    let v = (hash & 0xFFFF_FFFF) as f64 * (1.0 / 4_294_967_296.0);
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// A short sequence of random values grown from one seed.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    state: u64,
}

impl Stream {
    /// Starts a sequence.
    pub(crate) fn new(seed: u64) -> Stream {
        Stream { state: seed }
    }

    /// The next 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(SPLIT_MIX_STEP);
        mix(self.state)
    }

    /// Uniform in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        unit_from(self.bits())
    }

    /// Uniform in `[low, high)`.
    pub(crate) fn range(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// True with the given probability.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Standard normal value.
    pub(crate) fn normal(&mut self) -> f64 {
        normal_from(self.bits())
    }

    /// Integer in `0..count` (0 when `count` is 0).
    pub(crate) fn below(&mut self, count: u32) -> u32 {
        ((self.bits() >> 32).wrapping_mul(u64::from(count)) >> 32) as u32
    }

    /// A byte, for colour tints.
    pub(crate) fn byte(&mut self) -> u8 {
        (self.bits() >> 56) as u8
    }
}
