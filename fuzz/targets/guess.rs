#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ftlkit_fuzz::lay_out(bytes));
