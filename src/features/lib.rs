//! Has no code. Members' tests depend on this crate so that `cargo test -p <member>` takes every
//! dependency with the features that the whole workspace builds it with, and so builds none again.
//!
//! The dependencies in its Cargo.toml are written by `cargo hakari generate`, as
//! `.config/hakari.toml` says; to be run again where CI finds a member whose dependencies have
//! other features.
