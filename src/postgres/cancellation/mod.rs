//! Cooperative cancellation: stopping work that computes, from inside.
//!
//! Dropping a stream ends its work only where it waits. Operators of DataFusion compute for minutes
//! without doing so: a nested loop join that finds nothing, a hash join whose keys are all the
//! same, a build side of millions of rows. So a plan is [`watched`] before it runs: its streams
//! ask between batches whether they are to go on, and give their thread away when they have had it
//! long enough; the expressions of joins ask within a batch.

mod expression;
mod guard;
mod operator;
mod plan;
mod projection;
mod signals;
mod statement;

pub use guard::StatementGuard;
pub use plan::watched;
pub use signals::{Interrupt, Signals, interrupted, timed_out};
pub use statement::{StatementWatch, WatchedRows};
