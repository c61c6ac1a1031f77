//! How large plans may be. What reads another query twice, again and again, doubles at each step,
//! and only the walks over such a plan are long, not its text.

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;

use crate::error::from_datafusion;
use rowkey_base::{Error, Result, SqlState};

/// Most nodes of the plan of a statement.
const NODES_MAX: usize = 10_000;

/// Whether a plan has no more nodes than `most`, those of its subqueries included. It looks at no
/// more than that.
///
/// # Errors
/// What DataFusion finds wrong with the plan.
pub fn has_nodes_at_most(plan: &LogicalPlan, most: usize) -> Result<bool> {
    let mut nodes = 0_usize;
    plan.apply_with_subqueries(|_| {
        nodes += 1;
        Ok(if nodes > most { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })
    .map_err(from_datafusion)?;
    Ok(nodes <= most)
}

/// Refuses a plan that would take longer to plan than a statement may.
///
/// # Errors
/// `STATEMENT_TOO_COMPLEX` for more than 10,000 nodes.
pub fn refuse_large(plan: &LogicalPlan) -> Result<()> {
    if has_nodes_at_most(plan, NODES_MAX)? {
        return Ok(());
    }
    let message = format!("the statement is planned in more than {NODES_MAX} steps");
    Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message)
        .with_hint("a query that reads another one twice doubles it: keep its rows in a table"))
}
