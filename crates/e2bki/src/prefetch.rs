//! Memory asked for before it is needed.

/// Reads something that is wanted soon, so that its memory is on the way while other work is done; the value itself is
/// thrown away. Primitives lie far apart in memory, and waiting for each would take longer than working on it.
///
/// It is an ordinary read that the compiler may not leave out: the processor's own prefetch needs `unsafe`.
#[inline(always)]
pub(crate) fn prefetch<T>(value: T) {
    std::hint::black_box(value);
}
