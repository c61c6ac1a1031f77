//! The PostgreSQL wire protocol, version 3.
//!
//! A connection is one task, on threads of its own kind so that computing does not hold up those
//! who come in or cancel: it takes a message off the socket, does what it asks, and gathers the
//! answers until nothing more has come. A slow reader slows its own statement and takes no memory.
//! While it waits for a client to take its answers it reads ahead, up to a bound; beyond that a
//! client that sends without reading is not read any further, as in PostgreSQL. That a client has
//! left while its statement runs is seen from outside.

mod connection;
mod copy;
mod describe;
mod error_fields;
mod extended;
mod message;
mod peer;
mod rows;
mod server;
mod simple;
mod startup;
mod strangers;
mod wire;

pub use server::{Server, ServerOptions};
