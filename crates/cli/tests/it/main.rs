//! The binary as a person and a program use it: arguments in, standard output and an exit code out.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose ground is missing has failed"
)]

mod alerting;
mod allowing;
mod answering;
mod approving;
mod auditing;
mod backtesting;
mod channels;
mod checking;
mod deciding;
mod demo;
mod exec;
mod explaining;
mod exporting;
mod full_disk;
mod hooking;
mod hostile;
mod installing;
mod presets;
mod redacting;
mod relaying;
mod reviewing;
mod rig;
mod scanning;
mod streams;
mod switching;
mod testing;
mod trying;
mod vaulting;
