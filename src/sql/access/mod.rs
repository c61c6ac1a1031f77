//! From the filters of a query to the keys it can touch: point, range, partition or table.
//!
//! One function, [`plan_access`], yields the claim, the key set and the residual together, so that
//! a filter claimed as decided by keys cannot be lost. The way there:
//!
//! - `operand` recognises key columns, literals and rows of them; `pattern` reads LIKE patterns;
//! - `predicate` turns an expression into a `verdict`: for which keys it is TRUE, for which FALSE
//!   (else UNKNOWN), each a superset that knows whether it is exact;
//! - `key_region` is the algebra these sets live in: from PartitionKey to a set of RowKeys, closed
//!   under and, or, not;
//! - `plan` intersects the filters, flattens the region into a [`KeySet`](rowkey_model::KeySet) and
//!   labels it; `explain` says it in words;
//! - `run_time` reads keys from filters that operators find out while a plan runs.
//!
//! Pure: no I/O, no async.

#[cfg(test)]
mod dice;
mod explain;
mod key_region;
mod operand;
#[cfg(test)]
mod oracle;
mod path;
mod pattern;
mod plan;
mod predicate;
mod run_time;
mod verdict;

pub(crate) use explain::describe_keys;
pub(crate) use key_region::KeyRegion;
pub(crate) use path::AccessPath;
pub use plan::plan_access;
pub(crate) use plan::{AccessPlan, bounded_key_set};
pub(crate) use run_time::{has_run_time_parts, run_time_keys};
pub(crate) use verdict::{Superset, Verdict};
