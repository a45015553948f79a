//! A thread of its own sends: the mapper never waits for the network.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::error::{Error, Result};
use crate::outlet::Output;

/// Messages that may wait.
const WAITING: usize = 256;

pub(crate) struct Sender {
    channel: Option<SyncSender<(Output, Vec<u8>)>>,
    thread: Option<JoinHandle<()>>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    waiting: AtomicUsize,
    lost: AtomicU64,
}

impl Sender {
    /// `send` takes a message to the network and says whether that took it; `end` comes after the last one.
    pub(crate) fn start(
        mut send: impl FnMut(Output, Vec<u8>) -> bool + Send + 'static,
        end: impl FnOnce() + Send + 'static,
    ) -> Result<Self> {
        let (channel, messages) = sync_channel(WAITING);
        let counts: Arc<Counts> = Arc::default();
        let counted = Arc::clone(&counts);
        let work = move || {
            for (output, message) in messages {
                let sent = send(output, message);
                counted.lost.fetch_add(u64::from(!sent), Ordering::SeqCst);
                counted.waiting.fetch_sub(1, Ordering::SeqCst);
            }
            end();
        };
        let thread = std::thread::Builder::new().name("e2bki-publish".into()).spawn(work);
        let thread = thread.map_err(|e| Error::Network(format!("cannot start a thread: {e}")))?;
        Ok(Self { channel: Some(channel), thread: Some(thread), counts })
    }

    pub(crate) fn waiting(&self) -> usize {
        self.counts.waiting.load(Ordering::SeqCst)
    }

    pub(crate) fn lost(&self) -> u64 {
        self.counts.lost.load(Ordering::SeqCst)
    }

    pub(crate) fn send(&self, output: Output, message: Vec<u8>) {
        self.counts.waiting.fetch_add(1, Ordering::SeqCst);
        if self.channel.as_ref().is_none_or(|channel| channel.try_send((output, message)).is_err()) {
            self.counts.waiting.fetch_sub(1, Ordering::SeqCst);
            self.counts.lost.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Sends what waits.
    pub(crate) fn finish(&mut self) {
        self.channel = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
