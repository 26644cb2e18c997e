#![no_main]
//! The Parquet decoder is a library that panics on some damaged files; the reader turns that into an error.
libfuzzer_sys::fuzz_target!(
    init: ftlkit_fuzz::let_panics_be_caught(),
    |bytes: &[u8]| ftlkit_fuzz::read(Some(trace::Format::Parquet), bytes)
);
