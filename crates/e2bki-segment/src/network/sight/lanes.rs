//! Eight channels of a place as one vector: with AVX2 and FMA where the machine has them, as plain loops elsewhere.

/// Channels of a block.
pub(super) const LANES: usize = 8;

/// Values of eight neighbouring channels at one place.
pub(super) type Eight = [f32; LANES];

/// Instructions on eight numbers.
pub(super) trait Lanes: Copy {
    type Vector: Copy;

    fn load(self, from: &Eight) -> Self::Vector;
    fn eight(self, v: Self::Vector) -> Eight;
    fn splat(self, value: f32) -> Self::Vector;
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn min(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn max(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// a · b + c, in one step where that is quick.
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
}

/// Something to be done with whatever instructions there are.
pub(super) trait Work {
    type Output;

    fn run<V: Lanes>(self, v: V) -> Self::Output;
}

/// Does it with the machine's best.
pub(super) fn dispatch<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(v) = pulp::x86::V3::try_new() {
        return pulp::Simd::vectorize(
            v,
            #[inline(always)]
            || work.run(v),
        );
    }
    plainly(work)
}

/// Does it with loops that the compiler turns into what instructions there are.
pub(super) fn plainly<W: Work>(work: W) -> W::Output {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || work.run(Plain),
    )
}

#[cfg(target_arch = "x86_64")]
impl Lanes for pulp::x86::V3 {
    type Vector = pulp::f32x8;

    #[inline(always)]
    fn load(self, from: &Eight) -> Self::Vector {
        pulp::bytemuck::cast(*from)
    }

    #[inline(always)]
    fn eight(self, v: Self::Vector) -> Eight {
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

/// Loops over eight numbers.
#[derive(Clone, Copy)]
pub(super) struct Plain;

#[inline(always)]
fn each(a: Eight, b: Eight, of: impl Fn(f32, f32) -> f32) -> Eight {
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        out[i] = of(a[i], b[i]);
    }
    out
}

impl Lanes for Plain {
    type Vector = Eight;

    #[inline(always)]
    fn load(self, from: &Eight) -> Eight {
        *from
    }

    #[inline(always)]
    fn eight(self, v: Eight) -> Eight {
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
            // Every 64-bit ARM has the fused form; elsewhere it may be a slow function.
            c[i] = if cfg!(target_arch = "aarch64") { a[i].mul_add(b[i], c[i]) } else { a[i] * b[i] + c[i] };
        }
        c
    }
}
