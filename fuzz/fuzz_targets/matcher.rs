//! Drives the target `matcher` of src/targets.rs with libfuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_fuzz::run("matcher", data));
