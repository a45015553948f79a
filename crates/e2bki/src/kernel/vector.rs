//! Vectors of f32 of the processor's own width, mostly two at a time so that it has independent work while it waits for
//! divisions and roots. All operations are those of IEEE 754, lane by lane.
//!
//! No `map` over arrays and no iterators here or in what uses it: the compiler may leave their closures as calls, and
//! a call cannot pass vectors in registers.

use std::ops::{Add, Div, Mul, Sub};

use pulp::Simd;

/// N registers.
#[derive(Clone, Copy)]
pub(super) struct Vector<S: Simd, const N: usize = 2> {
    simd: S,
    parts: [S::f32s; N],
}

impl<S: Simd, const N: usize> Vector<S, N> {
    pub(super) const LANES: usize = N * S::F32_LANES;

    /// One value in every lane.
    #[inline(always)]
    pub(super) fn splat(simd: S, value: f32) -> Self {
        Self { simd, parts: [simd.splat_f32s(value); N] }
    }

    /// The first values of a slice; all are 0 if it is too short.
    #[inline(always)]
    pub(super) fn load(simd: S, values: &[f32]) -> Self {
        match S::as_simd_f32s(values).0.first_chunk::<N>() {
            Some(parts) => Self { simd, parts: *parts },
            None => Self::splat(simd, 0.0),
        }
    }

    /// Writes to the beginning of a slice.
    #[inline(always)]
    pub(super) fn store(self, values: &mut [f32]) {
        if let Some(parts) = S::as_mut_simd_f32s(values).0.first_chunk_mut::<N>() {
            *parts = self.parts;
        }
    }

    #[inline(always)]
    fn with(self, other: Self, operation: impl Fn(S::f32s, S::f32s) -> S::f32s) -> Self {
        let mut parts = self.parts;
        for i in 0..N {
            parts[i] = operation(self.parts[i], other.parts[i]);
        }
        Self { simd: self.simd, parts }
    }

    #[inline(always)]
    fn each(self, operation: impl Fn(S::f32s) -> S::f32s) -> Self {
        let mut parts = self.parts;
        for i in 0..N {
            parts[i] = operation(self.parts[i]);
        }
        Self { simd: self.simd, parts }
    }

    /// self + a·b, rounded once.
    #[inline(always)]
    pub(super) fn plus(self, a: Self, b: Self) -> Self {
        let mut parts = self.parts;
        for i in 0..N {
            parts[i] = self.simd.mul_add_f32s(a.parts[i], b.parts[i], self.parts[i]);
        }
        Self { simd: self.simd, parts }
    }

    #[inline(always)]
    pub(super) fn abs(self) -> Self {
        self.each(|a| self.simd.abs_f32s(a))
    }

    #[inline(always)]
    pub(super) fn sqrt(self) -> Self {
        self.each(|a| self.simd.sqrt_f32s(a))
    }

    /// The larger of two numbers; there must be no NaN among them.
    #[inline(always)]
    pub(super) fn max(self, other: Self) -> Self {
        self.with(other, |a, b| self.simd.max_f32s(a, b))
    }

    /// `value` in the lanes above those of another vector, 0 in the others.
    #[inline(always)]
    pub(super) fn where_above(self, other: Self, value: Self) -> Self {
        let zero = self.simd.splat_f32s(0.0);
        let mut parts = self.parts;
        for i in 0..N {
            let above = self.simd.greater_than_f32s(self.parts[i], other.parts[i]);
            parts[i] = self.simd.select_f32s(above, value.parts[i], zero);
        }
        Self { simd: self.simd, parts }
    }

    /// Whether any lane is above 0.
    #[inline(always)]
    pub(super) fn any(self) -> bool {
        let zero = self.simd.splat_f32s(0.0);
        let mut most = zero;
        for i in 0..N {
            most = self.simd.max_f32s(most, self.parts[i]);
        }
        self.simd.first_true_m32s(self.simd.greater_than_f32s(most, zero)) < S::F32_LANES
    }
}

impl<S: Simd, const N: usize> Add for Vector<S, N> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.with(other, |a, b| self.simd.add_f32s(a, b))
    }
}

impl<S: Simd, const N: usize> Sub for Vector<S, N> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.with(other, |a, b| self.simd.sub_f32s(a, b))
    }
}

impl<S: Simd, const N: usize> Mul for Vector<S, N> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.with(other, |a, b| self.simd.mul_f32s(a, b))
    }
}

impl<S: Simd, const N: usize> Div for Vector<S, N> {
    type Output = Self;

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.with(other, |a, b| self.simd.div_f32s(a, b))
    }
}
