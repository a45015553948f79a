//! Foxglove: what goes out and what comes in, as it is.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use e2bki_live::{Inputs, Kind, Network, Outlet, Output};
use e2bki_view::{Foxglove, FoxgloveTopic};

use super::options::Options;
use crate::table;

/// Messages go to the network and, if it is there, to Foxglove.
pub(super) struct Onlooked<'a> {
    network: &'a dyn Network,
    foxglove: Option<Arc<Foxglove>>,
    prefix: String,
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

impl<'a> Onlooked<'a> {
    /// Starts the server if it is asked for: it gets what the node hears, too.
    pub(super) fn new(options: &Options, network: &'a dyn Network, inputs: &Inputs) -> Result<Self> {
        let connection = options.connection()?;
        let Some(serve) = options.foxglove() else {
            return Ok(Self { network, foxglove: None, prefix: connection.prefix });
        };
        let foxglove = Arc::new(Foxglove::start(&serve, &connection.name)?);
        table::line(&format!("Foxglove: open a connection to {}", foxglove.url()))?;
        let (heard, topics) = (Arc::clone(&foxglove), connection.topics);
        inputs.show(move |kind, message| {
            let name = topics.iter().find(|(other, _)| *other == kind).map(|(_, name)| name.as_str());
            if let (Some(name), Some(schema)) = (name, kind.schema())
                && heard.is_wanted(name)
            {
                let latched = if kind == Kind::FixedTransforms { 16 } else { 0 };
                let topic = FoxgloveTopic { name, kind: schema.name, definition: schema.text, latched };
                heard.send(topic, now(), message);
            }
        });
        Ok(Self { network, foxglove: Some(foxglove), prefix: connection.prefix })
    }
}

impl Outlet for Onlooked<'_> {
    fn waiting(&self) -> usize {
        self.network.waiting()
    }

    fn send(&self, output: Output, message: Vec<u8>) {
        if let (Some(foxglove), Some(schema)) = (&self.foxglove, output.schema()) {
            let name = output.topic(&self.prefix);
            let topic =
                FoxgloveTopic { name: &name, kind: schema.name, definition: schema.text, latched: output.latched() };
            if foxglove.is_wanted(&name) {
                foxglove.send(topic, now(), &message);
            }
        }
        self.network.send(output, message);
    }
}
