//! The doors: the embedded API and the command line.

pub mod command;
mod embedded;
mod entity_writes;
pub mod postgres;
pub mod sample;

pub use embedded::{Database, EntityStream, Table};
