//! `$filter` of the Table service: its grammar, its comparisons, and the keys that it can match
//! (Table service specification, section 2.9).
//!
//! A [`Filter`] is a small tree of its own, since its logic is not SQL's: there is no NULL, a
//! comparison with a property that an entity lacks is false, and values of other types than the
//! literal's compare as less. Which keys can match is told by the algebra of `access`, so that a
//! filter reads what the same condition in SQL would. In SQL itself, `rowkey.odata`, it becomes a
//! condition over a table's columns.

mod comparison;
mod condition;
mod error;
mod filter;
mod lexer;
#[cfg(test)]
pub(crate) mod oracle;
mod parser;

pub use error::FilterError;
pub use filter::{Filter, FilterKeys};

#[cfg(test)]
mod tests;
