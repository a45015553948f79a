//! Fields of serialised messages: CDR as ROS 2 writes it, and the serialisation of ROS 1. Bytes and texts are borrowed.

/// How messages are serialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// ROS 2: CDR with its four-byte header.
    Cdr,
    /// ROS 1: little-endian, packed.
    Ros1,
}

/// Why a message could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Broken(pub String);

/// Result of reading a field.
pub type Read<T> = Result<T, Broken>;

/// A cursor over the fields of a message. No input makes it panic or ask for memory.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    wire: Wire,
    big_endian: bool,
    /// Largest alignment: 8, or 4 in the second version of CDR.
    most_aligned: usize,
}

impl<'a> Reader<'a> {
    /// Begins a message.
    pub fn new(wire: Wire, message: &'a [u8]) -> Read<Self> {
        let plain = Self { bytes: message, at: 0, wire, big_endian: false, most_aligned: 1 };
        if wire == Wire::Ros1 {
            return Ok(plain);
        }
        let (big_endian, most_aligned) = match message.get(..2) {
            Some([0, 0]) => (true, 8),
            Some([0, 1]) => (false, 8),
            Some([0, 6]) => (true, 4),
            Some([0, 7]) => (false, 4),
            Some([a, b]) => return Err(Broken(format!("encapsulation {a:#04x} {b:#04x} is not plain CDR"))),
            _ => return Err(Broken(format!("a message of {} bytes has no CDR header", message.len()))),
        };
        let bytes = message.get(4..).ok_or_else(|| Broken("its CDR header is cut short".into()))?;
        Ok(Self { bytes, big_endian, most_aligned, ..plain })
    }

    /// How the message is serialised.
    pub fn wire(&self) -> Wire {
        self.wire
    }

    fn take(&mut self, count: usize) -> Read<&'a [u8]> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| {
            Broken(format!("{count} bytes wanted at byte {}, and the message has {}", self.at, self.bytes.len()))
        })?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Read<[u8; N]> {
        if self.wire == Wire::Cdr {
            self.at = self.at.next_multiple_of(N.min(self.most_aligned));
        }
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        if self.big_endian {
            bytes.reverse();
        }
        Ok(bytes)
    }

    /// A byte.
    pub fn u8(&mut self) -> Read<u8> {
        self.number().map(u8::from_le_bytes)
    }

    /// A truth value.
    pub fn bool(&mut self) -> Read<bool> {
        self.u8().map(|v| v != 0)
    }

    /// A short whole number.
    pub fn u16(&mut self) -> Read<u16> {
        self.number().map(u16::from_le_bytes)
    }

    /// A whole number.
    pub fn u32(&mut self) -> Read<u32> {
        self.number().map(u32::from_le_bytes)
    }

    /// A whole number with a sign.
    pub fn i32(&mut self) -> Read<i32> {
        self.number().map(i32::from_le_bytes)
    }

    /// A number.
    pub fn f64(&mut self) -> Read<f64> {
        self.number().map(f64::from_le_bytes)
    }

    /// So many numbers.
    pub fn f64s<const N: usize>(&mut self) -> Read<[f64; N]> {
        let mut values = [0.0; N];
        for value in &mut values {
            *value = self.f64()?;
        }
        Ok(values)
    }

    /// A list of bytes, borrowed.
    pub fn bytes(&mut self) -> Read<&'a [u8]> {
        let count = self.u32()? as usize;
        self.take(count)
    }

    /// A text, borrowed.
    pub fn text(&mut self) -> Read<&'a str> {
        let bytes = self.bytes()?;
        let bytes = if self.wire == Wire::Cdr { bytes.strip_suffix(&[0]).unwrap_or(bytes) } else { bytes };
        std::str::from_utf8(bytes).map_err(|_| Broken("a text is not UTF-8".into()))
    }

    /// A list; `least` is the fewest bytes that one item takes, which bounds how many there can be.
    pub fn list<T>(&mut self, least: usize, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let count = self.u32()? as usize;
        let room = (self.bytes.len() - self.at.min(self.bytes.len())) / least.max(1);
        if count > room {
            return Err(Broken(format!("a list of {count} items in a message with room for {room}")));
        }
        (0..count).map(|_| item(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn alignment_and_byte_order_follow_the_header() {
        let little =
            [0, 1, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, b'h', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
        let mut reader = Reader::new(Wire::Cdr, &little).unwrap();
        assert_eq!((reader.u8().unwrap(), reader.u32().unwrap(), reader.text().unwrap()), (7, 1, "h"));
        // At byte 14 of the body; a double is aligned to 16.
        assert_eq!(reader.f64().unwrap(), f64::from_le_bytes(little[20..28].try_into().unwrap()));
        let big = [0, 0, 0, 0, 0, 0, 1, 2];
        assert_eq!(Reader::new(Wire::Cdr, &big).unwrap().u32().unwrap(), 258);
        let packed = [7, 2, 1, 0, 0];
        let mut reader = Reader::new(Wire::Ros1, &packed).unwrap();
        assert_eq!((reader.u8().unwrap(), reader.u32().unwrap()), (7, 258));
        assert!(reader.u8().is_err());
        // The second version of CDR aligns doubles to four bytes.
        let second = [0, 7, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
        let mut reader = Reader::new(Wire::Cdr, &second).unwrap();
        assert_eq!((reader.u32().unwrap(), reader.f64().unwrap()), (1, 1.0));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), ros1 in any::<bool>()) {
            let wire = if ros1 { Wire::Ros1 } else { Wire::Cdr };
            if let Ok(reader) = Reader::new(wire, &bytes) {
                reader.clone().text().ok();
                reader.clone().bytes().ok();
                let list = reader.clone().list(4, |r| r.u32());
                prop_assert!(list.map_or(0, |l| l.len()) <= bytes.len() / 4);
            }
        }
    }
}
