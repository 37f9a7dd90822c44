//! The laws of conditions, each on small conditions and events.
