//! `vision_msgs/LabelInfo`: what the ids of labels mean.

use super::Header;
use crate::wire::{Read, Reader, Wire};

/// Ids with the names of their classes, in the order of the message.
pub fn label_info(wire: Wire, message: &[u8]) -> Read<Vec<(u16, String)>> {
    let mut fields = Reader::new(wire, message)?;
    Header::read(&mut fields)?;
    fields.list(6, |f| Ok((f.u16()?, f.text()?.to_string())))
}
