//! Value noise in one to three dimensions: smooth, in `[-1, 1]`, addressed by a seed and a position.
//! The quintic fade makes slopes and curvatures continuous, which roads and terrain need.

use super::random::{hash2, hash3};

/// Smooth step from 0 at `low` to 1 at `high`.
#[inline]
pub(crate) fn smoothstep(low: f64, high: f64, x: f64) -> f64 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Whole part below `x` and the rest. Written with casts because `floor` is a library call on older targets.
#[inline]
fn split(x: f64) -> (i64, f64) {
    let i = x as i64;
    let i = if i as f64 > x { i - 1 } else { i };
    (i, x - i as f64)
}

#[inline]
fn fade(t: f64) -> f64 {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

#[inline]
fn signed(hash: u64) -> f64 {
    (hash >> 32) as f64 * (2.0 / 4_294_967_296.0) - 1.0
}

#[inline]
fn lerp(a: f64, b: f64, t: f64) -> f64 {
    a + (b - a) * t
}

/// One-dimensional noise.
pub(crate) fn noise1(seed: u64, x: f64) -> f64 {
    let (k, u) = split(x);
    lerp(signed(hash2(seed, k, 0)), signed(hash2(seed, k + 1, 0)), fade(u))
}

/// Two-dimensional noise.
pub(crate) fn noise2(seed: u64, x: f64, y: f64) -> f64 {
    let ((i, u), (j, v)) = (split(x), split(y));
    let (u, v) = (fade(u), fade(v));
    let a = lerp(signed(hash2(seed, i, j)), signed(hash2(seed, i + 1, j)), u);
    let b = lerp(signed(hash2(seed, i, j + 1)), signed(hash2(seed, i + 1, j + 1)), u);
    lerp(a, b, v)
}

/// Three-dimensional noise.
pub(crate) fn noise3(seed: u64, x: f64, y: f64, z: f64) -> f64 {
    let ((i, u), (j, v), (k, w)) = (split(x), split(y), split(z));
    let (u, v, w) = (fade(u), fade(v), fade(w));
    let plane = |k| {
        let a = lerp(signed(hash3(seed, i, j, k)), signed(hash3(seed, i + 1, j, k)), u);
        let b = lerp(signed(hash3(seed, i, j + 1, k)), signed(hash3(seed, i + 1, j + 1, k)), u);
        lerp(a, b, v)
    };
    lerp(plane(k), plane(k + 1), w)
}

/// Two octaves of [`noise2`], the second at 2.3 times the frequency and half the weight.
pub(crate) fn fractal2(seed: u64, x: f64, y: f64) -> f64 {
    (noise2(seed, x, y) + 0.5 * noise2(seed ^ 0x5bd1, x * 2.3, y * 2.3)) / 1.5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_bounded_continuous_and_repeatable() {
        let mut previous = noise2(7, -0.001, 0.4);
        for k in 0..4000 {
            let x = f64::from(k) * 0.005;
            let value = noise2(7, x, 0.4);
            assert!(value.abs() <= 1.0 && (value - previous).abs() < 0.05);
            assert_eq!(value, noise2(7, x, 0.4));
            assert!(noise3(7, x, 2.0, -x).abs() <= 1.0);
            previous = value;
        }
    }
}
