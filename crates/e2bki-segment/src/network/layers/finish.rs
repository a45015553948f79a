//! What is done with a convolution's outputs while they are still in the cache.

use super::norm::bent;
use crate::network::plan::Bend;

/// Of every channel.
#[derive(Clone, Copy)]
pub(crate) enum Finish<'a> {
    /// They are wanted as they are.
    Nothing,
    /// Scaled, shifted and bent: a normalisation by kept statistics.
    Bent { scale: &'a [f32], shift: &'a [f32], bend: Bend },
}

impl Finish<'_> {
    /// Some outputs of a channel.
    #[inline(always)]
    pub(crate) fn row(self, channel: usize, row: &mut [f32]) {
        let Self::Bent { scale, shift, bend } = self else { return };
        let (scale, shift) = (scale[channel], shift[channel]);
        // The bend is chosen once, not at every value.
        match bend {
            Bend::Straight => row.iter_mut().for_each(|y| *y = scale * *y + shift),
            Bend::Relu => row.iter_mut().for_each(|y| *y = bent(Bend::Relu, scale * *y + shift).0),
            Bend::HardSwish => row.iter_mut().for_each(|y| *y = bent(Bend::HardSwish, scale * *y + shift).0),
        }
    }
}
