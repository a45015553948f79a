//! Small deterministic random generator: xoshiro256++ seeded by SplitMix64.
//!
//! Written here so that a seed means the same clusters on every platform and in every version of
//! every dependency. Integer arithmetic only; not for secrets. The simulator and the networks draw
//! from the same [`split_mix64`].

/// Step of SplitMix64's counter: 2⁶⁴ divided by the golden ratio.
pub const SPLIT_MIX_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64 at a counter: spreads it over all 64 bits. A sequence is `split_mix64(seed + i · SPLIT_MIX_STEP)`.
///
/// ```
/// // First output of the published generator for seed 0.
/// assert_eq!(e2bki::random::split_mix64(0), 0xe220_a839_7b1d_cdaf);
/// ```
#[inline]
pub const fn split_mix64(counter: u64) -> u64 {
    let z = counter.wrapping_add(SPLIT_MIX_STEP);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Deterministic random generator (xoshiro256++).
///
/// The same seed gives the same sequence everywhere. Cheap to make: one per class and scan.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// Generator for `seed`; any seed is good, neighbouring seeds give unrelated sequences.
    pub fn new(seed: u64) -> Self {
        let step = |i: u64| split_mix64(seed.wrapping_add(i.wrapping_mul(SPLIT_MIX_STEP)));
        Self { state: [0, 1, 2, 3].map(step) }
    }

    /// Next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// Uniform number in `[0, 1)` with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        (self.next_u64() >> 11) as f64 * STEP
    }

    /// Uniform integer in `0..n` without bias; 0 when `n` is 0.
    ///
    /// The high half of a 64 × 64 bit product is uniform once the few low halves that would favour
    /// some values are rejected; fewer than one draw in two is, whatever `n`.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            let low = product as u64;
            if low >= n || low >= n.wrapping_neg().checked_rem(n).unwrap_or(0) {
                return (product >> 64) as usize;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_of_a_seed_never_changes() {
        // First outputs of the published SplitMix64 for seed 0.
        assert_eq!(split_mix64(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(split_mix64(SPLIT_MIX_STEP), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(Rng::new(0).state[..2], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
        // Published test vector of xoshiro256++ for the state 1, 2, 3, 4.
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let first = [(); 5].map(|()| rng.next_u64());
        assert_eq!(
            first,
            [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386, 9_228_616_714_210_784_205]
        );
    }

    #[test]
    fn draws_below_a_number_are_even() {
        let mut rng = Rng::new(7);
        let mut counts = [0u32; 6];
        (0..60_000).for_each(|_| counts[rng.below(6)] += 1);
        assert!(counts.iter().all(|&c| (9_600..10_400).contains(&c)));
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
    }

    #[test]
    fn uniform_numbers_fill_the_unit_interval() {
        let mut rng = Rng::new(1);
        let draws: Vec<f64> = (0..10_000).map(|_| rng.uniform()).collect();
        assert!(draws.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = draws.iter().sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.01);
    }
}
