//! What was acknowledged outlives the process, whatever happens to it.

#[path = "../scratch/mod.rs"]
mod scratch;

mod child;
mod kills;
mod ownership;
mod versions;
