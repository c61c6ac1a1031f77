//! Statements by key: reads of one entity or of some rows of one partition, and writes of entities
//! whose keys the statement gives. For these, planning takes many times as long as reading and
//! writing.
//!
//! [`recognize`] is asked once, when a statement is prepared. What it gives runs without a plan of
//! DataFusion: as a look-up (`KeyRead`), as one with its expressions computed from what is
//! found (`KeyQuery`), or as a write ([`KeyWrite::operations`]). Where
//! that cannot be done, because a value needs a cast, more is to be read than a few pages, or the
//! table's columns have changed, the caller runs the statement as any other.

mod aggregation;
mod key_query;
mod key_read;
mod key_write;
mod pipeline;
mod recognize;

pub(crate) use key_read::KeyRows;
pub(crate) use key_write::KeyWrite;
pub(crate) use recognize::{Analyzed, KeyStatement, recognize};
