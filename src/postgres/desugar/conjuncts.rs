//! The conditions of a filter, one by one.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan};

/// The filter with other conditions in the place of those for which `replacement` has one, given
/// the schema of the rows.
pub(super) fn replaced(
    filter: Filter,
    replacement: impl Fn(&Expr, &DFSchema) -> Result<Option<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let schema = filter.input.schema();
    let replacements = split_conjunction(&filter.predicate).into_iter().map(|conjunct| replacement(conjunct, schema));
    let replacements = replacements.collect::<Result<Vec<_>>>()?;
    if replacements.iter().all(Option::is_none) {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    }
    let conjuncts = split_conjunction_owned(filter.predicate).into_iter().zip(replacements);
    let conjuncts = conjuncts.map(|(conjunct, replacement)| replacement.unwrap_or(conjunct));
    match conjunction(conjuncts) {
        Some(predicate) => Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?))),
        None => Ok(Transformed::yes(Arc::unwrap_or_clone(filter.input))),
    }
}
