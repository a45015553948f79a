//! Recordings of robots, in memory: every message of them is read.

use std::path::Path;

use e2bki_bag::{Bag, BagWriter, schemas};

use crate::bags::{example_cloud, example_transforms};
use crate::maps::scratch;

const MCAP: &[u8] = b"\x89MCAP0\r\n";
const ROS1: &[u8] = b"#ROSBAG V2.0\n";
const DB3: &[u8] = b"SQLite format 3\0";

fn read(bytes: Vec<u8>) {
    let Ok(bag) = Bag::of_bytes(bytes, Path::new("drive")) else { return };
    for entry in bag.entries() {
        assert!(entry.topic < bag.topics().len());
        bag.read(entry).ok();
    }
    assert_eq!(bag.topics().iter().map(|topic| topic.count).sum::<usize>(), bag.entries().len());
}

/// Bytes that begin as files of a kind do: none is spent on finding that out.
fn begun(magic: &[u8], data: &[u8]) -> Vec<u8> {
    [magic, data.get(magic.len()..).unwrap_or_default()].concat()
}

/// Any bytes as a file of any kind, compressed or not, with its checksums as they are.
pub(crate) fn any(data: &[u8]) {
    read(data.to_vec());
}

/// Any bytes as MCAP. Chunks have no checksum, so that what is in them is reached.
pub(crate) fn mcap(data: &[u8]) {
    let mut bytes = begun(MCAP, data);
    let mut at = MCAP.len();
    while let Some(head) = bytes.get(at..at + 9) {
        let (kind, length) = (head[0], head[1..].iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)));
        // Times of the first and last message and the size go before it.
        if let (6, Some(sum)) = (kind, bytes.get_mut(at + 9 + 24..at + 9 + 28)) {
            sum.fill(0);
        }
        match usize::try_from(length).ok().and_then(|length| (at + 9).checked_add(length)) {
            Some(next) if next < bytes.len() => at = next,
            _ => break,
        }
    }
    read(bytes);
}

/// Any bytes as a bag of ROS 1.
pub(crate) fn ros1(data: &[u8]) {
    read(begun(ROS1, data));
}

/// Any bytes as SQLite.
pub(crate) fn db3(data: &[u8]) {
    read(begun(DB3, data));
}

/// An MCAP file of two messages.
fn small() -> Vec<u8> {
    let path = scratch("seed.mcap");
    let mut bag = BagWriter::create(&path).unwrap_or_else(|e| panic!("{e}"));
    let mut put = |topic: &str, schema, message: &[u8]| {
        bag.write(topic, schema, false, 1_700_000_000_000_000_000, message).unwrap_or_else(|e| panic!("{e}"));
    };
    put("/points", schemas::POINT_CLOUD, &example_cloud());
    put("/tf", schemas::TRANSFORMS, &example_transforms());
    bag.finish().unwrap_or_else(|e| panic!("{e}"));
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{e}"));
    std::fs::remove_file(&path).ok();
    bytes
}

/// A record of MCAP.
fn mcap_record(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u64).to_le_bytes(), body].concat()
}

/// MCAP as other recorders write it, without texts of schemas: a message outside of chunks, and in a chunk that is not compressed.
fn tiny_mcap() -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    let name = [&1_u16.to_le_bytes()[..], &text("tf2_msgs/msg/TFMessage"), &text("ros2msg"), &text("")].concat();
    let channel = [&1_u16.to_le_bytes()[..], &1_u16.to_le_bytes(), &text("/tf"), &text("cdr"), &text("")].concat();
    let message = [&1_u16.to_le_bytes()[..], &[0; 4], &[7; 16], &example_transforms()].concat();
    let inside = [mcap_record(3, &name), mcap_record(4, &channel), mcap_record(5, &message)].concat();
    let size = (inside.len() as u64).to_le_bytes();
    let chunk = [&[0; 16][..], &size, &[0; 4], &text(""), &size, &inside].concat();
    let end = [mcap_record(15, &[0; 4]), mcap_record(2, &[0; 20])].concat();
    [MCAP, &mcap_record(1, &[0; 8]), &mcap_record(6, &chunk), &mcap_record(5, &message), &end, MCAP].concat()
}

/// A record of ROS 1: a header of fields, and data.
fn ros1_record(fields: &[(&str, &[u8])], data: &[u8]) -> Vec<u8> {
    let field = |(name, value): &(&str, &[u8])| {
        [&((name.len() + 1 + value.len()) as u32).to_le_bytes()[..], name.as_bytes(), b"=", value].concat()
    };
    let head: Vec<u8> = fields.iter().flat_map(field).collect();
    [&(head.len() as u32).to_le_bytes(), head.as_slice(), &(data.len() as u32).to_le_bytes(), data].concat()
}

/// A bag of ROS 1 of two messages in a chunk.
fn tiny_ros1() -> Vec<u8> {
    let about = ros1_record(&[("topic", b"/tf"), ("type", b"tf2_msgs/TFMessage")], &[]);
    let connection = ros1_record(&[("op", &[7]), ("conn", &[0; 4]), ("topic", b"/tf")], &about[4..about.len() - 4]);
    let message = ros1_record(&[("op", &[2]), ("conn", &[0; 4]), ("time", &[3; 8])], &[0; 4]);
    let inside = [connection.as_slice(), &message, &message].concat();
    let size = (inside.len() as u32).to_le_bytes();
    let counts = (&7_u64.to_le_bytes(), &1_u32.to_le_bytes());
    let head = [("op", &[3][..]), ("index_pos", counts.0), ("conn_count", counts.1), ("chunk_count", counts.1)];
    let chunk = [("op", &[5][..]), ("compression", b"none"), ("size", &size)];
    [ROS1, &ros1_record(&head, b"    "), &ros1_record(&chunk, &inside), &connection].concat()
}

/// Recordings to begin with. Those of SQLite, and of ROS 1 in compressed chunks, are in the corpus: nothing here writes them.
pub(crate) fn seeds(target: &str) -> Vec<Vec<u8>> {
    match target {
        "bag" | "mcap" => vec![small(), tiny_mcap()],
        "ros1" => vec![tiny_ros1()],
        _ => Vec::new(),
    }
}
