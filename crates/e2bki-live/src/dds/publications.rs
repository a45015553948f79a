//! What is sent.

use std::collections::BTreeMap;
use std::time::Duration;

use ros2_client::qos::{Durability, History, WhenFull};
use ros2_client::{MessageTypeName, Name, Node, Publisher, QosProfile};

use super::raw::Raw;
use crate::error::{Error, Result};
use crate::outlet::Output;
use crate::sender::Sender;

/// Messages that a writer keeps until everybody has them; an update may be of many.
const KEPT: usize = 64;

/// Messages are sent no faster than this, bytes per second: what comes faster than receivers read is lost and has to be asked
/// for again.
const PACE: f64 = 50e6;

/// Longest time that a full writer holds up the ones behind.
const WHEN_FULL: Duration = Duration::from_millis(200);

/// Readers ask for what they missed for a moment after the last message.
const AFTER: Duration = Duration::from_millis(300);

pub(super) fn start(node: &mut Node, outputs: &[Output], prefix: &str) -> Result<Sender> {
    let mut publishers = BTreeMap::new();
    for output in outputs {
        publishers.insert(*output, publisher(node, *output, &output.topic(prefix))?);
    }
    let send = move |output: Output, message: Vec<u8>| {
        let pause = Duration::from_secs_f64(message.len() as f64 / PACE);
        let sent = publishers.get(&output).is_some_and(|publisher| publisher.publish(Raw(message)).is_ok());
        std::thread::sleep(pause);
        sent
    };
    Sender::start(send, || std::thread::sleep(AFTER))
}

fn publisher(node: &mut Node, output: Output, topic: &str) -> Result<Publisher<Raw>> {
    let refused = |error: &dyn std::fmt::Debug| Error::Network(format!("cannot publish {topic}: {error:?}"));
    let latched = output.latched();
    let (durability, depth) =
        if latched > 0 { (Durability::TransientLocal, latched) } else { (Durability::Volatile, KEPT) };
    let qos = QosProfile::publisher_default()
        .reliability_reliable(WhenFull::Wait(WHEN_FULL))
        .durability(durability)
        .history(History::KeepLast { depth });
    let (package, kind) = output.kind();
    let name = Name::parse(topic).map_err(|e| refused(&e))?;
    let topic = node.create_topic(&name, MessageTypeName::new(package, kind), &qos).map_err(|e| refused(&e))?;
    node.create_publisher(&topic, None).map_err(|e| refused(&e))
}
