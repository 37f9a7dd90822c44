//! Drives the target `mcp_frame` of src/relay.rs with libfuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_fuzz::run("mcp_frame", data));
