//! The relay as its peers see it: real processes, real messages.
