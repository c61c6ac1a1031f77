//! Sub-queries that refer to their surroundings or stand where the optimizer takes none, as joins.
//!
//! The distinct values that a sub-query asks its surroundings for are its *domain*. Put under the
//! sub-query and carried up through it as columns, they make it a plan that stands alone and
//! answers for all of them at once; its answers are then joined to the rows that asked. The
//! optimizer's own way, which needs no domain, is left those shapes that it is known to answer
//! rightly; what neither can do is refused.

mod apply;
mod attach;
mod attach_rows;
mod domain;
mod lateral;
mod membership;
mod opaque;
mod outer_references;
mod outer_types;
mod places;
mod prepare;
mod trust;

pub(super) use apply::ApplySubqueries;
pub(super) use apply::has_subqueries;
pub(super) use attach_rows::sunk;
pub(super) use outer_references::holds_subquery;
pub(super) use outer_references::in_subquery;
pub(super) use outer_types::SettleOuterTypes;
pub(super) use prepare::PrepareSubqueries;
