#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ftlkit_fuzz::read(Some(trace::Format::Blkparse), bytes));
