//! How the binary is linked.
//!
//! A program that may be loaded anywhere has its tables of pointers written anew each time it starts;
//! for a process that lives for one call that is a good part of its life. `rustflags` in a configuration
//! would do the same, and would be lost wherever the environment sets its own.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let os = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if os == "linux" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
