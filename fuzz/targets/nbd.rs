#![no_main]
//! Whatever a client says, to the end of the negotiation and of its requests.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ftlkit_fuzz::talk(bytes));
