//! Tests of the hosts' wire formats, from outside.

mod facts;
mod golden;
