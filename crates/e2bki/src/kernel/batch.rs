//! Kernel values of eight points around one primitive, in f32 lanes: the hot loop of every view.
//!
//! Each lane's arithmetic depends on its own point only, and the number of steps on the primitive only, so a point gets the same
//! bits in whatever company it is evaluated: that is why a voxel centre and a continuous query there agree exactly.

use wide::f32x8;

use crate::config::Distance;
use crate::primitive::Form;

/// Points per batch.
pub(crate) const LANES: usize = 8;

/// The kernel as s⁵·Q(2s² − 1) with s = 1 − d/reach: its first four derivatives vanish at the edge, and this form
/// keeps relative accuracy there. Q by Chebyshev fit, error 6e−10.
const KERNEL: [f32; 9] = [
    2.850_266_0e-6,
    -5.217_569e-5,
    7.551_287e-4,
    -8.489_616e-3,
    0.070_851_1,
    -0.415_403_88,
    1.578_207_1,
    -3.405_347_3,
    3.179_476_7,
];

/// Distance from the surface at which the kernel ends, metres.
pub(crate) fn support_of(reach: f32, distance: Distance) -> f32 {
    if distance == Distance::Squared { reach.sqrt() } else { reach }
}

/// Kernel values at `center + (x, y, z)` for one primitive. Lanes out of reach give 0.
#[inline]
pub(crate) fn kernel_of_lanes(form: &Form, [x, y, z]: [f32x8; 3], distance: Distance) -> f32x8 {
    let a = form.semi_axes.map(f32x8::splat);
    let zero = f32x8::ZERO;
    let one = f32x8::ONE;
    let mut p = [zero; 3];
    let mut inside = zero;
    let mut t = zero;
    let mut squares = [zero; 3];
    for i in 0..3 {
        let axis = form.axes[i].map(f32x8::splat);
        p[i] = (axis[0] * x + axis[1] * y + axis[2] * z).abs();
        let ratio = p[i] / a[i];
        inside += ratio * ratio;
        squares[i] = a[i] * a[i];
        t = t.max(a[i] * p[i] - squares[i]);
    }
    let weighted: [f32x8; 3] = std::array::from_fn(|i| a[i] * p[i]);
    for _ in 0..form.steps {
        let (mut norm, mut slope) = (zero, zero);
        for i in 0..3 {
            let inverse = one / (t + squares[i]);
            let q = weighted[i] * inverse;
            let q2 = q * q;
            norm += q2;
            slope += q2 * inverse;
        }
        t += norm / slope * (norm.sqrt() - one);
    }
    let mut length = zero;
    for i in 0..3 {
        let v = p[i] / (t + squares[i]);
        length += v * v;
    }
    let mut d = t * length.sqrt();
    if distance == Distance::Squared {
        d *= d;
    }
    let d = inside.simd_le(one).select(zero, d);
    let s = one - d * f32x8::splat(1.0 / form.reach);
    let w = s * s;
    let w2 = w + w - one;
    let mut q = f32x8::splat(KERNEL[0]);
    for c in &KERNEL[1..] {
        q = q * w2 + f32x8::splat(*c);
    }
    let k = w * w * s * q;
    s.simd_gt(zero).select(k, zero)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Shape;
    use crate::kernel::sparse_kernel;
    use crate::primitive::Ellipsoid;
    use proptest::prelude::*;

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
            let form = Form::new(&ellipsoid, reach, Distance::Euclidean);
            let k = kernel_of_lanes(&form, x.map(f32x8::splat), Distance::Euclidean).to_array();
            let expected = sparse_kernel(ellipsoid.distance(x.map(f64::from)), reach);
            prop_assert!(k.iter().all(|v| *v == k[0]), "lanes differ");
            prop_assert!((f64::from(k[0]) - expected).abs() < 5e-5, "{} {expected} a {:?}", k[0], ellipsoid.semi_axes);
            if k[0] > 0.0 {
                prop_assert!((0..3).all(|i| x[i].abs() <= form.half_box[i]), "the box cuts the kernel");
            }
        }
    }

    #[test]
    fn the_polynomial_is_the_sparse_kernel() {
        // A point-like ellipsoid makes the distance exact enough to see the polynomial alone.
        let form = Form {
            axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            semi_axes: [1e-6; 3],
            reach: 1.0,
            half_box: [1.0; 3],
            steps: 2,
        };
        for i in 0..=1000 {
            let d = i as f32 / 1000.0;
            let k =
                kernel_of_lanes(&form, [f32x8::splat(d), f32x8::ZERO, f32x8::ZERO], Distance::Euclidean).to_array()[0];
            assert!((f64::from(k) - sparse_kernel(f64::from(d), 1.0)).abs() < 5e-6, "{d}: {k}");
            assert!((0.0..=1.0).contains(&k), "{d}: {k}");
        }
    }
}
