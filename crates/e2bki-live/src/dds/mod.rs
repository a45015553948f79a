//! The network: DDS as ROS 2 speaks it, by ros2-client, without ROS.
//!
//! RustDDS listens on all addresses of the computer, whatever networks it is restricted to: the restriction concerns what it
//! announces and where it sends. A firewall is what keeps others out.

mod parameters;
mod publications;
mod raw;
mod services;
mod subscriptions;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use ros2_client::{Context, Node, NodeName, NodeOptions};
use rustdds::DomainParticipantBuilder;

use crate::error::{Error, Result};
use crate::inputs::{Inputs, Kind};
use crate::network::{ConnectionOptions, MOST_DOMAINS, Network, WAITING_REQUESTS};
use crate::node::Request;
use crate::outlet::{Outlet, Output};
use crate::sender::Sender;
use services::Services;
use subscriptions::Subscriptions;

/// Buffers that sockets ask for, bytes; the system may give less.
const BUFFER_BYTES: usize = 8 << 20;

/// A node in a domain of DDS, and perhaps another in the domain in which robots share. Dropping it ends its threads.
pub struct Connection {
    main: Link,
    shared: Option<Link>,
    notes: Arc<Mutex<Vec<String>>>,
    requests: Receiver<Request>,
}

/// A participant of a domain: what it sends, and the thread that listens.
struct Link {
    publications: Sender,
    stop: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

fn refused(what: &str) -> impl Fn(&dyn std::fmt::Display) -> Error + '_ {
    move |error| Error::Network(format!("{what}: {error}"))
}

impl Connection {
    /// Joins a domain and listens for `inputs`. Topics need not exist yet.
    pub fn open(options: &ConnectionOptions, inputs: Arc<Inputs>) -> Result<Self> {
        let notes: Arc<Mutex<Vec<String>>> = Arc::default();
        let (sender, requests) = sync_channel(WAITING_REQUESTS);
        let outputs = options.outputs();
        let main = options.domain;
        let ours = Arc::clone(&inputs);
        let services = |node: &mut Node| Services::new(node, &options.name, options.rmw, sender, ours).map(Some);
        let main = Link::open(options, main, (&outputs, &options.topics), services, &inputs, &notes)?;
        let shared = match options.share_domain {
            None => None,
            Some(domain) => {
                let topics = [(Kind::Shared, crate::outlet::SHARED_TOPIC.to_string())];
                Some(Link::open(options, domain, (&[Output::Shared], &topics), |_| Ok(None), &inputs, &notes)?)
            }
        };
        Ok(Self { main, shared, notes, requests })
    }
}

impl Network for Connection {
    fn notes(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn requests(&self) -> &Receiver<Request> {
        &self.requests
    }

    fn lost(&self) -> u64 {
        self.main.publications.lost() + self.shared.as_ref().map_or(0, |link| link.publications.lost())
    }
}

impl Link {
    fn open(
        options: &ConnectionOptions,
        domain: u16,
        (outputs, topics): (&[Output], &[(Kind, String)]),
        services: impl FnOnce(&mut Node) -> Result<Option<Services>>,
        inputs: &Arc<Inputs>,
        notes: &Arc<Mutex<Vec<String>>>,
    ) -> Result<Self> {
        if domain > MOST_DOMAINS {
            return Err(Error::Network(format!("there is no domain {domain}; 0 to {MOST_DOMAINS}")));
        }
        let mut builder = DomainParticipantBuilder::new(domain)
            .socket_receive_buffer_size(BUFFER_BYTES)
            .socket_send_buffer_size(BUFFER_BYTES);
        if !options.networks.is_empty() {
            builder = builder.with_only_networks(options.networks.iter().copied());
        }
        let joined = format!("cannot join domain {domain}");
        let participant = builder.build().map_err(|e| refused(&joined)(&e))?;
        let context = Context::from_domain_participant(participant.clone()).map_err(|e| refused(&joined)(&e))?;
        let name = NodeName::new("/", &options.name)
            .map_err(|e| Error::Network(format!("`{}` is no name of a node: {e}", options.name)))?;
        // Its parameter services do not understand all middlewares, and its idea of /clock is wrong: we have our own.
        let plain = NodeOptions::new().enable_rosout(false).start_parameter_services(false);
        let mut node =
            context.new_node(name, plain).map_err(|e| Error::Network(format!("cannot make a node: {e:?}")))?;
        let publications = publications::start(&mut node, &participant, outputs, &options.prefix)?;
        let services = services(&mut node)?;
        let stop = Arc::new(AtomicBool::new(false));
        let whole = outputs.contains(&Output::Voxels).then(|| Output::Voxels.topic(&options.prefix));
        let told = (Arc::clone(inputs), Arc::clone(notes));
        let subscriptions = Subscriptions::new(node, participant, topics, whole, told)?;
        let thread = std::thread::Builder::new().name("e2bki-listen".into());
        let stopped = Arc::clone(&stop);
        let listener = thread.spawn(move || subscriptions.listen(services, &stopped));
        let listener = Some(listener.map_err(|e| refused("cannot start a thread")(&e))?);
        Ok(Self { publications, stop, listener })
    }
}

impl Outlet for Connection {
    fn waiting(&self) -> usize {
        self.main.publications.waiting()
    }

    fn send(&self, output: Output, message: Vec<u8>) {
        match (&self.shared, output) {
            (Some(link), Output::Shared) => link.publications.send(output, message),
            _ => self.main.publications.send(output, message),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.publications.finish();
        self.stop.store(true, Ordering::SeqCst);
        if let Some(listener) = self.listener.take() {
            drop(listener.join());
        }
    }
}
