//! Structures that only hold numbers: bits, linked lists, early requests for memory.

pub mod bits;
pub mod linked_lists;
pub mod prefetch;
pub mod ram_pages;
