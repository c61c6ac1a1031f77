//! How much memory a logical plan takes, about.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::logical_expr::{Expr, LogicalPlan};
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::error::from_datafusion;

/// As plans were measured to take.
const NODE_BYTES: u64 = 2 << 10;
const EXPRESSION_BYTES: u64 = 640;
const LITERAL_BYTES: u64 = 120;
/// Smaller plans are not counted: a consumer of the pool costs more than to make them.
const UNCOUNTED_BYTES_MAX: u64 = 256 << 10;

/// The memory that a plan takes for as long as it is kept.
#[derive(Debug, Default)]
pub(super) struct PlanMemory {
    pub(super) bytes: u64,
    /// The same from the pool of queries, if it is much.
    _reservation: Option<MemoryReservation>,
}

impl PlanMemory {
    /// # Errors
    /// `OUT_OF_MEMORY` if the pool has no more of it.
    pub(super) fn reserve(plan: &LogicalPlan, pool: &Arc<dyn MemoryPool>) -> Result<Self> {
        let bytes = plan_bytes(plan)?;
        if bytes <= UNCOUNTED_BYTES_MAX {
            return Ok(Self { bytes, _reservation: None });
        }
        let reservation = MemoryConsumer::new("plan").register(pool);
        reservation.try_grow(bytes as usize).map_err(|_| {
            let message = format!("out of memory for a plan of {} MiB", bytes.div_ceil(1 << 20));
            Error::new(SqlState::OUT_OF_MEMORY, message)
                .with_hint("shorten the statement, deallocate prepared ones, or raise --memory-mib")
        })?;
        Ok(Self { bytes, _reservation: Some(reservation) })
    }
}

/// The bytes of a plan, with the trees that it was made of: a short text may stand for many
/// expressions, and for large constants.
fn plan_bytes(plan: &LogicalPlan) -> Result<u64> {
    let mut bytes = 0;
    plan.apply_with_subqueries(|node| {
        bytes += NODE_BYTES;
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                bytes += match expr {
                    Expr::Literal(value, _) => LITERAL_BYTES + value.size() as u64,
                    _ => EXPRESSION_BYTES,
                };
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .map_err(from_datafusion)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::GreedyMemoryPool;
    use datafusion::logical_expr::{LogicalPlanBuilder, col, lit};

    use super::*;

    #[test]
    fn plans_weigh_what_their_expressions_and_constants_do() {
        let rows = || LogicalPlanBuilder::values(vec![vec![lit(1_i64)]]).expect("a row");
        let bytes = |expr: Expr| {
            let plan = rows().project([expr.alias("sum")]).and_then(LogicalPlanBuilder::build).expect("a plan");
            plan_bytes(&plan).expect("walked")
        };
        let sum = |terms: usize| (1..terms).fold(col("column1"), |sum, _| sum + col("column1"));
        let (one, hundred) = (bytes(sum(1)), bytes(sum(100)));
        assert_eq!(hundred - one, 2 * 99 * EXPRESSION_BYTES);
        assert!(bytes(lit("x".repeat(60_000))) > one + 59_000);
        assert!(one > 2 * NODE_BYTES && one < 16 << 10);
    }

    #[test]
    fn large_plans_take_memory_as_long_as_they_are_kept() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(3 << 20));
        let plan = LogicalPlanBuilder::values(vec![vec![lit("x".repeat(2 << 20))]]);
        let plan = plan.and_then(LogicalPlanBuilder::build).expect("a plan");
        let kept = PlanMemory::reserve(&plan, &pool).expect("room for one");
        assert!(pool.reserved() > 2 << 20);
        let error = PlanMemory::reserve(&plan, &pool).expect_err("no room for two");
        assert_eq!(error.sqlstate(), SqlState::OUT_OF_MEMORY);
        drop(kept);
        assert_eq!(pool.reserved(), 0);
    }
}
