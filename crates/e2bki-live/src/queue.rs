//! A bounded queue between the network and the mapper. Who sends never waits: when it is full, the oldest is dropped and
//! counted, as a map of now is worth more than one of a while ago.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The queue.
#[derive(Debug)]
pub struct Queue<T> {
    state: Mutex<State<T>>,
    stirred: Condvar,
    capacity: usize,
}

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<T>,
    received: u64,
    dropped: u64,
    /// Whether something happened since the last wait.
    stirred: bool,
}

impl<T> Queue<T> {
    /// An empty queue that holds at least one.
    pub fn new(capacity: usize) -> Self {
        let state = State { waiting: VecDeque::new(), received: 0, dropped: 0, stirred: false };
        Self { state: Mutex::new(state), stirred: Condvar::new(), capacity: capacity.max(1) }
    }

    /// Nobody panics while holding the lock.
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one; returns whether the oldest had to go for it.
    pub fn push(&self, item: T) -> bool {
        let mut state = self.state();
        let full = state.waiting.len() >= self.capacity;
        if full {
            state.waiting.pop_front();
            state.dropped += 1;
        }
        state.waiting.push_back(item);
        state.received += 1;
        drop(state);
        self.stir();
        full
    }

    /// Takes the oldest if it is wanted now; those behind it wait.
    pub fn take_if(&self, wanted: impl FnOnce(&T) -> bool) -> Option<T> {
        let mut state = self.state();
        if wanted(state.waiting.front()?) { state.waiting.pop_front() } else { None }
    }

    /// Wakes who waits: there may be a reason to look again.
    pub fn stir(&self) {
        self.state().stirred = true;
        self.stirred.notify_all();
    }

    /// Waits until something happens, at most so long.
    pub fn wait(&self, most: Duration) {
        let waited = self.stirred.wait_timeout_while(self.state(), most, |state| !state.stirred);
        waited.unwrap_or_else(PoisonError::into_inner).0.stirred = false;
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.state().waiting.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many came, and how many of them were dropped.
    pub fn counts(&self) -> (u64, u64) {
        let state = self.state();
        (state.received, state.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::time::Instant;

    #[test]
    fn waiting_ends_when_something_comes() {
        let queue = Arc::new(Queue::new(3));
        let other = Arc::clone(&queue);
        let start = Instant::now();
        let sender = std::thread::spawn(move || other.push(1));
        queue.wait(Duration::from_secs(60));
        sender.join().unwrap();
        assert!(start.elapsed() < Duration::from_secs(30) && queue.len() == 1);
        // Nothing new: the time passes.
        queue.wait(Duration::from_millis(1));
        assert!(queue.take_if(|item| *item > 1).is_none());
        assert_eq!(queue.take_if(|item| *item == 1), Some(1));
        assert!(queue.is_empty() && queue.take_if(|_| true).is_none());
    }

    proptest! {
        #[test]
        fn the_newest_stay_in_order_and_every_one_is_counted(capacity in 0_usize..6, steps in prop::collection::vec(any::<bool>(), 0..60)) {
            let queue = Queue::new(capacity);
            let (mut model, mut next, mut taken) = (VecDeque::new(), 0_u64, 0_u64);
            for push in steps {
                if push {
                    let full = model.len() == capacity.max(1);
                    if full {
                        model.pop_front();
                    }
                    model.push_back(next);
                    prop_assert_eq!(queue.push(next), full);
                    next += 1;
                } else {
                    let one = queue.take_if(|_| true);
                    taken += u64::from(one.is_some());
                    prop_assert_eq!(one, model.pop_front());
                }
                let (received, dropped) = queue.counts();
                prop_assert_eq!(received, dropped + taken + queue.len() as u64);
            }
        }
    }
}
