//! From a prepared statement and its values to rows, or to what is to be written.

pub(crate) mod copy;
mod portal;
mod vacuum;
mod writes;

pub(crate) use portal::{Cursor, Portal};
pub use portal::{PortalState, Rows};
