//! Structures without flash: bits, linked lists, data pages in RAM, early requests for memory.

pub mod bits;
pub mod linked_lists;
pub mod prefetch;
pub mod ram_pages;
