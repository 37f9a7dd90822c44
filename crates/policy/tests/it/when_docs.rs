//! The page on conditions: each of its examples runs.
