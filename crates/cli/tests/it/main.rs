//! The binary as a person and a program use it: arguments in, standard output and an exit code out.

mod checking;
mod deciding;
mod hostile;
mod presets;
mod rig;
mod switching;
