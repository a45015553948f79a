//! Numbers and texts as bytes: small numbers take few.

/// What is wrong with bytes that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable(pub &'static str);

pub(super) type Read<T> = Result<T, Unreadable>;

/// Bytes that are written.
#[derive(Debug, Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    /// Seven bits to a byte, the lowest first.
    pub(super) fn count(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A number of either sign: those near zero take few bytes.
    pub(super) fn number(&mut self, value: i64) {
        self.count(((value << 1) ^ (value >> 63)).cast_unsigned());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }
}

/// Bytes that are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn byte(&mut self) -> Read<u8> {
        let (first, rest) = self.0.split_first().ok_or(Unreadable("it is too short"))?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn count(&mut self) -> Read<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                // One way of writing every number: equal contents have equal bytes.
                return if byte == 0 && shift > 0 { Err(Unreadable("a number has zeros in front")) } else { Ok(value) };
            }
        }
        Err(Unreadable("a number is too large"))
    }

    /// A count of things of which each takes a byte or more.
    pub(super) fn length(&mut self) -> Read<usize> {
        let count = self.count()?;
        usize::try_from(count)
            .ok()
            .filter(|n| *n <= self.0.len())
            .ok_or(Unreadable("a count is larger than the message"))
    }

    pub(super) fn number(&mut self) -> Read<i64> {
        let folded = self.count()?;
        Ok((folded >> 1).cast_signed() ^ -(folded & 1).cast_signed())
    }

    pub(super) fn small(&mut self) -> Read<i32> {
        i32::try_from(self.number()?).map_err(|_| Unreadable("a place is outside of the world"))
    }

    pub(super) fn bytes(&mut self) -> Read<&'a [u8]> {
        let length = self.length()?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Unreadable("it is too short"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn text(&mut self) -> Read<String> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| Unreadable("a text is not UTF-8"))
    }

    pub(super) fn finish(self) -> Read<()> {
        if self.0.is_empty() { Ok(()) } else { Err(Unreadable("bytes are left over")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(values in prop::collection::vec(any::<i64>(), 0..20), shift in 0_u32..63) {
            let mut writer = Writer::default();
            values.iter().for_each(|value| writer.number(value >> shift));
            let mut reader = Reader(&writer.0);
            for value in &values {
                prop_assert_eq!(reader.number(), Ok(value >> shift));
            }
            prop_assert_eq!(reader.finish(), Ok(()));
        }

        #[test]
        fn a_number_is_written_in_one_way(bytes in prop::collection::vec(any::<u8>(), 1..12)) {
            let mut reader = Reader(&bytes);
            if let Ok(value) = reader.count() {
                let mut writer = Writer::default();
                writer.count(value);
                prop_assert_eq!(&writer.0[..], &bytes[..bytes.len() - reader.0.len()]);
            }
        }
    }

    #[test]
    fn what_is_too_long_is_refused() {
        assert_eq!(Reader(&[0xff; 12]).count(), Err(Unreadable("a number is too large")));
        assert_eq!(Reader(&[5, 1, 2]).length(), Err(Unreadable("a count is larger than the message")));
        assert_eq!(Reader(&[1, 0xff]).text(), Err(Unreadable("a text is not UTF-8")));
        assert!(Reader(&[]).byte().is_err() && Reader(&[1]).finish().is_err());
    }
}
