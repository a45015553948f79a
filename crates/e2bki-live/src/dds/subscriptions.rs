//! What is listened to. Topics may come and go: each is subscribed to when somebody offers it, in the quality that is offered.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ros2_client::qos::{Durability, History, WhenFull};
use ros2_client::{MessageTypeName, Name, Node, QosProfile, Subscription};
use rustdds::discovery::DiscoveredReaderData;
use rustdds::mio1::{Events, Interest, Poll, Token};
use rustdds::{DomainParticipant, GUID, policy};

use super::raw::Raw;
use super::services::Services;
use crate::error::{Error, Result};
use crate::inputs::{Inputs, Kind};

/// Longest time from one look at what came to the next; messages wake the thread earlier.
const LOOK: Duration = Duration::from_millis(20);

/// Time from one look at who offers what to the next.
const DISCOVER: Duration = Duration::from_millis(100);

impl Kind {
    /// Messages that wait to be taken from DDS; small ones may come in bursts.
    fn depth(self) -> usize {
        match self {
            Self::Cloud | Self::Questions | Self::Image | Self::CompressedImage => 10,
            Self::Clock | Self::CameraInfo => 1,
            Self::Shared => 64,
            Self::Transforms | Self::FixedTransforms | Self::Odometry | Self::LabelInfo => 100,
        }
    }
}

/// What is asked of those who offer a topic: as much as all of them offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Quality {
    reliable: bool,
    latched: bool,
}

struct Topic {
    kind: Kind,
    name: String,
    /// Its name in DDS.
    dds_name: String,
    subscription: Option<(Subscription<Raw>, Quality)>,
    /// A type that somebody offers it with and that is not ours.
    other_type: Option<String>,
}

pub(super) struct Subscriptions {
    node: Node,
    participant: DomainParticipant,
    topics: Vec<Topic>,
    inputs: Arc<Inputs>,
    notes: Arc<Mutex<Vec<String>>>,
    /// Topic of the whole map in DDS, and who listens to it.
    whole: Option<String>,
    readers: BTreeSet<GUID>,
}

impl Subscriptions {
    pub(super) fn new(
        node: Node,
        participant: DomainParticipant,
        topics: &[(Kind, String)],
        whole: Option<String>,
        (inputs, notes): (Arc<Inputs>, Arc<Mutex<Vec<String>>>),
    ) -> Result<Self> {
        let topic = |(kind, name): &(Kind, String)| {
            let name = format!("/{}", name.trim_start_matches('/'));
            Name::parse(&name).map_err(|e| Error::Network(format!("`{name}` is no name of a topic: {e}")))?;
            Ok(Topic { kind: *kind, dds_name: format!("rt{name}"), name, subscription: None, other_type: None })
        };
        let topics = topics.iter().map(topic).collect::<Result<Vec<Topic>>>()?;
        let whole = whole.map(|name| format!("rt{name}"));
        let subscriptions = Self { node, participant, topics, inputs, notes, whole, readers: BTreeSet::new() };
        let names: Vec<&str> = subscriptions.topics.iter().map(|topic| topic.name.as_str()).collect();
        subscriptions.note(format!("waiting for {}", names.join(", ")));
        Ok(subscriptions)
    }

    fn note(&self, line: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Takes messages until it is told to stop.
    pub(super) fn listen(mut self, mut services: Option<Services>, stop: &AtomicBool) {
        let mut poll = Poll::new().map_err(|e| self.note(format!("cannot wait for messages: {e}"))).ok();
        let mut events = Events::with_capacity(64);
        let mut discovered: Option<Instant> = None;
        while !stop.load(Ordering::SeqCst) {
            if discovered.is_none_or(|then| then.elapsed() >= DISCOVER) {
                self.discover(poll.as_ref());
                self.welcome();
                discovered = Some(Instant::now());
            }
            // What is not said to have come is looked for all the same.
            if poll.as_mut().is_none_or(|poll| poll.poll(&mut events, Some(LOOK)).is_err()) {
                std::thread::sleep(LOOK);
            }
            self.take();
            if let Some(services) = &mut services {
                services.answer();
            }
        }
    }

    fn take(&mut self) {
        for topic in &self.topics {
            let Some((subscription, _)) = &topic.subscription else { continue };
            // A message that cannot be taken does not hold up those behind it.
            for _ in 0..1000 {
                match subscription.take() {
                    Ok(Some((Raw(message), _))) => self.inputs.take(topic.kind, &message),
                    Ok(None) => break,
                    Err(_) => self.inputs.take(topic.kind, &[]),
                }
            }
        }
    }

    /// Sees who has begun to listen to the whole map since the last time.
    fn welcome(&mut self) {
        let Some(whole) = &self.whole else { return };
        let of_whole = |reader: DiscoveredReaderData| {
            (reader.subscription_topic_data.topic_name == *whole).then_some(reader.reader_proxy.remote_reader_guid)
        };
        let readers: BTreeSet<GUID> = self.participant.discovered_readers().into_iter().filter_map(of_whole).collect();
        if !readers.is_subset(&self.readers) {
            self.inputs.join();
        }
        self.readers = readers;
    }

    /// Subscribes to what is offered since the last time.
    fn discover(&mut self, poll: Option<&Poll>) {
        let writers = self.participant.discovered_writers();
        for number in 0..self.topics.len() {
            let Topic { kind, dds_name, name, .. } = &self.topics[number];
            let (package, type_name) = kind.type_name();
            let ours = format!("{package}::msg::dds_::{type_name}_");
            let offers = || writers.iter().map(|w| &w.publication_topic_data).filter(|w| w.topic_name == *dds_name);
            let fitting = || offers().filter(|offer| offer.type_name == ours);
            if fitting().next().is_none() {
                let other = offers().next().map(|offer| offer.type_name.clone());
                if other.is_some() && other != self.topics[number].other_type {
                    self.note(format!(
                        "{name} is offered as {}, and {package}/{type_name} is needed",
                        other.as_deref().unwrap_or_default()
                    ));
                    self.topics[number].other_type = other;
                }
                continue;
            }
            let reliable = |offer: &rustdds::discovery::PublicationBuiltinTopicData| {
                matches!(offer.reliability, Some(policy::Reliability::Reliable { .. }))
            };
            let latched = |offer: &rustdds::discovery::PublicationBuiltinTopicData| {
                offer.durability.is_some_and(|durability| durability != policy::Durability::Volatile)
            };
            let quality = Quality { reliable: fitting().all(reliable), latched: fitting().all(latched) };
            if self.topics[number].subscription.as_ref().is_none_or(|(_, known)| *known != quality) {
                self.subscribe(number, quality, poll);
            }
        }
    }

    fn subscribe(&mut self, number: usize, quality: Quality, poll: Option<&Poll>) {
        let Topic { kind, name, .. } = &self.topics[number];
        let (package, type_name) = kind.type_name();
        let base = QosProfile::subscription_default().history(History::KeepLast { depth: kind.depth() });
        let base = if quality.reliable { base.reliability_reliable(WhenFull::DEFAULT) } else { base };
        let qos = base.durability(if quality.latched { Durability::TransientLocal } else { Durability::Volatile });
        let made = Name::parse(name).map_err(|e| e.to_string()).and_then(|name| {
            let topic = self.node.create_topic(&name, MessageTypeName::new(package, type_name), &qos);
            let topic = topic.map_err(|e| e.to_string())?;
            self.node.create_subscription::<Raw>(&topic, Some(qos)).map_err(|e| e.to_string())
        });
        let name = self.topics[number].name.clone();
        match made {
            Ok(mut subscription) => {
                if let Some(poll) = poll {
                    use rustdds::mio1::event::Source;
                    // Where it cannot wake the thread, its messages are found at the next look.
                    subscription.register(poll.registry(), Token(number), Interest::READABLE).ok();
                }
                let how = if quality.reliable { "reliable" } else { "best effort" };
                self.note(format!("listening to {name} ({package}/{type_name}, {how})"));
                self.topics[number].subscription = Some((subscription, quality));
            }
            Err(error) => {
                if self.topics[number].other_type.is_none() {
                    self.note(format!("cannot listen to {name}, trying again: {error}"));
                    self.topics[number].other_type = Some(String::new());
                }
            }
        }
    }
}
