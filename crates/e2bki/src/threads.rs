//! Work for several threads of its own.
//!
//! The pool that other loops share may give a waiting thread any other work, also work that waits for this one. Where that
//! must not be, threads are started for the loop: a tenth of a millisecond, so not for little.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many threads as a configuration asks for; 0 stands for one per core.
pub(crate) fn threads_of(asked: usize) -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
    // More than there are cores would only wait for each other.
    if asked == 0 { cores } else { asked.min(cores) }
}

/// Results of `work(scratch, item)` in the order of the items; `least` items are worth a thread.
pub(crate) fn in_threads<I: Sync, R: Send, S>(
    items: &[I],
    threads: usize,
    least: usize,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &I) -> R + Sync,
) -> Vec<R> {
    let threads = threads.min(items.len() / least.max(1)).max(1);
    let run = |items: &[I], scratch: &mut S| items.iter().map(|item| work(scratch, item)).collect::<Vec<R>>();
    if threads == 1 {
        return run(items, &mut scratch());
    }
    // Small parts, taken one by one: none waits for the one with the most to do.
    let parts: Vec<&[I]> = items.chunks(items.len().div_ceil(8 * threads)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut own, mut done) = (scratch(), Vec::new());
        while let Some((number, part)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            parts.get(number).map(|part| (number, part))
        } {
            done.push((number, run(part, &mut own)));
        }
        done
    };
    let mut done = std::thread::scope(|scope| {
        // A thread that cannot be had leaves its share to the others.
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(start).collect();
        let mut done = work();
        for other in others {
            match other.join() {
                Ok(theirs) => done.extend(theirs),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().flat_map(|(_, results)| results).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for (count, threads) in [(0, 4), (1, 4), (7, 3), (1000, 1), (1000, 4), (1001, 7)] {
            let items: Vec<usize> = (0..count).collect();
            let doubled = in_threads(&items, threads, 2, || (), |(), item| 2 * item);
            assert_eq!(doubled, items.iter().map(|item| 2 * item).collect::<Vec<_>>());
        }
    }
}
