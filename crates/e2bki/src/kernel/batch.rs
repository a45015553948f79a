//! Kernel values of many points around one primitive, in vectors of f32: the hot loop of every view.
//!
//! Each lane's arithmetic depends on its own point and primitive only, and every operation (the fused ones too) is
//! rounded as IEEE 754 says, so a point gets the same bits in whatever company and on whatever processor it is
//! evaluated: that is why a voxel centre and a continuous query there agree exactly.

use pulp::Simd;

use super::form::Form;
use super::vector::Vector;
use crate::config::Distance;

/// Points come in multiples of this, which no processor's vectors exceed.
pub(crate) const LANES: usize = 32;

/// A relative step below this is the last: convergence is quadratic, so what remains is of the order of its square.
const SMALL_STEP: f32 = 4e-3;

/// The kernel as s⁵·Q(2s² − 1) with s = 1 − d/reach: its first four derivatives vanish at the edge, and this form
/// keeps relative accuracy there. Q by Chebyshev fit, error 6e−10.
const KERNEL: [f32; 9] = [
    2.850_266e-6,
    -5.217_569e-5,
    7.551_287e-4,
    -8.489_616e-3,
    0.070_851_1,
    -0.415_403_88,
    1.578_207_1,
    -3.405_347_3,
    3.179_476_7,
];

/// Writes the kernel values at `center + (x, y, z)` for one primitive; points out of reach give 0. Reads and writes up
/// to the next multiple of [`LANES`] beyond `len`.
///
/// Lengths are in `form.unit`, which keeps all products below within the range of f32.
#[inline(always)]
pub(crate) fn kernel_of_points<S: Simd>(
    simd: S,
    form: &Form,
    [x, y, z]: [&[f32]; 3],
    len: usize,
    distance: Distance,
    kernel: &mut [f32],
) {
    if form.follows {
        return kernel_within(simd, form, [x, y, z], len, kernel);
    }
    let splat = |value: f32| Vector::<S>::splat(simd, value);
    let per_unit = 1.0 / form.unit;
    let axis = |i: usize| {
        let axis = form.axes[i];
        [splat(axis[0] * per_unit), splat(axis[1] * per_unit), splat(axis[2] * per_unit)]
    };
    let axes = [axis(0), axis(1), axis(2)];
    let a = [form.semi_axes[0] * per_unit, form.semi_axes[1] * per_unit, form.semi_axes[2] * per_unit];
    let squares = [splat(a[0] * a[0]), splat(a[1] * a[1]), splat(a[2] * a[2])];
    let a = [splat(a[0]), splat(a[1]), splat(a[2])];
    let (unit, per_reach) = (splat(form.unit), splat(-1.0 / form.reach));
    let (zero, one) = (splat(0.0), splat(1.0));
    let (small_step, least) = (splat(SMALL_STEP), splat(f32::MIN_POSITIVE));
    let per_vector = Vector::<S>::LANES;
    for start in (0..len).step_by(per_vector) {
        let end = start + per_vector;
        let [x, y, z] = [&x[start..end], &y[start..end], &z[start..end]];
        let [x, y, z] = [Vector::load(simd, x), Vector::load(simd, y), Vector::load(simd, z)];
        // The point in the frame of the axes, first octant.
        let along = |axis: [Vector<S>; 3]| (axis[0] * x).plus(axis[1], y).plus(axis[2], z).abs();
        let p = [along(axes[0]), along(axes[1]), along(axes[2])];
        let w = [a[0] * p[0], a[1] * p[1], a[2] * p[2]];
        let mut t = (w[0] - squares[0]).max(w[1] - squares[1]).max(w[2] - squares[2]).max(zero);
        // A lane stops after its first small step, whatever the others do; usually that is the first or second.
        // Inside the ellipsoid no step leads up, t stays 0 and with it the distance.
        let mut moving = one;
        for _ in 0..form.steps {
            // Newton's method on 1/|q(t)| = 1, with q multiplied through by all denominators: one division, one root.
            let (others, product) = cofactors(t, squares);
            let q = [w[0] * others[0], w[1] * others[1], w[2] * others[2]];
            let q = [q[0] * q[0], q[1] * q[1], q[2] * q[2]];
            let norm = q[0] + q[1] + q[2];
            let slope = (q[0] * others[0]).plus(q[1], others[1]).plus(q[2], others[2]);
            let step = norm / (slope + least) * (norm.sqrt() - product);
            let step = step.max(zero) * moving;
            t = t + step;
            moving = step.where_above(small_step * t, one);
            if !moving.any() {
                break;
            }
        }
        let (others, product) = cofactors(t, squares);
        let v = [p[0] * others[0], p[1] * others[1], p[2] * others[2]];
        let norm = (v[0] * v[0]).plus(v[1], v[1]).plus(v[2], v[2]);
        let d = unit * t * norm.sqrt() / product;
        let d = if distance == Distance::Squared { d * d } else { d };
        let s = one.plus(d, per_reach).max(zero);
        let k = if form.quadratic { s * (one + one - s) } else { value_at(simd, s) };
        k.store(&mut kernel[start..end]);
    }
}

/// The same where the support is an ellipsoid about the centre.
#[inline(always)]
fn kernel_within<S: Simd>(simd: S, form: &Form, [x, y, z]: [&[f32]; 3], len: usize, kernel: &mut [f32]) {
    let within = Within::<S, 2>::new(simd, form);
    let per_vector = Vector::<S>::LANES;
    for start in (0..len).step_by(per_vector) {
        let end = start + per_vector;
        let [x, y, z] = [&x[start..end], &y[start..end], &z[start..end]];
        let [x, y, z] = [Vector::load(simd, x), Vector::load(simd, y), Vector::load(simd, z)];
        within.value(x, y, z).store(&mut kernel[start..end]);
    }
}

/// Most places of a row that are evaluated together, and room beyond them for a whole vector.
pub(crate) const ROW_ROOM: usize = 16 + LANES;

/// A kernel that follows a surface, along rows of places.
pub(crate) struct AlongRows<S: Simd>(S, Within<S, 1>);

impl<S: Simd> AlongRows<S> {
    /// Of a form that follows a surface.
    #[inline(always)]
    pub(crate) fn new(simd: S, form: &Form) -> Self {
        Self(simd, Within::new(simd, form))
    }

    /// Writes the values at `len` x from a first one on, 16 at most, and whatever comes out for some beyond them.
    #[inline(always)]
    pub(crate) fn row(
        &self,
        x: &[f32; ROW_ROOM],
        first: usize,
        [y, z]: [f32; 2],
        len: usize,
        kernel: &mut [f32; ROW_ROOM],
    ) {
        let Self(simd, within) = self;
        let (y, z) = (Vector::splat(*simd, y), Vector::splat(*simd, z));
        let mut start = 0;
        while start < len.min(16) {
            let values = within.value(Vector::load(*simd, &x[first + start..]), y, z);
            values.store(&mut kernel[start..]);
            start += Vector::<S, 1>::LANES;
        }
    }
}

/// A kernel that follows a surface, at a few points.
pub(crate) struct AtPoints<S: Simd>(S, Within<S, 1>);

impl<S: Simd> AtPoints<S> {
    /// Of a form that follows a surface.
    #[inline(always)]
    pub(crate) fn new(simd: S, form: &Form) -> Self {
        Self(simd, Within::new(simd, form))
    }

    /// Writes the values at the first `len` of some points, and whatever comes out for some beyond them.
    #[inline(always)]
    pub(crate) fn values(&self, [x, y, z]: &[[f32; LANES]; 3], len: usize, kernel: &mut [f32; LANES]) {
        let Self(simd, within) = self;
        for start in (0..len.min(LANES)).step_by(Vector::<S, 1>::LANES) {
            let [x, y, z] = [&x[start..], &y[start..], &z[start..]];
            let [x, y, z] = [Vector::load(*simd, x), Vector::load(*simd, y), Vector::load(*simd, z)];
            within.value(x, y, z).store(&mut kernel[start..]);
        }
    }
}

/// A kernel whose support is an ellipsoid about the centre: the length of U·x is the distance, and 1 the reach.
struct Within<S: Simd, const N: usize> {
    simd: S,
    axes: [Vector<S, N>; 6],
    quadratic: bool,
}

impl<S: Simd, const N: usize> Within<S, N> {
    #[inline(always)]
    fn new(simd: S, form: &Form) -> Self {
        let splat = |value: f32| Vector::splat(simd, value);
        let [[a, b, c], [_, d, e], [_, _, f]] = form.axes;
        let axes = [splat(a), splat(b), splat(c), splat(d), splat(e), splat(f)];
        Self { simd, axes, quadratic: form.quadratic }
    }

    #[inline(always)]
    fn value(&self, x: Vector<S, N>, y: Vector<S, N>, z: Vector<S, N>) -> Vector<S, N> {
        let [a, b, c, d, e, f] = self.axes;
        let (zero, one) = (Vector::splat(self.simd, 0.0), Vector::splat(self.simd, 1.0));
        let u = (a * x).plus(b, y).plus(c, z);
        let v = (d * y).plus(e, z);
        let w = f * z;
        let squared = (u * u).plus(v, v).plus(w, w);
        // The quadratic one needs no root and no polynomial.
        if self.quadratic { (one - squared).max(zero) } else { value_at(self.simd, (one - squared.sqrt()).max(zero)) }
    }
}

/// The kernel for a nearness s.
#[inline(always)]
fn value_at<S: Simd, const N: usize>(simd: S, s: Vector<S, N>) -> Vector<S, N> {
    let splat = |value: f32| Vector::splat(simd, value);
    let s2 = s * s;
    let argument = s2 + s2 - splat(1.0);
    let mut q = splat(KERNEL[0]);
    for i in 1..KERNEL.len() {
        q = splat(KERNEL[i]).plus(q, argument);
    }
    s2 * s2 * s * q
}

/// The sparse kernel in f32 for a nearness s = 1 − d/ℓ from 0 to 1, without a call or a branch: a loop of it becomes
/// vector instructions. Accurate to 1e−6 of its value.
#[inline(always)]
pub fn kernel_of_nearness(s: f32) -> f32 {
    let s2 = s * s;
    let argument = s2 + s2 - 1.0;
    let mut q = KERNEL[0];
    for c in &KERNEL[1..] {
        q = q * argument + c;
    }
    s2 * s2 * s * q
}

/// Of s_i = t + a_i²: the products of the other two, and of all three.
#[inline(always)]
fn cofactors<S: Simd>(t: Vector<S>, squares: [Vector<S>; 3]) -> ([Vector<S>; 3], Vector<S>) {
    let [s0, s1, s2] = [t + squares[0], t + squares[1], t + squares[2]];
    let s12 = s1 * s2;
    ([s12, s0 * s2, s0 * s1], s0 * s12)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Profile, Shape};
    use crate::kernel::{quadratic_kernel, sparse_kernel};
    use crate::primitive::Ellipsoid;
    use proptest::prelude::*;

    type Kernel = fn(f64, f64) -> f64;
    const KERNELS: [(Profile, Kernel); 2] = [(Profile::Sparse, sparse_kernel), (Profile::Quadratic, quadratic_kernel)];

    /// The value at one point in company of others, through the vectors of this processor and one by one.
    fn kernel_at(form: &Form, x: [f32; 3], distance: Distance) -> f32 {
        struct Call<'a>(&'a Form, [[f32; LANES]; 3], Distance);
        impl pulp::WithSimd for Call<'_> {
            type Output = [f32; LANES];
            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) -> [f32; LANES] {
                let mut kernel = [0.0; LANES];
                kernel_of_points(simd, self.0, self.1.each_ref().map(|v| v.as_slice()), LANES, self.2, &mut kernel);
                kernel
            }
        }
        let mut company = x.map(|v| [v; LANES]);
        (0..LANES).step_by(3).for_each(|lane| company[lane % 3][lane] *= 0.1 * lane as f32);
        let vectors = pulp::Arch::new().dispatch(Call(form, company, distance));
        let scalars = pulp::Arch::Scalar.dispatch(Call(form, company, distance));
        assert_eq!(vectors.map(f32::to_bits), scalars.map(f32::to_bits));
        assert!((0..LANES).filter(|lane| lane % 3 != 0).all(|lane| vectors[lane] == vectors[1]), "lanes differ");
        vectors[1]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn batched_kernel_agrees_with_the_reference(
            log_a in prop::array::uniform3(-2.1..1.0_f64),
            m in prop::array::uniform3(-1.0..1.0_f64),
            direction in prop::array::uniform3(-1.0..1.0_f64),
            height in 0.0..0.6_f64,
            reach in 0.15..0.41_f64,
        ) {
            // A rotated ellipsoid from a Gaussian, and points near its surface.
            let (l, c) = (log_a.map(|v| 10.0_f64.powf(v).powi(2)), m);
            let covariance = [l[0] + c[0] * c[0], l[1] + c[1] * c[1], l[2] + c[2] * c[2], c[0] * c[1], c[0] * c[2], c[1] * c[2]];
            let ellipsoid = Ellipsoid::of_gaussian([0.0; 3], covariance, 0.5843744, Shape::Ellipsoid);
            let norm = direction.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-6);
            let on_surface: [f64; 3] = std::array::from_fn(|i| {
                (0..3).map(|k| ellipsoid.semi_axes[k] * direction[k] / norm * ellipsoid.axes[k][i]).sum::<f64>()
            });
            let length = on_surface.iter().map(|v| v * v).sum::<f64>().sqrt();
            let x: [f64; 3] = std::array::from_fn(|i| on_surface[i] * (1.0 + height / length));
            let x: [f32; 3] = x.map(|v| v as f32);
            for (profile, kernel) in KERNELS {
                let form = Form::new(&ellipsoid, reach, Distance::Euclidean, profile);
                let k = kernel_at(&form, x, Distance::Euclidean);
                let expected = kernel(ellipsoid.distance(x.map(f64::from)), reach);
                // The quadratic one is not flat where it ends: what a distance is off by, it is off by twice over the reach.
                let most = if profile == Profile::Sparse { 5e-5 } else { 5e-5 + 2.0 * 4e-5 / reach };
                prop_assert!((f64::from(k) - expected).abs() < most, "{k} {expected} a {:?}", ellipsoid.semi_axes);
                if k > 0.0 {
                    prop_assert!((0..3).all(|i| x[i].abs() <= form.half_box[i]), "the box cuts the kernel");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_kernel_within_an_ellipsoid_is_that_of_its_own_distance(
            c in prop::array::uniform3(prop::array::uniform3(-1.0..1.0_f64)), least in 0.05..0.5_f64,
            x in prop::array::uniform3(-1.5..1.5_f32),
        ) {
            let b = |i: usize, j: usize| (0..3).map(|k| c[i][k] * c[j][k]).sum::<f64>() + if i == j { least * least } else { 0.0 };
            let support = [b(0, 0), b(1, 1), b(2, 2), b(0, 1), b(0, 2), b(1, 2)];
            let u = crate::kernel::root_of_inverse(support);
            let distance = |x: [f64; 3]| u.iter().map(|row| (0..3).map(|i| row[i] * x[i]).sum::<f64>().powi(2)).sum::<f64>().sqrt();
            for (profile, kernel) in KERNELS {
                let form = Form::within(support, (support[0] + support[1] + support[2]).sqrt(), profile);
                let k = kernel_at(&form, x, Distance::Euclidean);
                prop_assert!((f64::from(k) - kernel(distance(x.map(f64::from)), 1.0)).abs() < 2e-5, "{k}");
                if k > 0.0 {
                    prop_assert!((0..3).all(|i| x[i].abs() <= form.half_box[i]), "the box cuts the kernel");
                    prop_assert!(x.iter().map(|v| v * v).sum::<f32>() <= form.reach * form.reach * (1.0 + 1e-5), "the ball cuts it");
                }
            }
        }
    }

    #[test]
    fn the_polynomial_is_the_sparse_kernel() {
        // A point-like ellipsoid makes the distance exact enough to see the polynomial alone.
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let point = Ellipsoid { center: [0.0; 3], axes, semi_axes: [1e-6; 3] };
        let form = Form::new(&point, 1.0, Distance::Euclidean, Profile::Sparse);
        for i in 0..=1000 {
            let d = i as f32 / 1000.0;
            let k = kernel_at(&form, [d, 0.0, 0.0], Distance::Euclidean);
            assert!((f64::from(k) - sparse_kernel(f64::from(d), 1.0)).abs() < 5e-6, "{d}: {k}");
            assert!((0.0..=1.0).contains(&k), "{d}: {k}");
        }
    }

    #[test]
    fn tiny_axes_and_vast_reaches_stay_within_the_range_of_f32() {
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        for longest in [1e-6, 1e-3, 0.05, 20.0] {
            for flat in [1.0_f64, 0.1, 0.01] {
                for reach in [0.005, 0.4, 136.0] {
                    let semi_axes = [longest * flat, longest * flat.sqrt(), longest];
                    let ellipsoid = Ellipsoid { center: [0.0; 3], axes, semi_axes };
                    let form = Form::new(&ellipsoid, reach, Distance::Euclidean, Profile::Sparse);
                    // The bound of the other test, and what rounding the position to f32 costs beside a short reach.
                    let tolerance = 5e-5 + 4.0 * f64::from(f32::EPSILON) * (longest + reach) / reach;
                    for step in 0..60 {
                        let away = longest + reach * f64::from(step) / 50.0;
                        let x = [0.64 * away, 0.48 * away, 0.6 * away].map(|v| v as f32);
                        let k = kernel_at(&form, x, Distance::Euclidean);
                        let expected = sparse_kernel(ellipsoid.distance(x.map(f64::from)), reach);
                        assert!(
                            (f64::from(k) - expected).abs() < tolerance,
                            "{semi_axes:?} {reach} {x:?}: {k} {expected}"
                        );
                    }
                }
            }
        }
    }
}
