//! Services that others call: save and reset, both `std_srvs/Trigger`, and parameters.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

use ros2_client::qos::History;
use ros2_client::{Message, Name, Node, QosProfile, RmwRequestId, Server, ServiceMapping, ServiceTypeName};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::parameters::ParameterServices;
use crate::error::{Error, Result};
use crate::inputs::Inputs;
use crate::network::Rmw;
use crate::node::{Command, Request};

/// A request without fields: a byte on the wire, which some leave out.
#[derive(Debug, Clone, Copy)]
struct Empty;

impl Serialize for Empty {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_u8(0)
    }
}

impl<'de> Deserialize<'de> for Empty {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Anything;
        impl<'de> Visitor<'de> for Anything {
            type Value = Empty;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("nothing")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> std::result::Result<Empty, A::Error> {
                all.next_element::<u8>().ok();
                Ok(Empty)
            }
        }
        deserializer.deserialize_tuple(1, Anything)
    }
}

impl Message for Empty {}

/// The answer of `std_srvs/Trigger`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Answer {
    success: bool,
    message: String,
}

impl Message for Answer {}

struct Open {
    /// Number of the server.
    server: usize,
    id: RmwRequestId,
    answered: Receiver<(bool, String)>,
}

pub(super) struct Services {
    servers: Vec<(Command, Server<Empty, Answer>)>,
    /// Requests that the mapper has not answered yet.
    open: Vec<Open>,
    mapper: SyncSender<Request>,
    parameters: ParameterServices,
}

impl Services {
    pub(super) fn new(
        node: &mut Node,
        name: &str,
        rmw: Rmw,
        mapper: SyncSender<Request>,
        inputs: Arc<Inputs>,
    ) -> Result<Self> {
        let mapping = match rmw {
            Rmw::FastRtps => ServiceMapping::Enhanced,
            Rmw::Cyclone => ServiceMapping::Cyclone,
        };
        let qos = QosProfile::publisher_default().history(History::KeepLast { depth: 10 });
        let mut servers = Vec::new();
        for (command, base) in [(Command::Save, "save"), (Command::Reset, "reset")] {
            let refused =
                |error: &dyn fmt::Display| Error::Network(format!("cannot offer the service /{name}/{base}: {error}"));
            let full = Name::new(&format!("/{name}"), base).map_err(|e| refused(&e))?;
            let kind = ServiceTypeName::new("std_srvs", "Trigger");
            let server = node.create_server(mapping, &full, &kind, qos.clone(), qos.clone());
            servers.push((command, server.map_err(|e| refused(&e))?));
        }
        let parameters = ParameterServices::new(node, name, (mapping, &qos), inputs)?;
        Ok(Self { servers, open: Vec::new(), mapper, parameters })
    }

    /// Passes requests on to the mapper, and answers back.
    pub(super) fn answer(&mut self) {
        self.parameters.answer();
        for (number, (command, server)) in self.servers.iter().enumerate() {
            while let Ok(Some((id, Empty))) = server.receive_request() {
                let (answer, answered) = sync_channel(1);
                if self.mapper.try_send(Request { command: *command, answer }).is_ok() {
                    self.open.push(Open { server: number, id, answered });
                } else {
                    reply(server, id, (false, "too many requests wait".into()));
                }
            }
        }
        let servers = &self.servers;
        self.open.retain(|open| {
            let answer = match open.answered.try_recv() {
                Ok(answer) => answer,
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => (false, "the mapper has stopped".into()),
            };
            if let Some((_, server)) = servers.get(open.server) {
                reply(server, open.id, answer);
            }
            false
        });
    }
}

fn reply(server: &Server<Empty, Answer>, id: RmwRequestId, (success, message): (bool, String)) {
    // Who asked may have gone away.
    server.send_response(id, Answer { success, message }).ok();
}
