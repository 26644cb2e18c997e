//! Long arrays that are touched at random.
//!
//! The map and the page store of a large device are tens of megabytes, and nearly every operation
//! touches a random entry of each. With memory pages of 4 KiB nearly every such touch also misses
//! the processor's table of address translations, and a walk through the page tables costs more
//! than the data; with pages of 2 MiB the translations of the whole array fit. Linux backs memory
//! by large pages where it is asked to and has some; elsewhere, and for short arrays, this is an
//! ordinary vector. What the array holds is the same either way.

/// Size and alignment of a large page: 2 MiB on x86-64, and a multiple of every smaller page
/// anywhere.
#[cfg(target_os = "linux")]
const LARGE_PAGE: usize = 2 << 20;

/// `len` times `value`.
pub fn long_array<T: Clone>(value: T, len: usize) -> Vec<T> {
    let mut array = long_array_of(len);
    array.resize(len, value);
    array
}

/// An empty array with room for `capacity` items.
pub fn long_array_of<T>(capacity: usize) -> Vec<T> {
    let array = Vec::with_capacity(capacity);
    #[cfg(target_os = "linux")]
    ask_for_large_pages(&array);
    array
}

/// Asks for large pages behind the whole ones that lie within an array's memory, before it is first
/// touched. That the system refuses is no error.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn ask_for_large_pages<T>(array: &Vec<T>) {
    let bytes = array.capacity() * size_of::<T>();
    let offset = array.as_ptr().addr().next_multiple_of(LARGE_PAGE) - array.as_ptr().addr();
    if bytes < offset + LARGE_PAGE {
        return;
    }
    let whole = (bytes - offset) / LARGE_PAGE * LARGE_PAGE;
    // SAFETY: `offset..offset + whole` lies within the allocation that `array` owns and that is
    // borrowed here, and begins and ends at multiples of the page size. MADV_HUGEPAGE changes how
    // memory is backed, never what it holds or who may use it. `cargo bench --bench steady` pays
    // for it: beside the bare loop page rose from 0.62 to 0.73.
    unsafe {
        let first = array.as_ptr().cast::<u8>().add(offset).cast_mut();
        libc::madvise(first.cast(), whole, libc::MADV_HUGEPAGE);
    }
}

/// Asks for the cache line of `items[index]`. An index past the end is ignored.
#[inline(always)]
#[allow(unsafe_code, clippy::inline_always)]
pub fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(index) {
        // SAFETY: `item` is a live reference, so its address is valid; a prefetch reads nothing
        // that the program can see, and every x86-64 processor has the instruction (SSE).
        // `cargo bench --bench steady` pays for it: beside the bare loop page rose from 0.37 to
        // 0.65 for the entries that a collection moves, and to 1.09 for requests to come.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_short_arrays_hold_what_they_are_filled_with() {
        for len in [0, 1, 1000, 3 << 20] {
            let array = long_array(7_u32, len);
            assert!(array.len() == len && array.iter().all(|&item| item == 7), "{len} items");
            assert!(long_array_of::<u64>(len).is_empty());
        }
        assert_eq!(long_array((), 5).len(), 5);
    }
}
