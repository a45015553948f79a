//! Eight channels of a pixel as one vector: with AVX2 and FMA where available, plain loops elsewhere.

/// Channels per block.
pub(super) const LANES: usize = 8;

/// Values of eight neighbouring channels at one pixel.
pub(super) type Eight = [f32; LANES];

/// SIMD operations on eight numbers.
pub(super) trait Simd: Copy {
    type Vector: Copy;

    fn load(self, from: &Eight) -> Self::Vector;
    fn store(self, v: Self::Vector) -> Eight;
    fn splat(self, value: f32) -> Self::Vector;
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn min(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn max(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// a · b + c, fused where that is fast.
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
}

/// A computation that is generic over the instruction set.
pub(super) trait Kernel {
    type Output;

    fn run<V: Simd>(self, v: V) -> Self::Output;
}

/// Runs a kernel with the best instruction set available.
pub(super) fn dispatch<W: Kernel>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(v) = pulp::x86::V3::try_new() {
        return pulp::Simd::vectorize(
            v,
            #[inline(always)]
            || work.run(v),
        );
    }
    dispatch_scalar(work)
}

/// Runs a kernel with plain loops, which the compiler vectorizes.
pub(super) fn dispatch_scalar<W: Kernel>(work: W) -> W::Output {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || work.run(Scalar),
    )
}

#[cfg(target_arch = "x86_64")]
impl Simd for pulp::x86::V3 {
    type Vector = pulp::f32x8;

    #[inline(always)]
    fn load(self, from: &Eight) -> Self::Vector {
        pulp::bytemuck::cast(*from)
    }

    #[inline(always)]
    fn store(self, v: Self::Vector) -> Eight {
        pulp::bytemuck::cast(v)
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Self::Vector {
        self.splat_f32x8(value)
    }

    #[inline(always)]
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        pulp::Simd::add_f32s(self, a, b)
    }

    #[inline(always)]
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        pulp::Simd::mul_f32s(self, a, b)
    }

    #[inline(always)]
    fn min(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        pulp::Simd::min_f32s(self, a, b)
    }

    #[inline(always)]
    fn max(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        pulp::Simd::max_f32s(self, a, b)
    }

    #[inline(always)]
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
        self.mul_add_f32x8(a, b, c)
    }
}

/// Plain loops over eight numbers.
#[derive(Clone, Copy)]
pub(super) struct Scalar;

#[inline(always)]
fn each(a: Eight, b: Eight, of: impl Fn(f32, f32) -> f32) -> Eight {
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        out[i] = of(a[i], b[i]);
    }
    out
}

impl Simd for Scalar {
    type Vector = Eight;

    #[inline(always)]
    fn load(self, from: &Eight) -> Eight {
        *from
    }

    #[inline(always)]
    fn store(self, v: Eight) -> Eight {
        v
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Eight {
        [value; LANES]
    }

    #[inline(always)]
    fn add(self, a: Eight, b: Eight) -> Eight {
        each(a, b, |a, b| a + b)
    }

    #[inline(always)]
    fn mul(self, a: Eight, b: Eight) -> Eight {
        each(a, b, |a, b| a * b)
    }

    #[inline(always)]
    fn min(self, a: Eight, b: Eight) -> Eight {
        each(a, b, f32::min)
    }

    #[inline(always)]
    fn max(self, a: Eight, b: Eight) -> Eight {
        each(a, b, f32::max)
    }

    #[inline(always)]
    fn mul_add(self, a: Eight, b: Eight, mut c: Eight) -> Eight {
        for i in 0..LANES {
            // Every 64-bit ARM has fused multiply-add; elsewhere it may be a slow function call.
            c[i] = if cfg!(target_arch = "aarch64") { a[i].mul_add(b[i], c[i]) } else { a[i] * b[i] + c[i] };
        }
        c
    }
}
