//! Blocked and fused layers against the plain ones that learn.

use super::depthwise::Depthwise;
use super::field::{Buffers, Field};
use super::lanes::{Eight, LANES, Lanes, Work, dispatch, plainly};
use super::outputs::{add_resized, to_planes};
use super::pointwise::{Pointwise, bent, groups};
use super::stem::Stem;
use crate::network::layers::tests::{maps, noise};
use crate::network::layers::{Maps, bilinear, columns, depthwise, pointwise};
use crate::network::plan::{Bend, Reach, Unit};

fn field(x: &Maps, buffers: &mut Buffers) -> Field {
    let mut out = buffers.field(x.channels, x.height, x.width);
    for (number, block) in out.blocks_mut().enumerate() {
        for (at, place) in block.iter_mut().enumerate() {
            *place =
                std::array::from_fn(|i| x.values.get((number * LANES + i) * x.cells() + at).copied().unwrap_or(0.0));
        }
    }
    out
}

fn close(found: &Field, expected: &Maps, what: &str) {
    assert_eq!((found.height, found.width), (expected.height, expected.width), "{what}");
    for c in 0..expected.channels {
        for at in 0..expected.cells() {
            let (a, b) = (found.block(c / LANES)[at][c % LANES], expected.values[c * expected.cells() + at]);
            assert!((a - b).abs() < 2e-5, "{what}: channel {c}, place {at}: {a}, not {b}");
        }
    }
}

/// Every value of a channel scaled, shifted and bent.
fn finished(mut x: Maps, scale: &[f32], shift: &[f32], bend: Bend) -> Maps {
    let cells = x.cells();
    for (at, value) in x.values.iter_mut().enumerate() {
        let z = scale[at / cells] * *value + shift[at / cells];
        *value = match bend {
            Bend::Straight => z,
            Bend::Relu => z.max(0.0),
            Bend::HardSwish => z * (z + 3.0).clamp(0.0, 6.0) / 6.0,
        };
    }
    x
}

fn unit(reach: Reach, inputs: usize, outputs: usize, [kernel, stride, dilation]: [usize; 3], bend: Bend) -> Unit {
    let (convolution, norm) = (String::new(), String::new());
    Unit { convolution, norm, reach, inputs, outputs, kernel, stride, dilation, bend, epsilon: 1e-3, momentum: 0.1 }
}

#[test]
fn every_number_of_blocks_is_divided_into_groups_of_up_to_three() {
    for blocks in 1..200 {
        let mut next = 0;
        for (first, count) in groups(blocks) {
            assert!(first == next && (1..=3).contains(&count));
            // A block by itself keeps too few sums in flight.
            assert!(count > 1 || blocks == 1, "{blocks}");
            next += count;
        }
        assert_eq!(next, blocks);
    }
}

#[test]
fn products_are_those_of_the_plain_layer() {
    for (inputs, outputs, height, width, bend) in [
        (16, 24, 5, 7, Bend::Relu),
        (24, 64, 9, 31, Bend::HardSwish),
        (11, 19, 1, 1, Bend::Straight),
        (40, 8, 2, 3, Bend::Straight),
        (96, 32, 16, 33, Bend::HardSwish),
    ] {
        let (x, w) = (maps([inputs, 1, height, width], 1), noise(inputs * outputs, 2));
        let (scale, shift) = (noise(outputs, 3), noise(outputs, 4));
        let factors = noise(inputs, 5);
        let layer = Pointwise::new(&w, &scale, &shift, bend);
        let mut buffers = Buffers::default();
        let blocked = field(&x, &mut buffers);
        let expected = finished(pointwise::forward(&x, &w, None), &scale, &shift, bend);
        close(&layer.product().forward(&blocked, None, &mut buffers), &expected, "product");
        let (mut doubled, skip) = (expected.clone(), maps([outputs, 1, height, width], 6));
        doubled.add(&skip);
        let skip = field(&skip, &mut buffers);
        close(&layer.product().forward(&blocked, Some(&skip), &mut buffers), &doubled, "with what is skipped");

        let mut packed = vec![[0.0; LANES]; inputs.div_ceil(LANES)];
        packed.as_flattened_mut()[..inputs].copy_from_slice(&factors);
        let mut weights = vec![[9.0; LANES]; layer.size()];
        let by_factors: Vec<f32> = w.iter().enumerate().map(|(i, w)| w * factors[i % inputs]).collect();
        let expected = finished(pointwise::forward(&x, &by_factors, None), &scale, &shift, bend);
        close(&layer.scaled(&packed, &mut weights).forward(&blocked, None, &mut buffers), &expected, "scaled");
    }
}

#[test]
fn expanded_and_convolved_in_one_go_is_the_same_as_one_after_the_other() {
    for (shape, height, width, bend) in [
        ([3, 1, 1], 40, 300, Bend::Relu),
        ([3, 2, 1], 61, 150, Bend::HardSwish),
        ([5, 2, 1], 33, 64, Bend::Relu),
        ([5, 1, 2], 24, 32, Bend::HardSwish),
        ([5, 1, 2], 50, 90, Bend::Relu),
        ([3, 2, 1], 1, 2, Bend::Relu),
        ([5, 1, 2], 2, 1, Bend::Relu),
    ] {
        let x = maps([16, 1, height, width], 1);
        for (expanded, with) in [(16, false), (56, true), (72, true)] {
            let expand = unit(Reach::Pointwise, 16, expanded, [1, 1, 1], bend);
            let of_depthwise = unit(Reach::Depthwise, expanded, expanded, shape, bend);
            let (we, se, te) = (noise(16 * expanded, 2), noise(expanded, 3), noise(expanded, 4));
            let (wd, sd, td) = (noise(expanded * shape[0] * shape[0], 5), noise(expanded, 6), noise(expanded, 7));
            let between =
                if with { finished(pointwise::forward(&x, &we, None), &se, &te, expand.bend) } else { x.clone() };
            let expected = finished(depthwise::forward(&between, &wd, &of_depthwise), &sd, &td, bend);
            let layer = Depthwise::new(&of_depthwise, &wd, &sd, &td);
            let first = with.then(|| Pointwise::new(&we, &se, &te, expand.bend));
            let mut buffers = Buffers::default();
            let blocked = field(&x, &mut buffers);
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
        let unit = unit(Reach::Full, 3, 16, [3, 2, 1], Bend::HardSwish);
        let (x, w, scale, shift) = (maps([3, 1, height, width], 1), noise(16 * 27, 2), noise(16, 3), noise(16, 4));
        let expected = finished(pointwise::forward(&columns::columns(&x, &unit), &w, None), &scale, &shift, unit.bend);
        let stem = Stem { product: Pointwise::new(&w, &scale, &shift, unit.bend), unit };
        let planes: Vec<&[f32]> = x.values.chunks(x.cells()).collect();
        close(&stem.forward(&planes, [height, width], &mut Buffers::default()), &expected, "stem");
    }
}

#[test]
fn outputs_are_resized_as_the_plain_layer_does() {
    for (from, more, to) in [([6, 8], [3, 4], [48, 64]), ([5, 3], [3, 2], [33, 20]), ([1, 1], [1, 1], [4, 7])] {
        let (x, y) = (maps([11, 1, from[0], from[1]], 1), maps([11, 1, more[0], more[1]], 2));
        let mut buffers = Buffers::default();
        let (mut sum, y_field) = (field(&x, &mut buffers), field(&y, &mut buffers));
        add_resized(&mut sum, &y_field);
        let mut expected = x.clone();
        expected.add(&bilinear::resized(&y, from));
        close(&sum, &expected, "sum");
        let expected = bilinear::resized(&expected, to);
        let mut found = expected.like(11);
        to_planes(&sum, found.values.chunks_mut(to[0] * to[1]).collect(), to);
        assert!(found.values.iter().zip(&expected.values).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}

/// Some of everything that lanes can do.
struct Sample<'a>(&'a [Eight]);

impl Work for Sample<'_> {
    type Output = Vec<Eight>;

    #[inline(always)]
    fn run<V: Lanes>(self, v: V) -> Vec<Eight> {
        let mut out = Vec::new();
        for pair in self.0.windows(2) {
            let (a, b) = (v.load(&pair[0]), v.load(&pair[1]));
            let sum = v.mul_add(a, b, v.add(v.min(a, b), v.max(a, v.mul(b, v.splat(0.5)))));
            out.push(v.eight(bent(v, Bend::HardSwish, sum)));
        }
        out
    }
}

#[test]
fn plain_loops_give_what_vector_instructions_give() {
    let values: Vec<Eight> = noise(800, 3).as_chunks::<LANES>().0.iter().map(|e| e.map(|v| 5.0 * v)).collect();
    for (a, b) in dispatch(Sample(&values)).iter().flatten().zip(plainly(Sample(&values)).iter().flatten()) {
        assert!((a - b).abs() <= 1e-5 * a.abs().max(1.0), "{a} {b}");
    }
}
