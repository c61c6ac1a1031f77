//! Sorts of which many rows are wanted, and sorts by arrays.
//!
//! A sort with a limit keeps the rows that it is to return in a heap, which does not spill:
//! `LIMIT 1 OFFSET 3000000` ends where memory does, as `ORDER BY` alone does not. So from a number
//! of rows on all are sorted, which spills, and the limit stands above. So they are where a key is
//! an array: the heap leaves rows out by comparing with its last one, and there a NULL within an
//! array comes first, not last.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;

use crate::rules::Rules;

/// Most rows of a heap: some megabytes of ordinary ones.
pub(crate) const HEAP_ROWS_MAX: usize = 20_000;

/// Once limits are where they belong, and before the filters that heaps have for the rows below
/// them are pushed down.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    rules.physical.before("FilterPushdown(Post)", Arc::new(SpillingSorts))
}

#[derive(Debug)]
struct SpillingSorts;

impl PhysicalOptimizerRule for SpillingSorts {
    fn name(&self) -> &str {
        "spilling_sorts"
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| match plan.downcast_ref::<SortExec>().map(|sort| (sort, sort.fetch())) {
            Some((sort, Some(fetch))) if fetch > HEAP_ROWS_MAX || is_by_arrays(sort) => {
                let all = SortExec::new(sort.expr().clone(), Arc::clone(sort.input()))
                    .with_preserve_partitioning(sort.preserve_partitioning());
                Ok(Transformed::yes(Arc::new(LocalLimitExec::new(Arc::new(all), fetch)) as Arc<dyn ExecutionPlan>))
            }
            _ => Ok(Transformed::no(plan)),
        })
        .data()
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn is_by_arrays(sort: &SortExec) -> bool {
    let schema = sort.input().schema();
    sort.expr().iter().any(|key| key.expr.data_type(&schema).is_ok_and(|data_type| data_type.is_nested()))
}

#[cfg(test)]
mod tests {
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::physical_plan::displayable;
    use datafusion::prelude::{SessionConfig, SessionContext};

    use super::*;

    /// Has some megabytes of memory.
    fn session(guarded: bool) -> Result<SessionContext> {
        let runtime = RuntimeEnvBuilder::new().with_memory_limit(8 << 20, 1.0).build_arc()?;
        let config = SessionConfig::new().with_target_partitions(1);
        let state = SessionContext::new_with_config_rt(config, runtime).state();
        let mut rules = Rules::of(&state);
        if guarded {
            install(&mut rules)?;
        }
        Ok(SessionContext::new_with_state(rules.put_into(state)))
    }

    /// The row behind so many.
    fn row_behind(rows: usize) -> String {
        let value = "select value from generate_series(1, 400000)";
        format!("{value} order by value % 1000, value limit 1 offset {rows}")
    }

    fn run<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(work)
    }

    /// That it then spills is tested where there is a disk: in `tests/robustness`.
    #[test]
    fn heaps_have_few_rows() {
        let plan = |rows: usize| {
            let plan = run(async { session(true)?.sql(&row_behind(rows)).await?.create_physical_plan().await });
            displayable(plan.expect("a plan").as_ref()).indent(false).to_string()
        };
        let few = plan(10);
        assert!(few.contains("TopK(fetch=11)") && !few.contains("LocalLimitExec"), "{few}");
        let many = plan(300_000);
        assert!(!many.contains("TopK") && many.contains("LocalLimitExec: fetch=300001"), "{many}");
    }

    /// Of NULL within an array, the heap of DataFusion may keep the wrong one.
    #[test]
    fn arrays_are_sorted_without_a_heap() {
        let arrays = "select make_array(nullif(value, 1), value) as a from generate_series(1, 9) order by a limit 2";
        let plan = run(async { session(true)?.sql(arrays).await?.create_physical_plan().await });
        let plan = displayable(plan.expect("a plan").as_ref()).indent(false).to_string();
        assert!(!plan.contains("TopK") && plan.contains("LocalLimitExec: fetch=2"), "{plan}");
    }

    /// When this fails, DataFusion has mended it: this file can go.
    #[test]
    fn unguarded_the_heap_takes_all_memory() {
        assert!(run(async { session(false)?.sql(&row_behind(300_000)).await?.count().await }).is_err());
    }
}
