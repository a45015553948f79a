//! `std_msgs/UInt8MultiArray`: any bytes.

use crate::wire::{Broken, Read, Reader, Wire};

/// The bytes of an array without dimensions.
pub fn byte_array(wire: Wire, message: &[u8]) -> Read<&[u8]> {
    let mut fields = Reader::new(wire, message)?;
    if fields.u32()? != 0 || fields.u32()? != 0 {
        return Err(Broken("an array with dimensions, or with an offset".into()));
    }
    fields.bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compose;

    #[test]
    fn bytes_come_back() {
        for bytes in [&[][..], &[1, 2, 3], &[9; 1000]] {
            assert_eq!(byte_array(Wire::Cdr, &compose::byte_array(bytes)).unwrap(), bytes);
        }
        let mut message = compose::byte_array(&[7]);
        message[4] = 1;
        assert!(byte_array(Wire::Cdr, &message).is_err() && byte_array(Wire::Cdr, &[]).is_err());
    }
}
