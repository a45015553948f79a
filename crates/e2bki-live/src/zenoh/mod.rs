//! The network: Zenoh as `rmw_zenoh` speaks it, without ROS.
//!
//! A peer that listens on loopback, or on the networks that are named, and connects to a router, which tells it of the others.

mod names;
mod services;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::qos::CongestionControl;
use zenoh::sample::{Sample, SampleKind};
use zenoh::{Config, Session, Wait};
use zenoh_ext::{
    AdvancedPublisher, AdvancedPublisherBuilderExt, AdvancedSubscriber, AdvancedSubscriberBuilderExt, CacheConfig,
    HistoryConfig, MissDetectionConfig,
};

use crate::error::{Error, Result};
use crate::inputs::{Inputs, Kind};
use crate::network::{ConnectionOptions, Network, WAITING_REQUESTS};
use crate::node::Request;
use crate::outlet::{Outlet, Output, SHARED_TOPIC};
use crate::sender::Sender;
use names::{Named, Role, attachment, node_token, quality, type_in};
use services::Services;

/// Where the router of a robot is.
pub const ROUTER: &str = "tcp/localhost:7447";

/// Time from a message for late joiners to the word of how many there were, by which they see what they missed.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// What was put last is on its way for a moment.
const AFTER: Duration = Duration::from_millis(300);

/// A node in a network of Zenoh. Dropping it ends its threads.
pub struct Connection {
    sender: Sender,
    notes: Notes,
    requests: Receiver<Request>,
    // In the order in which they are to go: others are told of it while the session is there.
    _services: Services,
    _subscribers: Vec<AdvancedSubscriber<()>>,
    _watches: Vec<Subscriber<()>>,
    _tokens: Vec<LivelinessToken>,
    session: Session,
}

/// What is to be said.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn add(&self, line: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

/// What others are told of a part of the node.
struct Graph<'a> {
    session: &'a Session,
    node: &'a str,
    tokens: Vec<LivelinessToken>,
}

fn refused(what: &str) -> impl Fn(zenoh::Error) -> Error + '_ {
    move |error| Error::Network(format!("{what}: {error}"))
}

impl Graph<'_> {
    /// Tells of it; returns the sixteen bytes by which its messages are known.
    fn tell(&mut self, named: &Named, role: Role, latched: usize) -> Result<[u8; 16]> {
        let (session, number) = (self.session.zid(), self.tokens.len());
        let token = named.token(&session.to_string(), number, role, self.node, &quality(latched));
        self.declare(&token)?;
        let mut sender = session.to_le_bytes();
        for (byte, of_number) in sender.iter_mut().zip(number.to_le_bytes()) {
            *byte ^= of_number;
        }
        Ok(sender)
    }

    fn declare(&mut self, token: &str) -> Result<()> {
        let declared = self.session.liveliness().declare_token(token).wait();
        self.tokens.push(declared.map_err(refused("cannot tell others of the node"))?);
        Ok(())
    }
}

impl Connection {
    /// Connects to a router, or a peer, which need not be there yet, and listens for `inputs`.
    pub fn open(options: &ConnectionOptions, endpoint: &str, inputs: Arc<Inputs>) -> Result<Self> {
        let session =
            zenoh::open(config(options, endpoint)?).wait().map_err(refused("cannot open a session of Zenoh"))?;
        let notes = Notes::default();
        let mut graph = Graph { session: &session, node: &options.name, tokens: Vec::new() };
        graph.declare(&node_token(options.domain, &session.zid().to_string(), &options.name))?;
        let mut outputs: Vec<(u16, Output)> = options.outputs().into_iter().map(|o| (options.domain, o)).collect();
        let mut topics: Vec<(u16, Kind, String)> =
            options.topics.iter().map(|(kind, name)| (options.domain, *kind, name.clone())).collect();
        if let Some(domain) = options.share_domain {
            outputs.push((domain, Output::Shared));
            topics.push((domain, Kind::Shared, SHARED_TOPIC.into()));
        }
        let sender = publications(&mut graph, &outputs, &options.prefix)?;
        let (mut subscribers, mut watches) = (Vec::new(), Vec::new());
        for (domain, kind, name) in topics {
            let named = Named::topic(domain, kind, &name);
            graph.tell(&named, Role::Subscriber, 0)?;
            subscribers.push(subscribe(&session, &named, kind, &inputs)?);
            watches.push(watch(&session, &named, &notes)?);
        }
        watches.push(welcome(&session, &Named::output(options.domain, Output::Voxels, &options.prefix), &inputs)?);
        let (asked, requests) = sync_channel(WAITING_REQUESTS);
        let services = Services::start(&mut graph, options.domain, asked, inputs)?;
        let names: Vec<&str> = options.topics.iter().map(|(_, name)| name.as_str()).collect();
        notes.add(format!("waiting for {} by {endpoint}", names.join(", ")));
        let tokens = graph.tokens;
        Ok(Self {
            sender,
            notes,
            requests,
            _services: services,
            _subscribers: subscribers,
            _watches: watches,
            _tokens: tokens,
            session,
        })
    }
}

fn config(options: &ConnectionOptions, endpoint: &str) -> Result<Config> {
    let listen: Vec<String> = match options.networks.as_slice() {
        [] => vec!["tcp/127.0.0.1:0".into()],
        networks => networks.iter().map(|ip| format!("tcp/{}", std::net::SocketAddr::new(*ip, 0))).collect(),
    };
    let mut config = Config::default();
    for (key, value) in [
        ("mode", "\"peer\"".to_string()),
        ("connect/endpoints", format!("[{endpoint:?}]")),
        ("listen/endpoints", format!("{listen:?}")),
        // The router tells of others.
        ("scouting/multicast/enabled", "false".into()),
        // Messages that late joiners get are told apart by their times.
        ("timestamping/enabled", "true".into()),
    ] {
        config
            .insert_json5(key, &value)
            .map_err(refused(&format!("`{endpoint}` is no endpoint of Zenoh ({ROUTER})")))?;
    }
    Ok(config)
}

struct Publication {
    publisher: AdvancedPublisher<'static>,
    sender: [u8; 16],
    /// Messages so far.
    sent: i64,
}

fn publications(graph: &mut Graph<'_>, outputs: &[(u16, Output)], prefix: &str) -> Result<Sender> {
    let mut all = BTreeMap::new();
    for (domain, output) in outputs {
        let named = Named::output(*domain, *output, prefix);
        let sender = graph.tell(&named, Role::Publisher, output.latched())?;
        // A reader that is too slow makes the node put updates off, as with DDS.
        let builder =
            graph.session.declare_publisher(named.key()).congestion_control(CongestionControl::Block).advanced();
        let builder = match output.latched() {
            0 => builder,
            kept => (builder.cache(CacheConfig::default().max_samples(kept)).publisher_detection())
                .sample_miss_detection(MissDetectionConfig::default().sporadic_heartbeat(HEARTBEAT)),
        };
        let publisher = builder.wait().map_err(refused(&format!("cannot publish {}", named.name())))?;
        all.insert(*output, Publication { publisher, sender, sent: 0 });
    }
    let send = move |output: Output, message: Vec<u8>| {
        let Some(Publication { publisher, sender, sent }) = all.get_mut(&output) else { return false };
        *sent += 1;
        publisher.put(message).attachment(attachment(*sent, now(), sender)).wait().is_ok()
    };
    Sender::start(send, || std::thread::sleep(AFTER))
}

/// Nanoseconds since 1970.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as i64)
}

fn subscribe(session: &Session, named: &Named, kind: Kind, inputs: &Arc<Inputs>) -> Result<AdvancedSubscriber<()>> {
    let inputs = Arc::clone(inputs);
    let take = move |sample: Sample| inputs.take(kind, &sample.payload().to_bytes());
    let builder = session.declare_subscriber(named.any_key()).callback(take).advanced();
    let builder = match kind {
        // Told once, perhaps before this.
        Kind::FixedTransforms | Kind::LabelInfo => builder.history(HistoryConfig::default().detect_late_publishers()),
        _ => builder,
    };
    builder.wait().map_err(refused(&format!("cannot listen to {}", named.name())))
}

/// Says who offers a topic.
fn watch(session: &Session, named: &Named, notes: &Notes) -> Result<Subscriber<()>> {
    let (ours, notes, said) = (named.clone(), notes.clone(), Mutex::new(BTreeSet::new()));
    let look = move |sample: Sample| {
        let Some(kind) = type_in(sample.key_expr().as_str()).filter(|_| sample.kind() == SampleKind::Put) else {
            return;
        };
        if said.lock().unwrap_or_else(PoisonError::into_inner).insert(kind.to_string()) {
            let (name, needed) = (ours.name(), ours.kind());
            notes.add(if kind == needed {
                format!("listening to {name} ({kind})")
            } else {
                format!("{name} is offered as {kind}, and {needed} is needed")
            });
        }
    };
    let watch = session.liveliness().declare_subscriber(named.tokens(Role::Publisher)).history(true).callback(look);
    watch.wait().map_err(refused(&format!("cannot see who offers {}", named.name())))
}

/// Sees who begins to listen to the whole map.
fn welcome(session: &Session, whole: &Named, inputs: &Arc<Inputs>) -> Result<Subscriber<()>> {
    let inputs = Arc::clone(inputs);
    let look = move |sample: Sample| {
        if sample.kind() == SampleKind::Put {
            inputs.join();
        }
    };
    let watch = session.liveliness().declare_subscriber(whole.tokens(Role::Subscriber)).callback(look);
    watch.wait().map_err(refused("cannot see who listens"))
}

impl Outlet for Connection {
    fn waiting(&self) -> usize {
        self.sender.waiting()
    }

    fn send(&self, output: Output, message: Vec<u8>) {
        self.sender.send(output, message);
    }
}

impl Network for Connection {
    fn notes(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn requests(&self) -> &Receiver<Request> {
        &self.requests
    }

    fn lost(&self) -> u64 {
        self.sender.lost()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.sender.finish();
        // Who does not hear of it will see that it is gone.
        self.session.close().wait().ok();
    }
}
