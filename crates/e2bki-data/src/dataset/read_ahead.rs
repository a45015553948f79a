//! Frames read on another thread, so that the disk never stalls the mapper.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use super::frame::LoadedFrame;
use super::open::Dataset;
use crate::error::Result;

/// Frames in order, read ahead of the one who asks. Dropping it stops the reading.
pub struct ReadAhead {
    frames: Option<Receiver<Result<LoadedFrame>>>,
    thread: Option<JoinHandle<()>>,
}

/// Reads the frames at these places in order, at most `depth` ahead.
pub fn read_ahead(dataset: Arc<Dataset>, indices: Vec<usize>, depth: usize) -> ReadAhead {
    let (sender, frames) = sync_channel(depth.max(1));
    let thread = std::thread::spawn(move || {
        for index in indices {
            // The receiver went away: nobody wants the rest.
            if sender.send(dataset.load(index)).is_err() {
                break;
            }
        }
    });
    ReadAhead { frames: Some(frames), thread: Some(thread) }
}

impl Iterator for ReadAhead {
    type Item = Result<LoadedFrame>;

    fn next(&mut self) -> Option<Self::Item> {
        self.frames.as_ref()?.recv().ok()
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        // The channel first: a thread that waits to send would never end otherwise.
        self.frames = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
