//! Storage: a block keeps a row of sums for each voxel that holds evidence, with a column for each channel present.
//!
//! A channel is a class, or, one past the classes, the uncertain share of soft points.

use crate::lattice::VOLUME;

/// A bit per voxel of a block.
pub(crate) type Mask = [u64; VOLUME / 64];

/// No column.
const NONE: u16 = u16::MAX;

/// Voxels of a block that hold evidence, in the order of their number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    mask: Mask,
    channels: Box<[u16]>,
    sums: Box<[f32]>,
}

impl Block {
    /// Channels and sums of a voxel.
    pub(crate) fn row(&self, voxel: usize) -> Option<(&[u16], &[f32])> {
        let (word, bit) = (voxel / 64, voxel % 64);
        if self.mask[word] >> bit & 1 == 0 {
            return None;
        }
        let before: u32 = self.mask[..word].iter().map(|w| w.count_ones()).sum();
        let rank = (before + (self.mask[word] & ((1 << bit) - 1)).count_ones()) as usize;
        Some((&self.channels, &self.sums[rank * self.channels.len()..][..self.channels.len()]))
    }

    /// Every voxel with its channels and sums, ascending.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (usize, &[u16], &[f32])> {
        bits(&self.mask)
            .zip(self.sums.chunks_exact(self.channels.len().max(1)))
            .map(|(voxel, sums)| (voxel, &*self.channels, sums))
    }

    pub(crate) fn byte_size(&self) -> usize {
        self.channels.len() * size_of::<u16>() + self.sums.len() * size_of::<f32>()
    }

    /// The old block, if any, with what the scratch holds added; the scratch is left empty. Nothing if it holds nothing.
    pub(crate) fn merged(old: Option<&Self>, scratch: &mut Scratch) -> Option<Self> {
        if scratch.touched == [0; VOLUME / 64] {
            return None;
        }
        let (old_mask, old_channels) = old.map_or(([0; VOLUME / 64], &[][..]), |old| (old.mask, &old.channels[..]));
        let mut channels = scratch.channels.clone();
        if channels != old_channels {
            channels.extend_from_slice(old_channels);
            channels.sort_unstable();
            channels.dedup();
        }
        let column = |channel: &u16| channels.partition_point(|c| c < channel);
        let fresh_columns: Vec<usize> = scratch.channels.iter().map(column).collect();
        let old_columns: Vec<usize> = old_channels.iter().map(column).collect();
        let mask: Mask = std::array::from_fn(|word| old_mask[word] | scratch.touched[word]);
        let voxels: u32 = mask.iter().map(|word| word.count_ones()).sum();
        let mut sums = vec![0.0; voxels as usize * channels.len()];
        let mut old_rows = old.iter().flat_map(|old| old.sums.chunks_exact(old_channels.len().max(1)));
        for (voxel, row) in bits(&mask).zip(sums.chunks_exact_mut(channels.len().max(1))) {
            if old_mask[voxel / 64] >> (voxel % 64) & 1 == 1
                && let Some(old_row) = old_rows.next()
            {
                old_columns.iter().zip(old_row).for_each(|(column, value)| row[*column] = *value);
            }
            if scratch.touched[voxel / 64] >> (voxel % 64) & 1 == 1 {
                let fresh = &mut scratch.rows[voxel * scratch.stride..][..scratch.stride];
                fresh_columns.iter().zip(fresh.iter()).for_each(|(column, value)| row[*column] += *value);
                fresh.fill(0.0);
            }
        }
        scratch.touched = [0; VOLUME / 64];
        Some(Self { mask, channels: channels.into(), sums: sums.into() })
    }
}

/// Numbers of the set bits, ascending.
fn bits(mask: &Mask) -> impl Iterator<Item = usize> + use<> {
    (*mask).into_iter().enumerate().flat_map(|(number, mut word)| {
        std::iter::from_fn(move || {
            let bit = word.trailing_zeros() as usize;
            word &= word.wrapping_sub(1);
            (bit < 64).then_some(number * 64 + bit)
        })
    })
}

/// Contribution of one frame to one block: dense rows, reused from block to block.
pub(crate) struct Scratch {
    /// Column of every channel.
    columns: Vec<u16>,
    /// Channels in the order of their columns, ascending.
    channels: Vec<u16>,
    stride: usize,
    rows: Vec<f32>,
    touched: Mask,
}

impl Scratch {
    pub(crate) fn new(channels: usize) -> Self {
        Self {
            columns: vec![NONE; channels],
            channels: Vec::new(),
            stride: 0,
            rows: Vec::new(),
            touched: [0; VOLUME / 64],
        }
    }

    /// Prepares rows for the channels that are named, in any order and with repetitions.
    pub(crate) fn begin(&mut self, channels: impl Iterator<Item = u16>) {
        self.channels.iter().for_each(|channel| self.columns[usize::from(*channel)] = NONE);
        self.channels.clear();
        for channel in channels {
            if self.columns[usize::from(channel)] == NONE {
                self.columns[usize::from(channel)] = 0;
                self.channels.push(channel);
            }
        }
        self.channels.sort_unstable();
        for (column, channel) in self.channels.iter().enumerate() {
            self.columns[usize::from(*channel)] = column as u16;
        }
        // A multiple of four, for the sake of vector instructions.
        self.stride = self.channels.len().next_multiple_of(4);
        if self.rows.len() < VOLUME * self.stride {
            self.rows.resize(VOLUME * self.stride, 0.0);
        }
    }

    /// Column of a channel that was named.
    pub(crate) fn column(&self, channel: u16) -> usize {
        usize::from(self.columns[usize::from(channel)])
    }

    /// Length of a row: the number of channels, rounded up to a multiple of four.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// The row of a voxel, which from now on holds evidence.
    #[inline(always)]
    pub(crate) fn row(&mut self, voxel: usize) -> &mut [f32] {
        self.touched[voxel / 64] |= 1 << (voxel % 64);
        &mut self.rows[voxel * self.stride..][..self.stride]
    }

    /// Number of voxels with fresh evidence.
    pub(crate) fn count(&self) -> usize {
        self.touched.iter().map(|word| word.count_ones() as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_add_up_over_frames_with_other_channels_and_voxels() {
        let mut scratch = Scratch::new(10);
        scratch.begin([7, 3, 7].into_iter());
        let (three, seven) = (scratch.column(3), scratch.column(7));
        scratch.row(500)[seven] += 2.0;
        scratch.row(0)[three] += 1.0;
        assert_eq!(scratch.count(), 2);
        let first = Block::merged(None, &mut scratch).unwrap();
        scratch.begin([9, 3].into_iter());
        let (three, nine) = (scratch.column(3), scratch.column(9));
        scratch.row(0)[three] += 4.0;
        scratch.row(63)[nine] += 5.0;
        let second = Block::merged(Some(&first), &mut scratch).unwrap();
        let rows: Vec<_> = second.rows().map(|(v, c, s)| (v, c.to_vec(), s.to_vec())).collect();
        let channels = vec![3, 7, 9];
        assert_eq!(rows[0], (0, channels.clone(), vec![5.0, 0.0, 0.0]));
        assert_eq!(rows[1], (63, channels.clone(), vec![0.0, 0.0, 5.0]));
        assert_eq!(rows[2], (500, channels, vec![0.0, 2.0, 0.0]));
        for (voxel, channels, sums) in second.rows() {
            assert_eq!(second.row(voxel), Some((channels, sums)));
        }
        assert_eq!(second.row(1), None);
        scratch.begin([1].into_iter());
        assert_eq!(Block::merged(Some(&second), &mut scratch), None);
    }
}
