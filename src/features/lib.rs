//! Has no code. Members' tests depend on this crate so that `cargo test -p <member>` takes every
//! dependency with the features that the whole workspace builds it with, and so builds none again.
//!
//! Written by `cargo hakari generate` from `.config/hakari.toml`; to be run again where CI finds
//! a member whose dependencies have other features.
