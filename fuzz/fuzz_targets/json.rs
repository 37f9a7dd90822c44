//! Drives the target `json` of src/targets.rs with libfuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_fuzz::run("json", data));
