//! Kernel values of a batch of points around one primitive, in f32 lanes: the hot loop of every view.
//!
//! Each lane's arithmetic depends on its own point and primitive only, so a point gets the same bits in whatever company it is evaluated: that is why a voxel centre and a continuous query there agree exactly.

use crate::config::Distance;
use crate::primitive::Form;

/// Points per batch. More than one vector register holds, so that the processor has independent work while it waits
/// for divisions and roots.
pub(crate) const LANES: usize = 16;

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

/// Distance from the surface at which the kernel ends, metres.
pub(crate) fn support_of(reach: f32, distance: Distance) -> f32 {
    if distance == Distance::Squared { reach.sqrt() } else { reach }
}

/// A value per point. Loops over them become vector instructions.
pub(crate) type Lanes = [f32; LANES];

/// Applies an operation to every lane.
#[inline(always)]
fn lanes(operation: impl Fn(usize) -> f32) -> Lanes {
    // Not `from_fn`, which is sometimes left as a call.
    let mut values = [0.0; LANES];
    for (lane, value) in values.iter_mut().enumerate() {
        *value = operation(lane);
    }
    values
}

/// Kernel values at `center + (x, y, z)` for one primitive. Lanes out of reach give 0.
///
/// Lengths are in `form.unit`, which keeps all products below within the range of f32.
#[inline(always)]
pub(crate) fn kernel_of_lanes(form: &Form, [x, y, z]: [Lanes; 3], distance: Distance) -> Lanes {
    let per_unit = 1.0 / form.unit;
    let a = [form.semi_axes[0] * per_unit, form.semi_axes[1] * per_unit, form.semi_axes[2] * per_unit];
    let squares = [a[0] * a[0], a[1] * a[1], a[2] * a[2]];
    // The point in the frame of the axes, first octant.
    let along = |axis: [f32; 3]| {
        let axis = [axis[0] * per_unit, axis[1] * per_unit, axis[2] * per_unit];
        lanes(|l| (axis[0] * x[l] + axis[1] * y[l] + axis[2] * z[l]).abs())
    };
    let p = [along(form.axes[0]), along(form.axes[1]), along(form.axes[2])];
    let w = [lanes(|l| a[0] * p[0][l]), lanes(|l| a[1] * p[1][l]), lanes(|l| a[2] * p[2][l])];
    let mut t = lanes(|l| (w[0][l] - squares[0]).max(w[1][l] - squares[1]).max(w[2][l] - squares[2]).max(0.0));
    // A lane stops after its first small step, whatever the others do; usually that is the first or second.
    let mut moving = [1.0_f32; LANES];
    for _ in 0..form.steps {
        let step = lanes(|l| newton_step(t[l], squares, [w[0][l], w[1][l], w[2][l]]));
        t = lanes(|l| t[l] + moving[l] * step[l]);
        moving = lanes(|l| if step[l] > SMALL_STEP * t[l] { moving[l] } else { 0.0 });
        if moving == [0.0; LANES] {
            break;
        }
    }
    let inverse = [1.0 / a[0], 1.0 / a[1], 1.0 / a[2]];
    let d = lanes(|l| {
        let [i0, i1, i2] = [p[0][l] * inverse[0], p[1][l] * inverse[1], p[2][l] * inverse[2]];
        let inside = i0 * i0 + i1 * i1 + i2 * i2 <= 1.0;
        let (others, product) = cofactors(t[l], squares);
        let [v0, v1, v2] = [p[0][l] * others[0], p[1][l] * others[1], p[2][l] * others[2]];
        let d = form.unit * t[l] * (v0 * v0 + v1 * v1 + v2 * v2).sqrt() / product;
        if inside { 0.0 } else { d }
    });
    let d = if distance == Distance::Squared { lanes(|l| d[l] * d[l]) } else { d };
    let reach = 1.0 / form.reach;
    lanes(|l| kernel_of_nearness((1.0 - d[l] * reach).max(0.0)))
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

/// One step of Newton's method on 1/|q(t)| = 1, with q multiplied through by all denominators: one division, one root.
#[inline(always)]
fn newton_step(t: f32, squares: [f32; 3], w: [f32; 3]) -> f32 {
    let (others, product) = cofactors(t, squares);
    let [q0, q1, q2] = [w[0] * others[0], w[1] * others[1], w[2] * others[2]];
    let [q0, q1, q2] = [q0 * q0, q1 * q1, q2 * q2];
    let norm = q0 + q1 + q2;
    let slope = q0 * others[0] + q1 * others[1] + q2 * others[2];
    norm / slope * (norm.sqrt() - product)
}

/// Of s_i = t + a_i²: the products of the other two, and of all three.
#[inline(always)]
fn cofactors(t: f32, squares: [f32; 3]) -> ([f32; 3], f32) {
    let [s0, s1, s2] = [t + squares[0], t + squares[1], t + squares[2]];
    let s12 = s1 * s2;
    ([s12, s0 * s2, s0 * s1], s0 * s12)
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
            let k = kernel_of_lanes(&form, x.map(|v| [v; LANES]), Distance::Euclidean);
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
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let point = Ellipsoid { center: [0.0; 3], axes, semi_axes: [1e-6; 3] };
        let form = Form::new(&point, 1.0, Distance::Euclidean);
        for i in 0..=1000 {
            let d = i as f32 / 1000.0;
            let k = kernel_of_lanes(&form, [[d; LANES], [0.0; LANES], [0.0; LANES]], Distance::Euclidean)[0];
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
                    let form = Form::new(&ellipsoid, reach, Distance::Euclidean);
                    // The bound of the other test, and what rounding the position to f32 costs beside a short reach.
                    let tolerance = 5e-5 + 4.0 * f64::from(f32::EPSILON) * (longest + reach) / reach;
                    for step in 0..60 {
                        let away = longest + reach * f64::from(step) / 50.0;
                        let x = [0.64 * away, 0.48 * away, 0.6 * away].map(|v| v as f32);
                        let k = kernel_of_lanes(&form, x.map(|v| [v; LANES]), Distance::Euclidean)[0];
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
