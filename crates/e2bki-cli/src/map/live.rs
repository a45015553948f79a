//! `--view`: the map in the browser while it is built.

use anyhow::{Result, bail};
use e2bki::Frame;
use e2bki_data::Dataset;
use e2bki_view::{Publisher, Server, Show};

use super::method::Map;
use crate::table;
use crate::view::ServeArguments;

/// A page that follows a mapper.
pub(crate) struct Live {
    server: Server,
    publisher: Publisher,
}

impl Live {
    pub(crate) fn start(map: &Map, dataset: &Dataset, serve: &ServeArguments) -> Result<Self> {
        let Map::Primitives(map) = map else {
            bail!("--view shows maps of primitives; leave --method out");
        };
        let name = format!("{} {}", dataset.format().name(), dataset.sequence());
        let show = Show::growing(name, map.classes().clone(), map.config().clone());
        let server = serve.serve(show.clone())?;
        Ok(Self { server, publisher: Publisher::new(show)? })
    }

    pub(crate) fn frame(&mut self, map: &Map, frame: &Frame<'_>) {
        if let Map::Primitives(map) = map {
            self.publisher.frame(map, frame);
        }
    }

    /// Sends what is left and serves until the process is ended.
    pub(crate) fn finish(self, map: &Map) -> Result<()> {
        if let Map::Primitives(map) = map {
            let counts = self.publisher.finish(map);
            table::line(&format!(
                "viewer: {} tiles sent, {} dropped for later, {:.0} ms of the mapper's time",
                counts.sent,
                counts.dropped,
                counts.spent.as_secs_f64() * 1e3
            ))?;
        }
        table::line(&format!("still to be seen at {}; Ctrl-C ends it", self.server.url()))?;
        self.server.wait();
        Ok(())
    }
}
