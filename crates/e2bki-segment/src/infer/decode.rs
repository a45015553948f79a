//! Decoding of network outputs to logits, probabilities or evidence.

use e2bki::maths::{exp, ln};
use e2bki_data::parse::Grid;
use rayon::prelude::*;

use super::description::{Kind, Layout, Output, Uncertainty};
use crate::evidence::LOGIT_LIMIT;

/// Decodes outputs of either layout to a grid of cells.
pub(super) fn grid(values: &[f32], [channels, height, width]: [usize; 3], layout: Layout, output: &Output) -> Grid {
    let cells = height * width;
    let mut out = vec![0.0; channels * cells];
    out.par_chunks_mut(channels * width).enumerate().for_each(|(row, cells_of_row)| {
        for (column, cell) in cells_of_row.chunks_exact_mut(channels).enumerate() {
            read_cell(values, cells, row * width + column, layout, cell);
            decode_cell(cell, output);
        }
    });
    Grid { channels, height, width, values: out }
}

/// Channels of one of so many cells.
pub(super) fn read_cell(values: &[f32], cells: usize, at: usize, layout: Layout, out: &mut [f32]) {
    match layout {
        Layout::Nchw => {
            for (value, plane) in out.iter_mut().zip(values.chunks_exact(cells)) {
                *value = plane[at];
            }
        }
        Layout::Nhwc => out.copy_from_slice(&values[at * out.len()..][..out.len()]),
    }
}

/// Decodes one cell to the kind of [`Description::value_kind`](super::Description::value_kind).
pub(crate) fn decode_cell(cell: &mut [f32], output: &Output) {
    let (t, scale) = (output.temperature, output.evidence_scale);
    let limit = LOGIT_LIMIT as f32;
    let evidence = |x: f32| scale * exp(f64::from((x / t).clamp(-limit, limit))) as f32;
    match (output.kind, output.uncertainty) {
        (Kind::Logits, Uncertainty::Entropy) => {
            if t != 1.0 {
                cell.iter_mut().for_each(|x| *x /= t);
            }
        }
        (Kind::Probabilities, Uncertainty::Entropy) => {
            if t != 1.0 {
                // Probabilities to the power 1/T; the reader normalises them.
                cell.iter_mut().for_each(|p| *p = exp(ln(f64::from(p.max(1e-30))) / f64::from(t)) as f32);
            }
        }
        (Kind::Logits | Kind::Probabilities, Uncertainty::Evidence) => {
            if output.kind == Kind::Probabilities {
                cell.iter_mut().for_each(|p| *p = ln(f64::from(p.max(1e-30))) as f32);
            }
            // Like softmax, invariant to a common shift of all logits.
            let mean = cell.iter().sum::<f32>() / cell.len() as f32;
            cell.iter_mut().for_each(|x| *x = evidence(*x - mean));
        }
        (Kind::EvidentialLogits, _) => {
            let evidence = |x: f32| scale * output.activation.evidence(f64::from(x / t)).0 as f32;
            cell.iter_mut().for_each(|x| *x = evidence(*x));
        }
        (Kind::Evidence, _) => cell.iter_mut().for_each(|e| *e = scale * e.max(0.0)),
        (Kind::Dirichlet, _) => cell.iter_mut().for_each(|a| *a = scale * (*a - 1.0).max(0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[f32], output: Output) -> Vec<f32> {
        let mut cell = values.to_vec();
        decode_cell(&mut cell, &output);
        cell
    }

    #[test]
    fn axes_are_put_in_order() {
        let planes = [0.0, 1.0, 2.0, 10.0, 11.0, 12.0];
        let output = Output::default();
        let grid = grid(&planes, [2, 1, 3], Layout::Nchw, &output);
        assert_eq!(grid.cell(1, 0), [1.0, 11.0]);
        assert_eq!(super::grid(&planes, [2, 1, 3], Layout::Nhwc, &output).cell(1, 0), [2.0, 10.0]);
    }

    #[test]
    fn every_kind_of_output_is_decoded() {
        let evidential = Output { kind: Kind::EvidentialLogits, evidence_scale: 0.5, ..Output::default() };
        let e = read(&[0.0, 2.0, 99.0, -99.0], evidential);
        for (found, expected) in e.iter().zip([0.5, 3.694_528, 11_013.233, 2.27e-5]) {
            assert!((found / expected - 1.0_f32).abs() < 1e-4, "{e:?}");
        }
        assert_eq!(
            read(&[3.0, 0.5], Output { kind: Kind::Dirichlet, evidence_scale: 2.0, ..Output::default() }),
            [4.0, 0.0]
        );
        assert_eq!(read(&[3.0, -1.0], Output { kind: Kind::Evidence, ..Output::default() }), [3.0, 0.0]);
        assert_eq!(read(&[3.0, -1.0], Output { temperature: 2.0, ..Output::default() }), [1.5, -0.5]);
        let root = read(&[0.25, 0.75], Output { kind: Kind::Probabilities, temperature: 2.0, ..Output::default() });
        assert!((root[0] - 0.5).abs() < 1e-6 && (root[1] - 0.866_025_4).abs() < 1e-6);
    }

    #[test]
    fn evidence_from_softmax_outputs_does_not_depend_on_a_shift_or_on_the_form() {
        let as_evidence = Output { uncertainty: Uncertainty::Evidence, temperature: 1.5, ..Output::default() };
        let logits = [2.0_f32, -1.0, 0.5];
        let a = read(&logits, as_evidence.clone());
        let b = read(&logits.map(|x| x + 7.0), as_evidence.clone());
        let sum: f32 = logits.iter().map(|x| x.exp()).sum();
        let c = read(&logits.map(|x| x.exp() / sum), Output { kind: Kind::Probabilities, ..as_evidence });
        for i in 0..3 {
            assert!((a[i] / b[i] - 1.0).abs() < 1e-5 && (a[i] / c[i] - 1.0).abs() < 1e-5, "{a:?} {b:?} {c:?}");
        }
    }
}
