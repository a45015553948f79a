//! What is sent. A thread of its own sends: the mapper never waits for the network.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ros2_client::qos::{Durability, History, WhenFull};
use ros2_client::{MessageTypeName, Name, Node, Publisher, QosProfile};

use super::raw::Raw;
use crate::error::{Error, Result};
use crate::outlet::Output;

/// Messages that may wait.
const WAITING: usize = 256;

/// Messages that a writer keeps until everybody has them; an update may be of many.
const KEPT: usize = 64;

/// Messages are sent no faster than this, bytes per second: what comes faster than receivers read is lost and has to be asked
/// for again.
const PACE: f64 = 50e6;

/// Longest time that a full writer holds up the ones behind.
const WHEN_FULL: Duration = Duration::from_millis(200);

pub(super) struct Publications {
    channel: Option<SyncSender<(Output, Vec<u8>)>>,
    sender: Option<JoinHandle<()>>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    waiting: AtomicUsize,
    lost: AtomicU64,
}

impl Publications {
    pub(super) fn start(node: &mut Node, outputs: &[Output], prefix: &str) -> Result<Self> {
        let mut publishers = BTreeMap::new();
        for output in outputs {
            publishers.insert(*output, publisher(node, *output, &output.topic(prefix))?);
        }
        let (channel, messages) = sync_channel(WAITING);
        let counts: Arc<Counts> = Arc::default();
        let counted = Arc::clone(&counts);
        let thread = std::thread::Builder::new().name("e2bki-publish".into());
        let sender = thread.spawn(move || publish(&publishers, &messages, &counted));
        let sender = sender.map_err(|e| Error::Network(format!("cannot start a thread: {e}")))?;
        Ok(Self { channel: Some(channel), sender: Some(sender), counts })
    }

    pub(super) fn waiting(&self) -> usize {
        self.counts.waiting.load(Ordering::SeqCst)
    }

    pub(super) fn lost(&self) -> u64 {
        self.counts.lost.load(Ordering::SeqCst)
    }

    pub(super) fn send(&self, output: Output, message: Vec<u8>) {
        self.counts.waiting.fetch_add(1, Ordering::SeqCst);
        if self.channel.as_ref().is_none_or(|channel| channel.try_send((output, message)).is_err()) {
            self.counts.waiting.fetch_sub(1, Ordering::SeqCst);
            self.counts.lost.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Sends what waits.
    pub(super) fn finish(&mut self) {
        self.channel = None;
        if let Some(sender) = self.sender.take() {
            drop(sender.join());
        }
    }
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

fn publish(publishers: &BTreeMap<Output, Publisher<Raw>>, messages: &Receiver<(Output, Vec<u8>)>, counts: &Counts) {
    for (output, message) in messages {
        let pause = Duration::from_secs_f64(message.len() as f64 / PACE);
        let sent = publishers.get(&output).is_some_and(|publisher| publisher.publish(Raw(message)).is_ok());
        counts.lost.fetch_add(u64::from(!sent), Ordering::SeqCst);
        counts.waiting.fetch_sub(1, Ordering::SeqCst);
        std::thread::sleep(pause);
    }
    // Readers ask for what they missed for a moment after the last message.
    std::thread::sleep(Duration::from_millis(300));
}
