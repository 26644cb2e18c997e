#![no_main]
//! The guess may choose Parquet; see the target `reader` for the panics.
libfuzzer_sys::fuzz_target!(init: ftlkit_fuzz::let_panics_be_caught(), |bytes: &[u8]| ftlkit_fuzz::lay_out(bytes));
