//! What is sent.

use std::collections::BTreeMap;
use std::time::Duration;

use ros2_client::qos::{Durability, History, WhenFull};
use ros2_client::{MessageTypeName, Name, Node, Publisher, QosProfile};
use rustdds::{DomainParticipant, QosPolicies, QosPolicyBuilder, TopicKind, policy};

use super::raw::Raw;
use crate::error::{Error, Result};
use crate::outlet::Output;
use crate::sender::Sender;

/// Messages that a writer keeps until everybody has them; an update may be of many.
const KEPT: usize = 64;

/// Messages without an answer at least, however few are kept: with one, each would wait for the answer to the one before.
const LEAST_WINDOW: usize = 4;

/// Messages are sent no faster than this, bytes per second: what comes faster than receivers read is lost and has to be asked
/// for again.
const PACE: f64 = 50e6;

/// Longest time that a full writer holds up the ones behind.
const WHEN_FULL: Duration = Duration::from_millis(200);

/// Readers ask for what they missed for a moment after the last message.
const AFTER: Duration = Duration::from_millis(300);

pub(super) fn start(
    node: &mut Node,
    participant: &DomainParticipant,
    outputs: &[Output],
    prefix: &str,
) -> Result<Sender> {
    let mut publishers = BTreeMap::new();
    for output in outputs {
        publishers.insert(*output, publisher(node, participant, *output, &output.topic(prefix))?);
    }
    let send = move |output: Output, message: Vec<u8>| {
        let pause = Duration::from_secs_f64(message.len() as f64 / PACE);
        let sent = publishers.get(&output).is_some_and(|publisher| publisher.publish(Raw(message)).is_ok());
        std::thread::sleep(pause);
        sent
    };
    Sender::start(send, || std::thread::sleep(AFTER))
}

fn publisher(node: &mut Node, participant: &DomainParticipant, output: Output, topic: &str) -> Result<Publisher<Raw>> {
    let refused = |error: &dyn std::fmt::Debug| Error::Network(format!("cannot publish {topic}: {error:?}"));
    let latched = output.latched();
    let (durability, depth) =
        if latched > 0 { (Durability::TransientLocal, latched) } else { (Durability::Volatile, KEPT) };
    let qos = QosProfile::publisher_default()
        .reliability_reliable(WhenFull::Wait(WHEN_FULL))
        .durability(durability)
        .history(History::KeepLast { depth });
    // Without a limit, what nobody listens to or acknowledges is kept beyond the depth, up to 8,192 messages: whole pictures of the map,
    // that is 100 MB a minute. A profile of ROS knows no such limit, so the topic is made below it.
    let most = if latched > 0 { latched.max(LEAST_WINDOW) } else { 2 * KEPT } as i32;
    let limits = policy::ResourceLimits { max_samples: most, max_instances: 1, max_samples_per_instance: most };
    let bounded = QosPolicies::from(&qos).modify_by(&QosPolicyBuilder::new().resource_limits(limits).build());
    let (package, kind) = output.kind();
    Name::parse(topic).map_err(|e| refused(&e))?;
    let dds_name = format!("rt/{}", topic.trim_start_matches('/'));
    let type_name = MessageTypeName::new(package, kind).dds_msg_type();
    let made = participant.create_topic(dds_name, type_name, &bounded, TopicKind::NoKey).map_err(|e| refused(&e))?;
    node.create_publisher(&made, None).map_err(|e| refused(&e))
}
