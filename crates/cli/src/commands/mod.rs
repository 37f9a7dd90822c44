//! One file a command.

pub(crate) mod check;
pub(crate) mod decide;
pub(crate) mod hooks;
pub(crate) mod init;
pub(crate) mod pause;
pub(crate) mod schema;
pub(crate) mod status;
pub(crate) mod trust;
