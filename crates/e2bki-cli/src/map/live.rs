//! `--view` and `--rerun`: the map in the browser or in Rerun, while it is built and afterwards.

use std::sync::{Arc, Mutex};

use anyhow::{Result, bail};
use e2bki::{Changes, Frame, FrameReport, Mapper, SemanticMapper};
use e2bki_view::{Publisher, Scene, Scenes, Server};

use super::method::{Map, build};
use crate::rerun::Recording;
use crate::table;
use crate::view::ServeArguments;

/// A page that follows a mapper, or a recording.
pub(crate) struct Live {
    shown: Shown,
    publisher: Publisher,
}

enum Shown {
    Page(Server),
    Recording(Recording),
}

impl Live {
    pub(crate) fn start(name: String, map: &Mapper, serve: &ServeArguments) -> Result<Self> {
        let show = Scenes::live(name.clone(), map.classes().clone(), map.config().clone());
        Ok(if let Some(target) = &serve.rerun {
            let recording = Recording::open(target, &name, map.classes())?;
            let publisher = Publisher::with_subscriber(show, recording.follower())?;
            Self { shown: Shown::Recording(recording), publisher }
        } else {
            Self { shown: Shown::Page(serve.serve(show.clone())?), publisher: Publisher::new(show)? }
        })
    }

    pub(crate) fn frame(&mut self, map: &Mapper, frame: &Frame<'_>) {
        self.publisher.frame(map, frame);
    }

    /// The map changed without a frame.
    #[cfg(feature = "ros2")]
    pub(crate) fn changed(&mut self, map: &Mapper) {
        self.publisher.changed(map);
    }

    /// A frame of a map of which a part is on the disk; see [`Publisher::frame_of_part`].
    pub(crate) fn frame_of_part(
        &mut self,
        map: &Mapper,
        frame: &Frame<'_>,
        changes: &Changes,
        here: impl Fn([i32; 2]) -> bool,
    ) {
        self.publisher.frame_of_part(map, frame, changes, here);
    }

    /// Sends what is left; a page is served until the process is ended.
    pub(crate) fn finish(self, map: &Mapper) -> Result<()> {
        let counts = self.publisher.finish(map);
        table::line(&format!(
            "viewer: {} tiles sent, {} dropped for later, {:.0} ms of the mapper's time, {:.0} ms of encoding beside it",
            counts.sent,
            counts.dropped,
            counts.spent.as_secs_f64() * 1e3,
            counts.packing.as_secs_f64() * 1e3
        ))?;
        match self.shown {
            Shown::Page(server) => until_the_end(server),
            Shown::Recording(recording) => recording.finish(),
        }
    }
}

fn until_the_end(server: Server) -> Result<()> {
    table::line(&format!("still serving at {}; press Ctrl-C to stop", server.url()))?;
    server.wait();
    Ok(())
}

/// Another method that maps the same frames, to be seen beside the first.
pub(crate) struct Beside {
    name: String,
    map: Map,
}

impl Beside {
    pub(crate) fn new(name: &str, map: &Map) -> Result<Self> {
        let Map::Primitives(first) = map else {
            bail!("--beside shows a method beside E2-BKI; remove --method");
        };
        Ok(Self { name: name.into(), map: build(name, first.classes().clone(), first.config())? })
    }

    pub(crate) fn insert(&mut self, frame: &Frame<'_>) -> Result<FrameReport> {
        self.map.insert(frame)
    }
}

/// Shows whole maps, side by side, until the process is ended.
pub(crate) fn show(
    name: &str,
    map: Map,
    beside: Option<Beside>,
    trajectory: &[[f64; 3]],
    serve: &ServeArguments,
) -> Result<()> {
    let maps = [Some((name.to_string(), map)), beside.map(|beside| (beside.name, beside.map))];
    let scenes = maps.into_iter().flatten().map(|(name, map)| scene(name, map, trajectory));
    let server = serve.serve(Scenes::of_maps(scenes.collect::<Result<_>>()?))?;
    until_the_end(server)
}

fn scene(name: String, map: Map, trajectory: &[[f64; 3]]) -> Result<Scene> {
    Ok(match map {
        Map::Primitives(map) => Scene::of_map(name, *map, trajectory.to_vec(), None),
        Map::Budgeted(_) => bail!("a map with --memory is shown while it is built; look at it with `e2bki view`"),
        Map::Voxels(map) => {
            let shared: Arc<Mutex<Box<dyn SemanticMapper>>> = Arc::new(Mutex::new(map));
            Scene::of_voxels(name, shared, trajectory.to_vec())?
        }
    })
}
