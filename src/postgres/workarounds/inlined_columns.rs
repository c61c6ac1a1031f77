//! Filters whose columns are replaced by what computes them.
//!
//! DataFusion pushes a filter below a projection or an aggregate with their expressions in the
//! place of its columns, again and again: where each of `n` nested queries uses a column of the
//! next one twice, the condition has 2^n nodes before the rule is through
//! (<https://github.com/apache/datafusion/issues/25329>). The rule that turns outer joins into
//! inner ones makes such a condition to look at it, and the physical rule makes it of the filters
//! that are left and of those that joins and sorts find while they run. Here a condition that would
//! become too large stays above the node that computes its columns.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result, qualified_name};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::OptimizerConfig;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;

use super::guarded::{Guarded, Rule};
use crate::rules::Rules;

/// Most nodes, besides short literals and columns, of a condition that has columns more often than
/// before. Views over views are far from it; to plan so many takes some tens of milliseconds.
const NODES_MAX: usize = 1_000;
/// Most nodes of a condition that has columns as often as before, but longer expressions of them: a
/// long list of keys over a cast of a key is to find its entities.
const LONG_NODES_MAX: usize = 10_000;

/// Long literals count as a node for each so many bytes.
const LITERAL_BYTES_OF_NODE: usize = 1 << 10;

/// Most CASE, one within the other, of a condition whose columns are computed: whether one is NULL
/// DataFusion finds out by asking that of each within it twice.
const CASES_MAX: usize = 4;

/// Guards the rule about outer joins; [`super::filter_pushdown`] and
/// [`super::forgotten_properties`] ask here.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    rules.optimizer.wrap("eliminate_outer_join", |rule| Guarded::over(rule, rewritten))
}

/// How many nodes a condition would have below this node, 0 if it has columns for its columns;
/// `None` if it would become too large.
pub(super) fn grown_nodes(condition: &Expr, plan: &LogicalPlan) -> Option<usize> {
    if computed(plan).all(|(_, expr)| matches!(unaliased(expr), Expr::Column(_))) {
        return Some(0);
    }
    let below = Inlined::of(condition).below(plan);
    let nodes = if below.change == Change::Columns { 0 } else { below.nodes };
    (!below.is_too_large()).then_some(nodes)
}

/// DataFusion's rule, for filters whose conditions are small once their columns are replaced.
fn rewritten(rule: &Rule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    if let LogicalPlan::Filter(filter) = &plan {
        // It goes through all projections there are.
        let (mut inlined, mut input) = (Inlined::of(&filter.predicate), filter.input.as_ref());
        while let LogicalPlan::Projection(projection) = input {
            inlined = inlined.below(input);
            if inlined.is_too_large() {
                return Ok(Transformed::no(plan));
            }
            input = projection.input.as_ref();
        }
    }
    rule.rewrite(plan, config)
}

/// A condition, without being written out.
struct Inlined<'a> {
    nodes: usize,
    /// How often each column is in it.
    columns: HashMap<&'a Column, usize>,
    /// How deep CASE may be nested: those beside each other in one expression count as well.
    cases: usize,
    change: Change,
}

/// What is in an expression that was added.
struct Added {
    columns: usize,
    cases: usize,
}

/// What columns were replaced by.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum Change {
    Columns,
    /// Expressions of one column or none.
    Longer,
    /// Expressions with several columns, or one several times.
    Multiplied,
}

impl<'a> Inlined<'a> {
    fn of(condition: &'a Expr) -> Self {
        let mut inlined = Self { nodes: 0, columns: HashMap::new(), cases: 0, change: Change::Columns };
        inlined.cases = inlined.add(condition, 1).cases;
        inlined
    }

    /// Adds an expression so many times, and counts what is in it.
    fn add(&mut self, expr: &'a Expr, times: usize) -> Added {
        let mut added = Added { columns: 0, cases: 0 };
        let visited: Result<_> = expr.apply(|expr| {
            match expr {
                Expr::Column(column) => {
                    added.columns += 1;
                    let count = self.columns.entry(column).or_default();
                    *count = count.saturating_add(times);
                }
                Expr::Literal(value, _) => {
                    let bytes = value.size() / LITERAL_BYTES_OF_NODE;
                    self.nodes = self.nodes.saturating_add(bytes.saturating_mul(times));
                }
                Expr::Alias(_) => {}
                expr => {
                    added.cases += usize::from(matches!(expr, Expr::Case(_)));
                    self.nodes = self.nodes.saturating_add(times);
                }
            }
            Ok(TreeNodeRecursion::Continue)
        });
        debug_assert!(visited.is_ok());
        added
    }

    /// What it is below a node that computes its columns.
    fn below(self, plan: &'a LogicalPlan) -> Self {
        let computed: HashMap<String, &Expr> = computed(plan).collect();
        let mut below = Self { nodes: self.nodes, columns: HashMap::new(), cases: self.cases, change: self.change };
        for (column, times) in self.columns {
            let Some(expr) = computed.get(&column.flat_name()).map(|expr| unaliased(expr)) else {
                let count = below.columns.entry(column).or_default();
                *count = count.saturating_add(times);
                continue;
            };
            let added = below.add(expr, times);
            let change = match (added.columns, expr) {
                (_, Expr::Column(_)) => Change::Columns,
                (..=1, _) => Change::Longer,
                _ => Change::Multiplied,
            };
            below.cases = below.cases.max(self.cases + added.cases);
            below.change = below.change.max(change);
        }
        below
    }

    /// One that is large as it is written stays so wherever it is.
    fn is_too_large(&self) -> bool {
        match self.change {
            Change::Columns => false,
            _ if self.cases > CASES_MAX => true,
            Change::Longer => self.nodes > LONG_NODES_MAX,
            Change::Multiplied => self.nodes > NODES_MAX,
        }
    }
}

/// The expressions that take the place of a node's columns, by the names of those.
fn computed(plan: &LogicalPlan) -> impl Iterator<Item = (String, &Expr)> {
    let (schema, exprs): (Option<&DFSchema>, &[Expr]) = match plan {
        LogicalPlan::Projection(projection) => (Some(&projection.schema), &projection.expr),
        LogicalPlan::Aggregate(aggregate) => (None, &aggregate.group_expr),
        _ => (None, &[]),
    };
    exprs.iter().enumerate().map(move |(at, expr)| match schema {
        Some(schema) => {
            let (qualifier, field) = schema.qualified_field(at);
            (qualified_name(qualifier, field.name()), expr)
        }
        None => (expr.schema_name().to_string(), expr),
    })
}

fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        expr => expr,
    }
}

/// How many nodes each column of a physical plan comes to in a filter that is pushed down as far as
/// possible: kept while the plan is walked from the bottom up, for the nodes whose parents are
/// still to come.
#[derive(Debug, Default)]
pub(super) struct ColumnSizes(Vec<Sizes>);

/// Those of a node.
#[derive(Debug, Default)]
struct Sizes {
    columns: Vec<usize>,
    /// What an expression of the node, or a filter, has beyond what is written in it.
    growth: usize,
}

impl ColumnSizes {
    /// Goes on to this node, whose inputs were the last ones.
    ///
    /// # Errors
    /// What DataFusion finds wrong with an expression.
    pub(super) fn enter(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
        let inputs = self.0.split_off(self.0.len().saturating_sub(plan.children().len()));
        let width = plan.schema().fields().len();
        let mut sizes = Sizes::default();
        match (plan.downcast_ref::<ProjectionExec>(), plan.downcast_ref::<FilterExec>(), inputs.as_slice()) {
            (Some(projection), _, [input]) => {
                for column in projection.expr() {
                    let (written, growth) = size(&column.expr, &input.columns)?;
                    sizes.growth = sizes.growth.max(growth);
                    sizes.columns.push(written.saturating_add(growth));
                }
                self.0.push(sizes);
                return Ok(());
            }
            (_, Some(filter), [input]) => sizes.growth = size(filter.predicate(), &input.columns)?.1,
            _ => {}
        }
        sizes.columns = match inputs.as_slice() {
            [input] if input.columns.len() == width => input.columns.clone(),
            // Which column is which does not matter: they may be taken for larger than they are.
            inputs => vec![inputs.iter().flat_map(|input| &input.columns).copied().max().unwrap_or(0); width],
        };
        self.0.push(sizes);
        Ok(())
    }

    /// Whether the expressions of the node that was entered last are too large with those below in
    /// the place of their columns.
    pub(super) fn are_too_large(&self) -> bool {
        self.0.last().is_some_and(|sizes| sizes.growth > NODES_MAX)
    }

    /// No filter is pushed below the node that was entered last.
    pub(super) fn end(&mut self) {
        self.0.last_mut().into_iter().flat_map(|sizes| &mut sizes.columns).for_each(|size| *size = 0);
    }
}

/// How many nodes an expression has, and how many those that take the place of its columns have.
fn size(expr: &Arc<dyn PhysicalExpr>, input: &[usize]) -> Result<(usize, usize)> {
    let (mut written, mut growth) = (0, 0_usize);
    expr.apply(|expr| {
        match expr.downcast_ref::<expressions::Column>() {
            Some(column) => growth = growth.saturating_add(input.get(column.index()).copied().unwrap_or(0)),
            None => written += usize::from(expr.downcast_ref::<expressions::Literal>().is_none()),
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok((written, growth))
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;

    use super::super::{filter_pushdown, forgotten_properties};
    use super::*;

    const LEVELS: usize = 13;

    /// A session with or without the guards: two others ask here.
    fn session(guarded: bool) -> SessionContext {
        let state = SessionContext::new().state();
        let mut rules = Rules::of(&state);
        if guarded {
            filter_pushdown::install(&mut rules).expect("its rule");
            forgotten_properties::install(&mut rules).expect("a place");
            install(&mut rules).expect("its rule");
        }
        SessionContext::new_with_state(rules.put_into(state))
    }

    /// The nodes of the largest expression that a rule of the optimizer leaves, and those of the
    /// physical plan; the optimized plan.
    fn planned(sql: &str, guarded: bool) -> (usize, usize, String) {
        let session = session(guarded);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            for (name, column) in [("t", "a"), ("u", "b")] {
                let made = format!("create table {name} as select column1 as {column} from (values (1), (2)) v");
                session.sql(&made).await.expect("a table").collect().await.expect("rows");
            }
            let state = session.state();
            let plan = session.sql(sql).await.expect("a plan").into_unoptimized_plan();
            let mut logical = 0;
            let optimized = state.optimizer().optimize(plan, &state, |plan, _| {
                let walked = plan.apply(|node| {
                    node.apply_expressions(|expr| {
                        logical = logical.max(Inlined::of(expr).nodes);
                        Ok(TreeNodeRecursion::Continue)
                    })
                });
                assert!(walked.is_ok());
            });
            let optimized = optimized.expect("optimized");
            let mut physical = 0;
            if guarded {
                let plan = state.query_planner().create_physical_plan(&optimized, &state).await;
                let walked = plan.expect("a physical plan").apply(|node| {
                    node.apply_expressions(&mut |expr| {
                        physical = physical.max(size(expr, &[])?.0);
                        Ok(TreeNodeRecursion::Continue)
                    })
                });
                assert!(walked.is_ok());
            }
            (logical, physical, optimized.display_indent().to_string())
        })
    }

    fn nested(base: &str) -> String {
        (0..LEVELS).fold(base.to_owned(), |below, _| format!("select a + a as a from ({below}) n"))
    }

    fn cases() -> [String; 4] {
        let (plain, grouped) = (nested("select a from t"), nested("select a from t group by a"));
        [
            format!("select a from ({plain}) n where a > 1"),
            format!("select a from ({grouped}) n where a > 1"),
            format!("select a from ({}) n where a > 1", nested("select b as a from t left join u on a = b")),
            format!("select a from ({plain}) n where a > 1 union all select a from ({plain}) n where a < 1"),
        ]
    }

    #[test]
    fn conditions_stay_where_they_would_double_again() {
        for sql in cases() {
            let (logical, physical, _) = planned(&sql, true);
            assert!(logical <= NODES_MAX && physical <= NODES_MAX, "{logical}, {physical}: {sql}");
        }
    }

    /// When this fails, DataFusion has mended it: this file can go.
    #[test]
    fn unguarded_they_double_at_each_level() {
        for sql in [&cases()[0], &cases()[1], &cases()[3]] {
            let (logical, ..) = planned(sql, false);
            assert!(logical >= 1 << LEVELS, "{logical}: {sql}");
        }
    }

    #[test]
    fn conditions_go_below_what_computes_little() {
        let (_, _, plan) = planned("select b from (select a + a as b, a from t) n where b > 1 and a > 0", true);
        assert!(plan.contains("Filter: t.a + t.a > Int64(1) AND t.a > Int64(0)\n      TableScan"), "{plan}");
    }
}
