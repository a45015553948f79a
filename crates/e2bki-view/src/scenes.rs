//! The scenes of a server, and events of those that are live.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use e2bki::{ClassSet, Config};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::scene::Scene;

/// Events queued for a slow client; one that falls behind starts over.
const EVENTS: usize = 256;

/// The maps of a viewer, side by side.
pub struct Scenes {
    /// Unique id: a page that reconnects and finds another one drops all its tiles.
    id: String,
    scenes: Vec<Scene>,
    events: broadcast::Sender<Arc<str>>,
    clients: AtomicUsize,
    live: bool,
    /// Whether a live map is complete.
    done: AtomicBool,
}

impl Scenes {
    /// Static maps.
    pub fn of_maps(scenes: Vec<Scene>) -> Arc<Self> {
        Self::new(scenes, false)
    }

    /// A live map, to be built by a mapper with these classes and parameters.
    pub fn live(name: impl Into<String>, classes: ClassSet, config: Config) -> Arc<Self> {
        Self::new(vec![Scene::live(name.into(), classes, config)], true)
    }

    fn new(scenes: Vec<Scene>, live: bool) -> Arc<Self> {
        let id = format!("{:016x}", RandomState::new().build_hasher().finish());
        let (clients, done) = (AtomicUsize::new(0), AtomicBool::new(false));
        Arc::new(Self { id, scenes, events: broadcast::channel(EVENTS).0, clients, live, done })
    }

    /// Number of connected clients.
    pub fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    pub(crate) fn scene(&self, index: usize) -> Option<&Scene> {
        self.scenes.get(index)
    }

    /// Fills the caches, while `wanted`.
    pub(crate) fn prepare(&self, wanted: impl Fn() -> bool) {
        for (map, scene) in (0..).zip(&self.scenes) {
            scene.prepare(map, &wanted);
        }
    }

    pub(crate) fn hello(&self) -> String {
        let maps: Vec<Value> = self.scenes.iter().map(Scene::describe).collect();
        let version = env!("CARGO_PKG_VERSION");
        let done = self.done.load(Ordering::Acquire);
        json!({"kind": "hello", "version": version, "show": self.id, "live": self.live, "done": done, "maps": maps})
            .to_string()
    }

    /// Marks a live map as complete; new clients are told at once.
    pub(crate) fn complete(&self) {
        self.done.store(true, Ordering::Release);
    }

    /// Sends an event to every client.
    pub(crate) fn broadcast(&self, events: &Value) {
        // No client is no error.
        drop(self.events.send(events.to_string().into()));
    }

    pub(crate) fn subscribe(self: &Arc<Self>) -> Subscription {
        self.clients.fetch_add(1, Ordering::Relaxed);
        Subscription { show: self.clone(), events: self.events.subscribe() }
    }
}

/// A client's subscription to events.
pub(crate) struct Subscription {
    show: Arc<Scenes>,
    pub(crate) events: broadcast::Receiver<Arc<str>>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.show.clients.fetch_sub(1, Ordering::Relaxed);
    }
}
