//! Asking for memory before it is needed.
//!
//! A map of a large device is far larger than any cache, and nearly every host write and every collected page touches a
//! random entry of it. The addresses are known some time before; asking early lets the misses overlap. On processors
//! without a prefetch instruction this does nothing.

/// Asks for the cache line of `items[index]`. An index past the end is ignored.
#[inline(always)]
#[allow(unsafe_code, clippy::inline_always)]
pub fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(index) {
        // SAFETY: `item` is a live reference, so its address is valid; a prefetch reads nothing that the program can see, and
        // every x86-64 processor has the instruction (SSE). `cargo bench --bench steady` pays for it: see docs/performance.md.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}
