//! `--rerun` in a build without Rerun.

use anyhow::{Result, bail};
use e2bki::ClassSet;
use e2bki_view::Subscriber;

/// There are no recordings.
pub(crate) enum Recording {}

impl Recording {
    /// Says what is missing.
    pub(crate) fn open(target: &str, _: &str, _: &ClassSet) -> Result<Self> {
        bail!("--rerun {target} needs a build with `--features rerun`; --view shows the map in the browser")
    }

    pub(crate) fn follower(&self) -> Box<dyn Subscriber> {
        match *self {}
    }

    pub(crate) fn finish(self) -> Result<()> {
        match self {}
    }
}
