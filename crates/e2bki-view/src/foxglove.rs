//! A server for Foxglove: messages of ROS 2 as they are, over its WebSocket protocol.
//!
//! A client is told the topics with their definitions and subscribes to some; each message goes to it behind 13 bytes. Who is too
//! slow misses messages; nobody waits for it. Clients cannot change anything.

use std::collections::{BTreeMap, VecDeque};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocket};
use axum::extract::{State, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Semaphore, broadcast, watch};

use crate::connections;
use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::request::MAX_MESSAGE;
use crate::server::{ServeOptions, bind};

/// The protocol by its names, newest first.
const PROTOCOLS: [&str; 2] = ["foxglove.sdk.v1", "foxglove.websocket.v1"];

/// Messages that may wait for a slow client.
const WAITING: usize = 64;

/// Most subscriptions of a client.
const MOST_SUBSCRIPTIONS: usize = 256;

/// Longest time for sending a message.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// A topic.
#[derive(Debug, Clone, Copy)]
pub struct FoxgloveTopic<'a> {
    /// Its name.
    pub name: &'a str,
    /// Name of its type, as in `sensor_msgs/msg/PointCloud2`.
    pub kind: &'a str,
    /// Definition of its type, with those that it uses.
    pub definition: &'a str,
    /// How many of the last messages those get who come later.
    pub latched: usize,
}

struct Channel {
    name: String,
    kind: String,
    definition: String,
    latched: usize,
    kept: VecDeque<(u64, Bytes)>,
    /// Clients that want it.
    wanted: usize,
}

#[derive(Clone)]
enum Event {
    Advertised(usize),
    Said { channel: usize, time: u64, message: Bytes },
}

struct Hub {
    title: String,
    channels: Mutex<Vec<Channel>>,
    events: broadcast::Sender<Event>,
}

impl Hub {
    fn channels(&self) -> MutexGuard<'_, Vec<Channel>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn advertisement(&self, numbers: impl Iterator<Item = usize>) -> Message {
        let channels = self.channels();
        let described = numbers.filter_map(|number| {
            let Channel { name, kind, definition, .. } = channels.get(number)?;
            Some(json!({
                "id": number, "topic": name, "encoding": "cdr", "schemaName": kind, "schema": definition,
                "schemaEncoding": "ros2msg",
            }))
        });
        let described: Vec<Value> = described.collect();
        text(&json!({"op": "advertise", "channels": described}))
    }
}

fn text(value: &Value) -> Message {
    Message::Text(value.to_string().into())
}

/// A running server; it ends when this is dropped.
pub struct Foxglove {
    hub: Arc<Hub>,
    guard: Arc<Guard>,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone)]
struct Shared {
    hub: Arc<Hub>,
    guard: Arc<Guard>,
    free: Arc<Semaphore>,
}

impl Foxglove {
    /// Starts serving on a thread of its own.
    pub fn start(options: &ServeOptions, title: &str) -> Result<Self> {
        let failed = |e: std::io::Error| Error::Start(e.to_string());
        let listener: TcpListener = bind(options)?;
        let address = listener.local_addr().map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let guard = Arc::new(if options.host.is_loopback() { Guard { token: None } } else { Guard::with_token()? });
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(failed)?;
        let (stop, mut stopped) = watch::channel(false);
        let events = broadcast::channel(WAITING).0;
        let hub = Arc::new(Hub { title: title.into(), channels: Mutex::default(), events });
        let free = Arc::new(Semaphore::new(connections::MAX_CLIENTS));
        let router = Router::new().fallback(socket).with_state(Shared {
            hub: Arc::clone(&hub),
            guard: Arc::clone(&guard),
            free,
        });
        let thread = std::thread::Builder::new()
            .name("e2bki-foxglove".into())
            .spawn(move || {
                runtime.block_on(async move {
                    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                    tokio::select! {
                        () = connections::serve(listener, router) => {}
                        _ = stopped.changed() => {}
                    }
                });
                runtime.shutdown_background();
            })
            .map_err(failed)?;
        Ok(Self { hub, guard, address, stop, thread: Some(thread) })
    }

    /// What Foxglove is to be connected to.
    pub fn url(&self) -> String {
        match &self.guard.token {
            Some(token) => format!("ws://{}/?token={token}", self.address),
            None => format!("ws://{}", self.address),
        }
    }

    /// Whether somebody wants a topic. New topics are wanted, so that somebody can be told of them.
    pub fn is_wanted(&self, topic: &str) -> bool {
        let channels = self.hub.channels();
        channels.iter().find(|channel| channel.name == topic).is_none_or(|c| c.wanted > 0 || c.latched > 0)
    }

    /// Sends a message, CDR with its header of four bytes; `time` is in nanoseconds since 1970. Never waits.
    pub fn send(&self, topic: FoxgloveTopic<'_>, time: u64, message: &[u8]) {
        let message = Bytes::copy_from_slice(message);
        let mut channels = self.hub.channels();
        let known = channels.iter().position(|channel| channel.name == topic.name);
        let channel = known.unwrap_or_else(|| {
            channels.push(Channel {
                name: topic.name.into(),
                kind: topic.kind.into(),
                definition: topic.definition.into(),
                latched: topic.latched,
                kept: VecDeque::new(),
                wanted: 0,
            });
            channels.len() - 1
        });
        let Channel { kept, latched, .. } = &mut channels[channel];
        if *latched > 0 {
            kept.push_back((time, message.clone()));
            if kept.len() > *latched {
                kept.pop_front();
            }
        }
        // Nobody may be there. Under the lock, so that who subscribes meanwhile misses nothing.
        if known.is_none() {
            self.hub.events.send(Event::Advertised(channel)).ok();
        }
        self.hub.events.send(Event::Said { channel, time, message }).ok();
    }
}

impl Drop for Foxglove {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Foxglove's own pages and its program, besides our own pages: those of other sites are refused.
fn is_foxglove(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let origin = origin.to_str().unwrap_or_default();
    let host = origin.strip_prefix("https://").unwrap_or_default();
    origin == "file://" || host == "foxglove.dev" || host.ends_with(".foxglove.dev")
}

async fn socket(
    State(shared): State<Shared>,
    uri: Uri,
    mut headers: HeaderMap,
    upgrade: std::result::Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Response {
    if is_foxglove(&headers) {
        headers.remove(header::ORIGIN);
    }
    if !shared.guard.admits(&uri, &headers) {
        let why = "connect Foxglove to the address that `e2bki live` printed, including its token\n";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    match upgrade {
        Err(_) => {
            (StatusCode::UPGRADE_REQUIRED, "this is a WebSocket for Foxglove: Open connection…\n").into_response()
        }
        Ok(upgrade) => {
            let Ok(place) = shared.free.try_acquire_owned() else {
                return (StatusCode::SERVICE_UNAVAILABLE, "too many clients are connected\n").into_response();
            };
            let upgrade = upgrade.protocols(PROTOCOLS).max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE);
            upgrade.on_upgrade(move |socket| async move {
                let mut wanted = BTreeMap::new();
                session(socket, &shared.hub, &mut wanted).await;
                let mut channels = shared.hub.channels();
                for channel in wanted.values() {
                    if let Some(channel) = channels.get_mut(*channel) {
                        channel.wanted -= 1;
                    }
                }
                drop(place);
            })
        }
    }
}

/// Serves a client until it leaves. `wanted`: channels by the numbers of subscriptions.
async fn session(mut socket: WebSocket, hub: &Hub, wanted: &mut BTreeMap<u32, usize>) {
    let (mut events, known) = {
        let channels = hub.channels();
        (hub.events.subscribe(), channels.len())
    };
    let about = json!({
        "op": "serverInfo", "name": hub.title, "capabilities": [], "supportedEncodings": ["cdr"], "metadata": {},
    });
    let mut outbox = VecDeque::from([text(&about), hub.advertisement(0..known)]);
    loop {
        while let Some(message) = outbox.pop_front() {
            if !matches!(tokio::time::timeout(SEND_TIMEOUT, socket.send(message)).await, Ok(Ok(()))) {
                return;
            }
        }
        tokio::select! {
            received = socket.recv() => match received {
                Some(Ok(Message::Text(request))) => {
                    let Ok(request) = serde_json::from_str::<Value>(&request) else { continue };
                    outbox.extend(obey(&request, hub, wanted));
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
            event = events.recv() => match event {
                Ok(Event::Advertised(channel)) => outbox.push_back(hub.advertisement(std::iter::once(channel))),
                Ok(Event::Said { channel, time, message }) => {
                    let numbers = wanted.iter().filter(|(_, wanted)| **wanted == channel).map(|(number, _)| *number);
                    outbox.extend(numbers.map(|number| data(number, time, &message)));
                }
                // Too slow: what is gone is gone. What was advertised meanwhile is told again.
                Err(RecvError::Lagged(_)) => {
                    let known = hub.channels().len();
                    outbox.push_back(hub.advertisement(0..known));
                }
                Err(RecvError::Closed) => return,
            },
        }
    }
}

/// Does what a client asks for, as far as it concerns subscriptions; returns what it gets at once.
fn obey(request: &Value, hub: &Hub, wanted: &mut BTreeMap<u32, usize>) -> Vec<Message> {
    let number = |value: &Value| value.as_u64().and_then(|v| u32::try_from(v).ok());
    let list = |name: &str| request[name].as_array().map_or(&[][..], Vec::as_slice);
    let mut channels = hub.channels();
    let mut answers = Vec::new();
    match request["op"].as_str() {
        Some("subscribe") => {
            for one in list("subscriptions") {
                let (Some(id), Some(channel)) = (number(&one["id"]), number(&one["channelId"])) else { continue };
                let Some(channel_of) = channels.get_mut(channel as usize) else { continue };
                if wanted.len() < MOST_SUBSCRIPTIONS && !wanted.contains_key(&id) {
                    wanted.insert(id, channel as usize);
                    channel_of.wanted += 1;
                    answers.extend(channel_of.kept.iter().map(|(time, message)| data(id, *time, message)));
                }
            }
        }
        Some("unsubscribe") => {
            for id in list("subscriptionIds").iter().filter_map(number) {
                if let Some(channel) = wanted.remove(&id).and_then(|channel| channels.get_mut(channel)) {
                    channel.wanted -= 1;
                }
            }
        }
        _ => {}
    }
    answers
}

/// A message of a subscription.
fn data(subscription: u32, time: u64, message: &Bytes) -> Message {
    let mut bytes = Vec::with_capacity(13 + message.len());
    bytes.push(1);
    bytes.extend(subscription.to_le_bytes());
    bytes.extend(time.to_le_bytes());
    bytes.extend_from_slice(message);
    Message::Binary(bytes.into())
}
