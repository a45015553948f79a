//! A value that is changed at once and put in order when somebody looks.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The value: in order, or as the last change left it. Whoever looks first puts it in order, others wait for that; then
/// it stays as it is for as long as it is borrowed.
#[derive(Debug)]
pub(crate) struct Settled<T> {
    in_order: OnceLock<Box<T>>,
    as_left: Mutex<Option<Box<T>>>,
}

impl<T: Default> Settled<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { in_order: OnceLock::new(), as_left: Mutex::new(Some(Box::new(value))) }
    }

    fn as_left(&self) -> MutexGuard<'_, Option<Box<T>>> {
        self.as_left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the value in order. `settle` must not wait for work that could look at the same value: that rules out
    /// the shared pool of threads, whose threads may be given such work while they wait.
    pub(crate) fn get(&self, settle: impl FnOnce(&mut T)) -> &T {
        self.in_order.get_or_init(|| {
            // It stays there while it is put in order: a panic would not lose it. It is in one of the two places, so
            // that the default is never needed.
            let mut guard = self.as_left();
            if let Some(value) = guard.as_mut() {
                settle(value);
            }
            guard.take().unwrap_or_default()
        })
    }

    /// Reads something that putting in order does not change.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        loop {
            if let Some(value) = self.in_order.get() {
                return read(value);
            }
            if let Some(value) = self.as_left().as_ref() {
                return read(value);
            }
            // Somebody is putting it in order.
            self.in_order.wait();
        }
    }

    /// The value as it is, to be changed.
    pub(crate) fn get_mut(&mut self) -> &mut T {
        let as_left = self.as_left.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = self.in_order.take() {
            *as_left = Some(value);
        }
        as_left.get_or_insert_default()
    }

    /// Puts the value in order now; returns what that gives.
    pub(crate) fn settle<R>(&mut self, settle: impl FnOnce(&mut T) -> R) -> R {
        let result = settle(self.get_mut());
        let as_left = self.as_left.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = as_left.take() {
            self.in_order = OnceLock::from(value);
        }
        result
    }
}

impl<T: Clone + Default> Clone for Settled<T> {
    fn clone(&self) -> Self {
        match self.in_order.get() {
            Some(value) => Self { in_order: OnceLock::from(value.clone()), as_left: Mutex::new(None) },
            None => self.read(|value| Self::new(value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_who_look_at_once_see_one_settling() {
        let mut value = Settled::new(vec![3, 1, 2]);
        let settlings = std::sync::atomic::AtomicUsize::new(0);
        let look = || {
            value.get(|numbers| {
                settlings.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                std::thread::sleep(std::time::Duration::from_millis(20));
                numbers.sort_unstable();
            })
        };
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..8).map(|_| scope.spawn(|| (look().clone(), value.read(Vec::len)))).collect();
            readers.into_iter().for_each(|reader| assert_eq!(reader.join().unwrap(), (vec![1, 2, 3], 3)));
        });
        assert_eq!(settlings.into_inner(), 1);
        value.get_mut().push(0);
        assert_eq!(value.read(Clone::clone), [1, 2, 3, 0]);
        assert_eq!(
            value.settle(|numbers| {
                numbers.sort_unstable();
                numbers.len()
            }),
            4
        );
        assert_eq!(value.clone().get(|_| ()), &[0, 1, 2, 3]);
    }

    #[test]
    fn a_panic_while_settling_loses_nothing() {
        let value = Settled::new(7);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| *value.get(|_| panic!("bad day"))));
        assert!(panicked.is_err());
        assert_eq!(*value.get(|number| *number += 1), 8);
    }
}
