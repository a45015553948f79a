//! What a server shows: maps, and news of those that grow.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use e2bki::{ClassSet, Config};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::scene::Scene;

/// News that wait for a slow browser; one that falls behind is told everything anew.
const NEWS: usize = 256;

/// Maps to look at, side by side.
pub struct Show {
    /// No other show has the same: a page that finds another one in its place forgets all tiles it has.
    id: String,
    scenes: Vec<Scene>,
    news: broadcast::Sender<Arc<str>>,
    watchers: AtomicUsize,
    live: bool,
    /// Of a live show: nothing more comes.
    done: AtomicBool,
}

impl Show {
    /// Maps that do not change.
    pub fn of_maps(scenes: Vec<Scene>) -> Arc<Self> {
        Self::new(scenes, false)
    }

    /// A map that a mapper of these classes and parameters is about to build.
    pub fn growing(name: impl Into<String>, classes: ClassSet, config: Config) -> Arc<Self> {
        Self::new(vec![Scene::growing(name.into(), classes, config)], true)
    }

    fn new(scenes: Vec<Scene>, live: bool) -> Arc<Self> {
        let id = format!("{:016x}", RandomState::new().build_hasher().finish());
        let (watchers, done) = (AtomicUsize::new(0), AtomicBool::new(false));
        Arc::new(Self { id, scenes, news: broadcast::channel(NEWS).0, watchers, live, done })
    }

    /// Browsers that look on.
    pub fn watchers(&self) -> usize {
        self.watchers.load(Ordering::Relaxed)
    }

    pub(crate) fn scene(&self, index: usize) -> Option<&Scene> {
        self.scenes.get(index)
    }

    /// Packs what pages will ask for first, as long as `wanted`.
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

    /// The map that grew is whole: who comes from now on is told so at once.
    pub(crate) fn complete(&self) {
        self.done.store(true, Ordering::Release);
    }

    /// Tells every browser.
    pub(crate) fn tell(&self, news: &Value) {
        // Nobody listening is no failure.
        drop(self.news.send(news.to_string().into()));
    }

    pub(crate) fn watch(self: &Arc<Self>) -> Watch {
        self.watchers.fetch_add(1, Ordering::Relaxed);
        Watch { show: self.clone(), news: self.news.subscribe() }
    }
}

/// A browser's place in the audience.
pub(crate) struct Watch {
    show: Arc<Show>,
    pub(crate) news: broadcast::Receiver<Arc<str>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.show.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}
