//! The PostgreSQL wire protocol, version 3.
//!
//! A connection is one task on the runtime that serves sockets and timers; its session plans and
//! computes elsewhere, so that statements do not hold up other connections and cancel requests. It
//! reads a message, executes it, and buffers the answers until no further message has come. A slow
//! client blocks its own statement and takes no memory. While a flush waits, messages are read
//! ahead, up to a bound; a client that sends beyond it without reading is not read any further, as
//! in PostgreSQL. That a client has disconnected while its statement runs is found by polling
//! (`peer`).

mod connection;
mod context;
mod copy;
mod describe;
mod error_fields;
mod extended;
mod message;
mod message_budget;
mod peer;
mod pending;
mod rows;
mod server;
mod simple;
mod startup;
mod statement_log;
mod wire;

pub use server::{Server, ServerOptions};
