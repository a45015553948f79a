//! Neighbourhoods of pixels as channels: a full convolution becomes a 1×1 one.

use rayon::prelude::*;

use super::Maps;
use crate::network::plan::Unit;

/// One channel per input channel and tap of the kernel, at the places of the output.
pub(crate) fn columns(x: &Maps, unit: &Unit) -> Maps {
    let (k, taps) = (unit.kernel, unit.kernel * unit.kernel);
    let mut out = Maps::new(x.channels * taps, x.images, unit.shrunk(x.height), unit.shrunk(x.width));
    let (plane, height, width) = (out.plane(), out.height, out.width);
    let padding = unit.padding() as isize;
    out.values.par_chunks_mut(plane).enumerate().for_each(|(channel, out)| {
        let (c, ky, kx) = (channel / taps, channel % taps / k, channel % k);
        let source = &x.values[c * x.plane()..][..x.plane()];
        for (image, out) in source.chunks_exact(x.cells()).zip(out.chunks_exact_mut(height * width)) {
            for y in 0..height {
                let row = (y * unit.stride + ky * unit.dilation) as isize - padding;
                if !(0..x.height as isize).contains(&row) {
                    continue;
                }
                let line = &image[row as usize * x.width..][..x.width];
                for (column, out) in out[y * width..][..width].iter_mut().enumerate() {
                    let at = (column * unit.stride + kx * unit.dilation) as isize - padding;
                    *out = usize::try_from(at).ok().and_then(|at| line.get(at)).copied().unwrap_or(0.0);
                }
            }
        }
    });
    out
}
