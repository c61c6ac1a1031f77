//! Nullability above a subquery that DataFusion has turned into a join, and above DISTINCT ON.
//!
//! `count(*)` of a subquery is never NULL; behind the outer join its column is nullable, as are the
//! first values of groups that DISTINCT ON becomes. The rules that make these keep the old schema
//! of a UNION above, and of other nodes while the plan still has a subquery. The planner then
//! refuses an aggregate above, which UNION without ALL is.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{LogicalPlan, Union};
use datafusion::optimizer::OptimizerConfig;

use super::guarded::{Guarded, Rule};
use crate::rules::Rules;

/// Recomputes schemas after the rules that turn subqueries into joins, and DISTINCT into
/// aggregates.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    for name in ["scalar_subquery_to_join", "decorrelate_lateral_join", "replace_distinct_aggregate"] {
        rules.optimizer.wrap(name, |rule| Guarded::of_whole_plans(rule, rewritten))?;
    }
    Ok(())
}

/// The rules go from node to node; this one goes through the plan itself, to see the whole of it
/// behind them.
fn rewritten(rule: &Rule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    let rewritten = plan.transform_down_with_subqueries(|plan| {
        // Below a join that was made there may be others to make.
        Ok(Transformed { tnr: TreeNodeRecursion::Continue, ..rule.rewrite(plan, config)? })
    })?;
    if rewritten.transformed { rewritten.map_data(recomputed) } else { Ok(rewritten) }
}

/// The plan, with the schema of every node made anew from its inputs.
pub(crate) fn recomputed(plan: LogicalPlan) -> Result<LogicalPlan> {
    let recomputed = |plan: LogicalPlan| match plan.recompute_schema()? {
        LogicalPlan::Union(union) => Ok(Transformed::yes(LogicalPlan::Union(with_nulls(union)?))),
        plan => Ok(Transformed::yes(plan)),
    };
    plan.transform_up_with_subqueries(recomputed).data()
}

/// A union whose columns may be NULL where those of an input may; recomputing leaves its schema
/// alone.
fn with_nulls(union: Union) -> Result<Union> {
    let nullable = |place: usize| {
        let mut fields = union.inputs.iter().filter_map(|input| input.schema().fields().get(place));
        fields.any(|field| field.is_nullable())
    };
    let fields = union.schema.iter().enumerate().map(|(place, (qualifier, field))| {
        let field = field.as_ref().clone().with_nullable(field.is_nullable() || nullable(place));
        (qualifier.cloned(), Arc::new(field))
    });
    let schema = DFSchema::new_with_metadata(fields.collect(), union.schema.metadata().clone())?;
    Ok(Union { schema: Arc::new(schema), inputs: union.inputs })
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;

    use super::*;

    const CASES: [&str; 5] = [
        "select (select count(*) from t where t.x = u.x) from u union select 100",
        "select x, c from u, lateral (select count(*) c from t where t.x = u.x) y union select 1, 2",
        "select c from (select (select count(*) from t where t.x = u.x) c from u union all select 100) v group by c",
        "select c from (select (select count(*) from t where t.x = u.x) c from u union all select 100) v \
         where c >= (select 0) group by c",
        "select c from (select distinct on (c) c from (select row_number() over (order by x) c from u) v order by c) w \
         union select 100",
    ];

    /// How many rows a query has, or the error.
    fn rows(sql: &str, guards: bool) -> Result<usize> {
        let state = SessionContext::new().state();
        let mut rules = Rules::of(&state);
        if guards {
            install(&mut rules)?;
        }
        let session = SessionContext::new_with_state(rules.put_into(state));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            for (name, values) in [("t", "(2), (3), (3)"), ("u", "(1), (2), (3)")] {
                let sql = format!("create table {name} as select column1 as x from (values {values})");
                session.sql(&sql).await?.collect().await?;
            }
            session.sql(sql).await?.count().await
        })
    }

    #[test]
    fn an_aggregate_above_knows_of_the_nulls() {
        for sql in CASES {
            assert_eq!(rows(sql, true).expect(sql), 4, "{sql}");
        }
    }

    /// When this fails, DataFusion has mended it: the guard can go.
    #[test]
    fn without_recomputing_it_is_refused() {
        for sql in CASES {
            let error = rows(sql, false).expect_err(sql);
            assert!(error.to_string().contains("Physical input schema should be the same"), "{sql}: {error}");
        }
    }
}
