#![no_main]
//! The reader of the format that `FTLKIT_FUZZ_FORMAT` names. The Parquet decoder is a library that
//! panics on some damaged files; its reader turns that into an error.
libfuzzer_sys::fuzz_target!(
    init: ftlkit_fuzz::let_panics_be_caught(),
    |bytes: &[u8]| ftlkit_fuzz::read(Some(ftlkit_fuzz::format_asked_for()), bytes)
);
