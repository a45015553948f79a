//! Blocked and fused layers against the training layers.

use super::blocked::{BlockedTensor, Buffers};
use super::depthwise::Depthwise;
use super::outputs::{add_resized, to_planes};
use super::pointwise::{Pointwise, activate, groups};
use super::simd::{Eight, Kernel, LANES, Simd, dispatch, dispatch_scalar};
use super::stem::Stem;
use crate::network::layers::tests::{noise, tensor};
use crate::network::layers::{Tensor, bilinear, depthwise, im2col, pointwise};
use crate::network::plan::{Activation, ConvNormActivation, Grouping};

fn to_blocked(x: &Tensor, buffers: &mut Buffers) -> BlockedTensor {
    let mut out = buffers.tensor(x.channels, x.height, x.width);
    for (number, block) in out.blocks_mut().enumerate() {
        for (at, pixel) in block.iter_mut().enumerate() {
            *pixel =
                std::array::from_fn(|i| x.values.get((number * LANES + i) * x.cells() + at).copied().unwrap_or(0.0));
        }
    }
    out
}

fn close(found: &BlockedTensor, expected: &Tensor, what: &str) {
    assert_eq!((found.height, found.width), (expected.height, expected.width), "{what}");
    for c in 0..expected.channels {
        for at in 0..expected.cells() {
            let (a, b) = (found.block(c / LANES)[at][c % LANES], expected.values[c * expected.cells() + at]);
            assert!((a - b).abs() < 2e-5, "{what}: channel {c}, pixel {at}: {a}, not {b}");
        }
    }
}

/// Every value of a channel scaled, shifted and passed through the activation.
fn finished(mut x: Tensor, scale: &[f32], shift: &[f32], activation: Activation) -> Tensor {
    let cells = x.cells();
    for (at, value) in x.values.iter_mut().enumerate() {
        let z = scale[at / cells] * *value + shift[at / cells];
        *value = match activation {
            Activation::Identity => z,
            Activation::Relu => z.max(0.0),
            Activation::HardSwish => z * (z + 3.0).clamp(0.0, 6.0) / 6.0,
        };
    }
    x
}

fn conv(
    grouping: Grouping,
    inputs: usize,
    outputs: usize,
    [kernel, stride, dilation]: [usize; 3],
    activation: Activation,
) -> ConvNormActivation {
    let (convolution, norm) = (String::new(), String::new());
    ConvNormActivation {
        convolution,
        norm,
        grouping,
        inputs,
        outputs,
        kernel,
        stride,
        dilation,
        activation,
        epsilon: 1e-3,
        momentum: 0.1,
    }
}

#[test]
fn every_number_of_blocks_is_divided_into_groups_of_up_to_three() {
    for blocks in 1..200 {
        let mut next = 0;
        for (first, count) in groups(blocks) {
            assert!(first == next && (1..=3).contains(&count));
            // A single block keeps too few sums in flight.
            assert!(count > 1 || blocks == 1, "{blocks}");
            next += count;
        }
        assert_eq!(next, blocks);
    }
}

#[test]
fn products_are_those_of_the_plain_layer() {
    for (inputs, outputs, height, width, activation) in [
        (16, 24, 5, 7, Activation::Relu),
        (24, 64, 9, 31, Activation::HardSwish),
        (11, 19, 1, 1, Activation::Identity),
        (40, 8, 2, 3, Activation::Identity),
        (96, 32, 16, 33, Activation::HardSwish),
    ] {
        let (x, w) = (tensor([inputs, 1, height, width], 1), noise(inputs * outputs, 2));
        let (scale, shift) = (noise(outputs, 3), noise(outputs, 4));
        let factors = noise(inputs, 5);
        let layer = Pointwise::new(&w, &scale, &shift, activation);
        let mut buffers = Buffers::default();
        let blocked = to_blocked(&x, &mut buffers);
        let expected = finished(pointwise::forward(&x, &w, None), &scale, &shift, activation);
        close(&layer.product().forward(&blocked, None, &mut buffers), &expected, "product");
        let (mut doubled, skip) = (expected.clone(), tensor([outputs, 1, height, width], 6));
        doubled.add(&skip);
        let skip = to_blocked(&skip, &mut buffers);
        close(&layer.product().forward(&blocked, Some(&skip), &mut buffers), &doubled, "with what is skipped");

        let mut packed = vec![[0.0; LANES]; inputs.div_ceil(LANES)];
        packed.as_flattened_mut()[..inputs].copy_from_slice(&factors);
        let mut weights = vec![[9.0; LANES]; layer.size()];
        let by_factors: Vec<f32> = w.iter().enumerate().map(|(i, w)| w * factors[i % inputs]).collect();
        let expected = finished(pointwise::forward(&x, &by_factors, None), &scale, &shift, activation);
        close(&layer.scaled(&packed, &mut weights).forward(&blocked, None, &mut buffers), &expected, "scaled");
    }
}

#[test]
fn fused_expansion_and_depthwise_is_the_same_as_one_after_the_other() {
    for (shape, height, width, activation) in [
        ([3, 1, 1], 40, 300, Activation::Relu),
        ([3, 2, 1], 61, 150, Activation::HardSwish),
        ([5, 2, 1], 33, 64, Activation::Relu),
        ([5, 1, 2], 24, 32, Activation::HardSwish),
        ([5, 1, 2], 50, 90, Activation::Relu),
        ([3, 2, 1], 1, 2, Activation::Relu),
        ([5, 1, 2], 2, 1, Activation::Relu),
    ] {
        let x = tensor([16, 1, height, width], 1);
        for (expanded, with) in [(16, false), (56, true), (72, true)] {
            let expand = conv(Grouping::Pointwise, 16, expanded, [1, 1, 1], activation);
            let of_depthwise = conv(Grouping::Depthwise, expanded, expanded, shape, activation);
            let (we, se, te) = (noise(16 * expanded, 2), noise(expanded, 3), noise(expanded, 4));
            let (wd, sd, td) = (noise(expanded * shape[0] * shape[0], 5), noise(expanded, 6), noise(expanded, 7));
            let between =
                if with { finished(pointwise::forward(&x, &we, None), &se, &te, expand.activation) } else { x.clone() };
            let expected = finished(depthwise::forward(&between, &wd, &of_depthwise), &sd, &td, activation);
            let layer = Depthwise::new(&of_depthwise, &wd, &sd, &td);
            let first = with.then(|| Pointwise::new(&we, &se, &te, expand.activation));
            let mut buffers = Buffers::default();
            let blocked = to_blocked(&x, &mut buffers);
            let (found, means) = layer.forward(first.as_ref(), &blocked, true, &mut buffers);
            close(&found, &expected, &format!("{shape:?} {height} {width} {expanded}"));
            for (c, plane) in expected.values.chunks(expected.cells()).enumerate() {
                let mean = plane.iter().map(|v| f64::from(*v)).sum::<f64>() / expected.cells() as f64;
                assert!((f64::from(means[c / LANES][c % LANES]) - mean).abs() < 1e-5);
            }
        }
    }
}

#[test]
fn the_first_convolution_is_that_of_the_plain_layer() {
    for (height, width) in [(20, 31), (9, 8), (1, 1), (2, 1)] {
        let conv = conv(Grouping::Dense, 3, 16, [3, 2, 1], Activation::HardSwish);
        let (x, w, scale, shift) = (tensor([3, 1, height, width], 1), noise(16 * 27, 2), noise(16, 3), noise(16, 4));
        let expected =
            finished(pointwise::forward(&im2col::im2col(&x, &conv), &w, None), &scale, &shift, conv.activation);
        let stem = Stem { product: Pointwise::new(&w, &scale, &shift, conv.activation), conv };
        let planes: Vec<&[f32]> = x.values.chunks(x.cells()).collect();
        close(&stem.forward(&planes, [height, width], &mut Buffers::default()), &expected, "stem");
    }
}

#[test]
fn outputs_are_resized_as_the_plain_layer_does() {
    for (from, more, to) in [([6, 8], [3, 4], [48, 64]), ([5, 3], [3, 2], [33, 20]), ([1, 1], [1, 1], [4, 7])] {
        let (x, y) = (tensor([11, 1, from[0], from[1]], 1), tensor([11, 1, more[0], more[1]], 2));
        let mut buffers = Buffers::default();
        let (mut sum, y_blocked) = (to_blocked(&x, &mut buffers), to_blocked(&y, &mut buffers));
        add_resized(&mut sum, &y_blocked);
        let mut expected = x.clone();
        expected.add(&bilinear::resize(&y, from));
        close(&sum, &expected, "sum");
        let expected = bilinear::resize(&expected, to);
        let mut found = expected.like(11);
        to_planes(&sum, found.values.chunks_mut(to[0] * to[1]).collect(), to);
        assert!(found.values.iter().zip(&expected.values).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}

/// Uses every SIMD operation.
struct Sample<'a>(&'a [Eight]);

impl Kernel for Sample<'_> {
    type Output = Vec<Eight>;

    #[inline(always)]
    fn run<V: Simd>(self, v: V) -> Vec<Eight> {
        let mut out = Vec::new();
        for pair in self.0.windows(2) {
            let (a, b) = (v.load(&pair[0]), v.load(&pair[1]));
            let sum = v.mul_add(a, b, v.add(v.min(a, b), v.max(a, v.mul(b, v.splat(0.5)))));
            out.push(v.store(activate(v, Activation::HardSwish, sum)));
        }
        out
    }
}

#[test]
fn scalar_and_simd_agree() {
    let values: Vec<Eight> = noise(800, 3).as_chunks::<LANES>().0.iter().map(|e| e.map(|v| 5.0 * v)).collect();
    for (a, b) in dispatch(Sample(&values)).iter().flatten().zip(dispatch_scalar(Sample(&values)).iter().flatten()) {
        assert!((a - b).abs() <= 1e-5 * a.abs().max(1.0), "{a} {b}");
    }
}
