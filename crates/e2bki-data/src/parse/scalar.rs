//! Numbers of any width in bytes of either order.

use half::f16;

/// Type of a number in a binary file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the usual names
pub enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
}

impl Scalar {
    /// Bytes it takes.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The number at the start of the bytes; 0 where there are too few.
    pub fn read(self, bytes: &[u8], big_endian: bool) -> f64 {
        let size = self.size();
        let mut word = [0_u8; 8];
        let Some(given) = bytes.get(..size) else { return 0.0 };
        word[..size].copy_from_slice(given);
        if big_endian {
            word[..size].reverse();
        }
        let bits = u64::from_le_bytes(word);
        match self {
            Self::I8 => f64::from(bits as u8 as i8),
            Self::U8 => f64::from(bits as u8),
            Self::I16 => f64::from(bits as u16 as i16),
            Self::U16 => f64::from(bits as u16),
            Self::I32 => f64::from(bits as u32 as i32),
            Self::U32 => f64::from(bits as u32),
            Self::I64 => bits as i64 as f64,
            Self::U64 => bits as f64,
            Self::F16 => f16::from_bits(bits as u16).to_f64(),
            Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Self::F64 => f64::from_bits(bits),
        }
    }
}
