//! One file a command.

pub(crate) mod alerts;
pub(crate) mod allow;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod backtest;
pub(crate) mod check;
pub(crate) mod decide;
pub(crate) mod explain;
pub(crate) mod hooks;
pub(crate) mod init;
pub(crate) mod keys;
pub(crate) mod limits;
pub(crate) mod mcp;
pub(crate) mod pause;
pub(crate) mod redact;
pub(crate) mod review;
pub(crate) mod schema;
pub(crate) mod sessions;
pub(crate) mod status;
pub(crate) mod test;
pub(crate) mod trust;
pub(crate) mod r#try;
