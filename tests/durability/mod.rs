//! What was acknowledged outlives the process, whatever happens to it.

mod child;
mod kills;
mod ownership;
mod versions;
