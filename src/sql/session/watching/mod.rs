//! Stopping work that computes: from inside.
//!
//! Dropping a stream ends its work only where it waits. Operators of the query engine compute for
//! minutes without doing so: a nested loop join that finds nothing, a hash join whose keys are all
//! the same, a build side of millions of rows. So a plan is [`watched`] before it runs: its streams
//! ask between batches whether they are to go on, and give their thread away when they have had it
//! long enough; the expressions of joins ask within a batch.

mod expression;
mod operator;
mod plan;
mod projection;
mod signals;
mod statement;

pub(super) use plan::watched;
pub(super) use signals::Signals;
pub(super) use signals::interrupted;
pub(super) use signals::timed_out;
pub(super) use statement::StatementWatch;
pub(super) use statement::WatchedRows;
