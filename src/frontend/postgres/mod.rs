//! The PostgreSQL wire protocol, version 3.
//!
//! A connection is three tasks. The reader takes messages off the socket, also while a statement runs, so that clients can
//! pipeline and a client that left is noticed. The session does the work, on threads of its own so that computing does not hold
//! up anybody's input and output. The writer sends what the session has made; the queue between them is short, so a slow reader
//! slows its own statement and takes no memory. A client that sends messages without reading the answers is not read any further
//! once a queue is full, as in PostgreSQL; it goes on where it stopped as soon as it reads.

mod connection;
mod copy;
mod describe;
mod extended;
mod message;
mod queue;
mod reply;
mod rows;
mod server;
mod simple;
mod sqlstate;
mod startup;
mod strangers;

pub use server::{Server, ServerOptions};
