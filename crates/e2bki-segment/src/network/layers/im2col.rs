//! im2col: neighbourhoods as channels, which turns a k×k convolution into a 1×1 one.

use rayon::prelude::*;

use super::Tensor;
use crate::network::plan::ConvNormActivation;

/// One channel per input channel and tap of the kernel, at the pixels of the output.
pub(crate) fn im2col(x: &Tensor, conv: &ConvNormActivation) -> Tensor {
    let (k, taps) = (conv.kernel, conv.kernel * conv.kernel);
    let mut out = Tensor::new(x.channels * taps, x.images, conv.output_size(x.height), conv.output_size(x.width));
    let (plane, height, width) = (out.plane(), out.height, out.width);
    let padding = conv.padding() as isize;
    out.values.par_chunks_mut(plane).enumerate().for_each(|(channel, out)| {
        let (c, ky, kx) = (channel / taps, channel % taps / k, channel % k);
        let source = &x.values[c * x.plane()..][..x.plane()];
        for (image, out) in source.chunks_exact(x.cells()).zip(out.chunks_exact_mut(height * width)) {
            for y in 0..height {
                let row = (y * conv.stride + ky * conv.dilation) as isize - padding;
                if !(0..x.height as isize).contains(&row) {
                    continue;
                }
                let line = &image[row as usize * x.width..][..x.width];
                for (column, out) in out[y * width..][..width].iter_mut().enumerate() {
                    let at = (column * conv.stride + kx * conv.dilation) as isize - padding;
                    *out = usize::try_from(at).ok().and_then(|at| line.get(at)).copied().unwrap_or(0.0);
                }
            }
        }
    });
    out
}
