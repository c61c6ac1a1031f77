//! Exports as their users make them: from the command line and from Rust, and back by import.

mod command;
mod damage;
mod entities;
mod lossless;
mod own_folder;
mod read_as_tables;
mod server;
mod wire;
