//! Decorrelation: subqueries that refer to outer columns, or stand where DataFusion takes none,
//! become joins.
//!
//! The distinct values of the outer columns that a subquery refers to are its *domain* (Neumann and
//! Kemper, "Unnesting arbitrary queries"). The domain is joined in below the subquery and carried
//! up through it as columns, so that one plan answers for all outer rows at once; its answers are
//! then joined to the outer rows. Shapes on an allow list are left to DataFusion's own rules, which
//! need no domain; what neither can do is refused.

mod allow_list;
mod decorrelator;
mod domain;
mod hoist;
mod lateral;
mod limit;
mod membership;
mod normalize;
mod outer_references;
mod outer_types;
mod push_domain;
mod recursive;
mod work_table;

pub(super) use decorrelator::DecorrelateSubqueries;
pub(super) use limit::pushed_down;
pub(super) use normalize::NormalizeSubqueries;
pub use outer_references::holds_subquery;
pub(crate) use outer_references::refers_outside;
pub(super) use outer_references::{has_subqueries, in_subquery};
pub(super) use outer_types::SettleOuterTypes;
