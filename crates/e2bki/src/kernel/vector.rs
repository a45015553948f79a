//! Vectors of f32 of the processor's own width, two at a time so that it has independent work while it waits for
//! divisions and roots. All operations are those of IEEE 754, lane by lane.
//!
//! No `map` over arrays and no iterators here or in what uses it: the compiler may leave their closures as calls, and
//! a call cannot pass vectors in registers.

use std::ops::{Add, Div, Mul, Sub};

use pulp::Simd;

/// Two registers.
#[derive(Clone, Copy)]
pub(super) struct Vector<S: Simd> {
    simd: S,
    halves: [S::f32s; 2],
}

impl<S: Simd> Vector<S> {
    pub(super) const LANES: usize = 2 * S::F32_LANES;

    /// One value in every lane.
    #[inline(always)]
    pub(super) fn splat(simd: S, value: f32) -> Self {
        Self { simd, halves: [simd.splat_f32s(value); 2] }
    }

    /// The first values of a slice; missing ones are 0.
    #[inline(always)]
    pub(super) fn load(simd: S, values: &[f32]) -> Self {
        let (vectors, _) = S::as_simd_f32s(values);
        match vectors {
            [low, high, ..] => Self { simd, halves: [*low, *high] },
            _ => Self::splat(simd, 0.0),
        }
    }

    /// Writes to the beginning of a slice.
    #[inline(always)]
    pub(super) fn store(self, values: &mut [f32]) {
        if let ([low, high, ..], _) = S::as_mut_simd_f32s(values) {
            [*low, *high] = self.halves;
        }
    }

    #[inline(always)]
    fn with(self, other: Self, operation: impl Fn(S::f32s, S::f32s) -> S::f32s) -> Self {
        let halves = [operation(self.halves[0], other.halves[0]), operation(self.halves[1], other.halves[1])];
        Self { simd: self.simd, halves }
    }

    /// self + a·b, rounded once.
    #[inline(always)]
    pub(super) fn plus(self, a: Self, b: Self) -> Self {
        let sum = |i: usize| self.simd.mul_add_f32s(a.halves[i], b.halves[i], self.halves[i]);
        Self { simd: self.simd, halves: [sum(0), sum(1)] }
    }

    #[inline(always)]
    pub(super) fn abs(self) -> Self {
        Self { simd: self.simd, halves: [self.simd.abs_f32s(self.halves[0]), self.simd.abs_f32s(self.halves[1])] }
    }

    #[inline(always)]
    pub(super) fn sqrt(self) -> Self {
        Self { simd: self.simd, halves: [self.simd.sqrt_f32s(self.halves[0]), self.simd.sqrt_f32s(self.halves[1])] }
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
        let select = |i: usize| {
            let above = self.simd.greater_than_f32s(self.halves[i], other.halves[i]);
            self.simd.select_f32s(above, value.halves[i], zero)
        };
        Self { simd: self.simd, halves: [select(0), select(1)] }
    }

    /// Whether any lane is above 0.
    #[inline(always)]
    pub(super) fn any(self) -> bool {
        let most = self.simd.max_f32s(self.halves[0], self.halves[1]);
        let above = self.simd.greater_than_f32s(most, self.simd.splat_f32s(0.0));
        self.simd.first_true_m32s(above) < S::F32_LANES
    }
}

impl<S: Simd> Add for Vector<S> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.with(other, |a, b| self.simd.add_f32s(a, b))
    }
}

impl<S: Simd> Sub for Vector<S> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.with(other, |a, b| self.simd.sub_f32s(a, b))
    }
}

impl<S: Simd> Mul for Vector<S> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.with(other, |a, b| self.simd.mul_f32s(a, b))
    }
}

impl<S: Simd> Div for Vector<S> {
    type Output = Self;

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.with(other, |a, b| self.simd.div_f32s(a, b))
    }
}
