//! Services that others call: save and reset, both `std_srvs/Trigger`, and parameters.

use std::sync::Arc;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use rustdds::RepresentationIdentifier;
use rustdds::serialization::{deserialize_from_cdr_with_rep_id, to_writer_with_rep_id};
use serde::Serialize;
use serde::de::DeserializeOwned;
use zenoh::Wait;
use zenoh::query::{Query, Queryable};

use super::names::{Named, Role, asked, attachment};
use super::{Graph, now, refused};
use crate::error::{Error, Result};
use crate::inputs::Inputs;
use crate::node::{Command, Request};
use crate::parameter_messages::{describe, get, kinds, list, set};

/// Longest time that the mapper may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// Header of little-endian CDR.
const HEADER: [u8; 4] = [0, 1, 0, 0];

#[derive(Debug, Clone, Copy)]
enum Service {
    Do(Command),
    List,
    Get,
    Kinds,
    Set,
    Describe,
}

const ALL: [(Service, &str, (&str, &str)); 7] = [
    (Service::Do(Command::Save), "save", ("std_srvs", "Trigger")),
    (Service::Do(Command::Reset), "reset", ("std_srvs", "Trigger")),
    (Service::List, "list_parameters", ("rcl_interfaces", "ListParameters")),
    (Service::Get, "get_parameters", ("rcl_interfaces", "GetParameters")),
    (Service::Kinds, "get_parameter_types", ("rcl_interfaces", "GetParameterTypes")),
    (Service::Set, "set_parameters", ("rcl_interfaces", "SetParameters")),
    (Service::Describe, "describe_parameters", ("rcl_interfaces", "DescribeParameters")),
];

/// The services, answered one after the other on a thread that ends with them.
pub(super) struct Services {
    _servers: Vec<Queryable<()>>,
}

impl Services {
    pub(super) fn start(
        graph: &mut Graph<'_>,
        domain: u16,
        mapper: SyncSender<Request>,
        inputs: Arc<Inputs>,
    ) -> Result<Self> {
        let (queries, to_answer) = channel::<(Service, Query)>();
        let answerer = Answerer { mapper, inputs };
        let work = move || {
            for (service, query) in to_answer {
                answerer.reply(service, &query);
            }
        };
        std::thread::Builder::new()
            .name("e2bki-answer".into())
            .spawn(work)
            .map_err(|e| Error::Network(format!("cannot start a thread: {e}")))?;
        let server = |(service, base, kind): (Service, &str, (&str, &str))| {
            let named = Named::service(domain, &format!("/{}/{base}", graph.node), kind);
            graph.tell(&named, Role::Server, 0)?;
            let queries: Sender<(Service, Query)> = queries.clone();
            let asked = move |query: Query| {
                // At the end nobody answers any more.
                queries.send((service, query)).ok();
            };
            let server = graph.session.declare_queryable(named.any_key()).complete(true).callback(asked).wait();
            server.map_err(refused(&format!("cannot offer the service {}", named.name())))
        };
        Ok(Self { _servers: ALL.into_iter().map(server).collect::<Result<_>>()? })
    }
}

struct Answerer {
    mapper: SyncSender<Request>,
    inputs: Arc<Inputs>,
}

/// The answer of `std_srvs/Trigger`.
#[derive(Serialize)]
struct Done {
    success: bool,
    message: String,
}

impl Answerer {
    fn reply(&self, service: Service, query: &Query) {
        let request = query.payload().map(|payload| payload.to_bytes()).unwrap_or_default();
        // Who asks for something else than this gets no answer, as from any server.
        let Some(answer) = self.answer(service, &request) else { return };
        let asked = query.attachment().and_then(|attachment| asked(&attachment.to_bytes()));
        let (number, client) = asked.unwrap_or((0, [0; 16]));
        let reply = query.reply(query.key_expr().clone(), answer).attachment(attachment(number, now(), &client));
        // Who asked may have gone away.
        reply.wait().ok();
    }

    fn answer(&self, service: Service, request: &[u8]) -> Option<Vec<u8>> {
        match service {
            Service::Do(command) => {
                let (success, message) = self.ask(command);
                written(&Done { success, message })
            }
            Service::List => written(&list(&read(request)?)),
            Service::Get => written(&get(&self.inputs, &read(request)?)),
            Service::Kinds => written(&kinds(&self.inputs, &read(request)?)),
            Service::Set => written(&set(&self.inputs, &read(request)?)),
            Service::Describe => written(&describe(&self.inputs, &read(request)?)),
        }
    }

    /// Passes a command on to the mapper, and waits.
    fn ask(&self, command: Command) -> (bool, String) {
        let (answer, answered) = sync_channel(1);
        if self.mapper.try_send(Request { command, answer }).is_err() {
            return (false, "too many requests wait, or the mapper has stopped".into());
        }
        answered.recv_timeout(PATIENCE).unwrap_or_else(|_| (false, "the mapper does not answer".into()))
    }
}

fn read<T: DeserializeOwned>(message: &[u8]) -> Option<T> {
    let body = message.get(HEADER.len()..)?;
    deserialize_from_cdr_with_rep_id(body, RepresentationIdentifier::CDR_LE).ok().map(|(value, _)| value)
}

fn written(value: &impl Serialize) -> Option<Vec<u8>> {
    let mut message = HEADER.to_vec();
    let mut body = Vec::new();
    to_writer_with_rep_id(&mut body, value, RepresentationIdentifier::CDR_LE).ok()?;
    message.extend(body);
    Some(message)
}
