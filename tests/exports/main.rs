//! Exports as their users make them: from the command line and from Rust, and back by import.

#[path = "../scratch/mod.rs"]
mod scratch;

mod command;
mod damage;
mod entities;
mod lossless;
mod own_folder;
mod wire;
