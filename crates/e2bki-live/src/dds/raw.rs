//! Messages as bytes: ours are CDR already, and those that come are read by `e2bki-bag`, so that nothing is taken apart and
//! put together twice.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Header of little-endian CDR.
const HEADER: [u8; 4] = [0, 1, 0, 0];

/// A message, CDR with its header of four bytes. To a serialiser of CDR its body is a row of numbers, each where alignment
/// puts it in any case; so it comes out as it is. Those of computers whose byte order is the other one cannot be read: they
/// make no sense to their reader, which counts them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Raw(pub(crate) Vec<u8>);

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let body = self.0.get(HEADER.len()..).unwrap_or_default();
        let (words, rest) = body.as_chunks::<8>();
        let mut all = serializer.serialize_tuple(words.len() + rest.len())?;
        for word in words {
            all.serialize_element(&u64::from_le_bytes(*word))?;
        }
        for byte in rest {
            all.serialize_element(byte)?;
        }
        all.end()
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(usize::MAX, Body)
    }
}

struct Body;

impl<'de> Visitor<'de> for Body {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a message")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Raw, A::Error> {
        let mut bytes = HEADER.to_vec();
        // A message does not say how long it is; reading beyond its end is an error that takes nothing.
        while let Ok(Some(word)) = all.next_element::<u64>() {
            bytes.extend(word.to_le_bytes());
        }
        while let Ok(Some(byte)) = all.next_element::<u8>() {
            bytes.push(byte);
        }
        Ok(Raw(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustdds::RepresentationIdentifier;
    use rustdds::serialization::{deserialize_from_cdr_with_rep_id, to_writer_with_rep_id};

    #[test]
    fn bytes_go_through_as_they_are() {
        for length in (0..40).chain([999, 4096]) {
            let message = Raw(HEADER.into_iter().chain((0..length).map(|i| (i * 7) as u8)).collect());
            let mut sent = Vec::new();
            to_writer_with_rep_id(&mut sent, &message, RepresentationIdentifier::CDR_LE).unwrap();
            assert_eq!(sent, message.0[4..]);
            let (back, read) =
                deserialize_from_cdr_with_rep_id::<Raw>(&sent, RepresentationIdentifier::CDR_LE).unwrap();
            assert_eq!((back, read), (message, length as usize));
        }
    }
}
