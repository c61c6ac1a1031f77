//! HTTP: connections, their bounds in time and memory, and the way of a request through them.

mod body;
mod context;
mod handler;
mod host;
mod listener;

pub use listener::{Server, ServerOptions};

#[cfg(test)]
mod tests;
