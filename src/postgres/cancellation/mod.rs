//! Cooperative cancellation of statements.
//!
//! Dropping a stream ends its work only where it awaits. DataFusion's operators compute for minutes
//! without doing so: a nested loop join without matches, a hash join of equal keys, a build side of
//! millions of rows. So a plan is made [`cancellable`] before it runs: its streams check the token
//! between batches, and yield their thread after a time slice; the expressions of joins check it
//! within a batch; what makes large values of its rows takes few of them at a time, on threads of
//! its own ([`LargeValueThreads`]). Planning checks between the rules of the planner
//! ([`PlanningSignals`]).

mod constant_once;
mod expression;
mod growth;
mod guard;
mod large_arguments;
mod large_operands;
mod large_value_threads;
mod operator;
mod plan;
mod planning;
mod projection;
mod repartition;
mod row_bytes;
mod signals;
mod small_batches;
mod sorts;
mod token;
mod unions;

pub use crate::carried::Stop;
pub use expression::checked_filter;
pub use growth::makes_large_values;
pub use guard::{RequestDeadline, StatementGuard};
pub(crate) use large_arguments::with_counted_arguments;
pub use large_value_threads::LargeValueThreads;
pub use plan::cancellable;
pub use planning::{PlanningSignals, check_between};
pub use row_bytes::row_bytes;
pub use signals::{Interrupt, Signals, interrupted, timed_out};
pub use small_batches::with_small_batches;
pub use token::{CancellableRows, CancellationToken};
pub(crate) use unions::appended;
