//! HTTP: connections, their bounds in time and memory, and the way of a request through them.

mod body;
mod context;
mod handler;
mod host;
mod listener;
mod tls;

pub use listener::{Server, ServerOptions};
pub use tls::TlsIdentity;

#[cfg(test)]
mod tests;
