//! Tests of session state.
