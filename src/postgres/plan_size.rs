//! How large statements and their plans may be. What reads another query twice, again and again,
//! doubles at each step, and only the walks over such a plan are long, not its text. What is wide
//! is walked by each of DataFusion's rules, some of which compare every member with every other.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::common::Result as PlanResult;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion, TreeNodeVisitor};
use datafusion::logical_expr::{self, LogicalPlan};
use datafusion::sql::sqlparser::ast::{self, Expr, Function, Query, SetExpr, Visitor, WindowType};

use crate::error::from_datafusion;
use crate::syntax::visit;
use rowkey_base::{Error, Result, SqlState};

/// Most nodes of the plan of a statement.
const NODES_MAX: usize = 10_000;
/// Most joins, aggregates, windows and sorts, one over the other.
const HEIGHT_MAX: usize = 300;
/// Most values and operators of a query, and rows of VALUES.
const EXPRESSIONS_MAX: usize = 150_000;
/// Most keys of a sort, and groups and aggregates of a query.
const WIDTH_MAX: usize = 1_200;
/// Most columns that all windows of a statement hand on, an aggregate counted as
/// [`COLUMNS_OF_AGGREGATE`]: each rule of the planner goes through all of them again.
const COLUMNS_MAX: usize = 9_000;
const COLUMNS_OF_AGGREGATE: usize = 6;
/// What there may be too many of.
pub(crate) const SORT_KEYS: &str = "keys of ORDER BY or DISTINCT";
/// Most windows that differ in their keys: each is a node of the plan over all those before.
const WINDOWS_MAX: usize = 250;
/// Most WITH queries: each may be over the one before it.
const WITH_QUERIES_MAX: usize = 1_200;
/// Most subqueries in the expressions of a query that become joins: each is a join over those
/// before, whose conditions and columns it goes through.
const JOINED_SUBQUERIES_MAX: usize = 100;

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
/// `STATEMENT_TOO_COMPLEX` for more than 10,000 nodes, 300 joins, aggregates, windows and sorts one
/// over the other, 1,200 sort keys, groups or aggregates of one node, or 9,000 columns of windows
/// and aggregates.
pub fn refuse_large(plan: &LogicalPlan) -> Result<()> {
    let mut size = PlanSize { nodes: 0, columns: 0, heights: vec![0], excess: None };
    plan.visit_with_subqueries(&mut size).map_err(from_datafusion)?;
    match size.excess {
        None => Ok(()),
        Some((message, hint)) => Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message).with_hint(hint)),
    }
}

/// Message and hint for a statement that is too large.
pub(crate) type Excess = (String, &'static str);

/// That of more than 1,200 sort keys, groups or aggregates of a query.
pub(crate) fn excess_width(count: usize, members: &str) -> Option<Excess> {
    (count > WIDTH_MAX).then(|| (format!("a query has more than {WIDTH_MAX} {members}"), "make several queries of it"))
}

/// How many columns so many aggregates are, and windows over so many others.
pub(crate) fn columns_of(aggregates: usize, windows: usize, columns: usize) -> usize {
    aggregates * COLUMNS_OF_AGGREGATE + windows.saturating_mul(columns)
}

/// That of more than 9,000 columns of windows and aggregates in a statement.
pub(crate) fn excess_columns(columns: usize) -> Option<Excess> {
    let message = || format!("windows and aggregates have more than {COLUMNS_MAX} columns");
    let hint = "select fewer columns in subqueries, or keep the rows of some in a table";
    (columns > COLUMNS_MAX).then(|| (message(), hint))
}

/// What a plan has so far. It is looked at no further than to where it is too large.
struct PlanSize {
    nodes: usize,
    columns: usize,
    /// How many joins, aggregates, windows and sorts are below each open node, one over the other:
    /// at each, DataFusion goes through those below.
    heights: Vec<usize>,
    excess: Option<Excess>,
}

fn excess_nodes(nodes: usize) -> Option<Excess> {
    let message = || format!("the statement is planned in more than {NODES_MAX} steps");
    let hint = "a query that reads another one twice doubles it: keep its rows in a table";
    (nodes > NODES_MAX).then(|| (message(), hint))
}

fn excess_height(height: usize) -> Option<Excess> {
    let message = || format!("more than {HEIGHT_MAX} joins, aggregates, windows and sorts, one over the other");
    (height > HEIGHT_MAX).then(|| (message(), "keep the rows of some in a table"))
}

impl PlanSize {
    fn goes_on(&self) -> TreeNodeRecursion {
        if self.excess.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue }
    }
}

/// The columns that a window hands on beside the results of others.
fn columns_below_windows(mut input: &LogicalPlan) -> usize {
    while let LogicalPlan::Window(window) = input {
        input = &window.input;
    }
    input.schema().fields().len()
}

impl TreeNodeVisitor<'_> for PlanSize {
    type Node = LogicalPlan;

    fn f_down(&mut self, node: &LogicalPlan) -> PlanResult<TreeNodeRecursion> {
        self.nodes += 1;
        self.heights.push(0);
        let wide = match node {
            LogicalPlan::Sort(sort) => excess_width(sort.expr.len(), SORT_KEYS),
            LogicalPlan::Aggregate(aggregate) => excess_width(aggregate.group_expr.len(), "groups")
                .or_else(|| excess_width(aggregate.aggr_expr.len(), "aggregates")),
            _ => None,
        };
        self.columns += match node {
            LogicalPlan::Aggregate(aggregate) => columns_of(aggregate.aggr_expr.len(), 0, 0),
            LogicalPlan::Window(window) => columns_of(0, 1, columns_below_windows(&window.input)),
            _ => 0,
        };
        self.excess = wide.or_else(|| excess_columns(self.columns)).or_else(|| excess_nodes(self.nodes));
        Ok(self.goes_on())
    }

    fn f_up(&mut self, node: &LogicalPlan) -> PlanResult<TreeNodeRecursion> {
        let is_high = matches!(
            node,
            LogicalPlan::Join(_)
                | LogicalPlan::Aggregate(_)
                | LogicalPlan::Window(_)
                | LogicalPlan::Sort(_)
                | LogicalPlan::Distinct(_)
        );
        let height = self.heights.pop().unwrap_or_default() + usize::from(is_high);
        if let Some(above) = self.heights.last_mut() {
            *above = (*above).max(height);
        }
        self.excess = excess_height(height);
        Ok(self.goes_on())
    }
}

/// Refuses a plan with so many subqueries in its expressions that to join them takes longer than a
/// statement may.
///
/// # Errors
/// `STATEMENT_TOO_COMPLEX` for more than 100 that are correlated, or behind IN, EXISTS, ANY or ALL.
pub fn refuse_many_subqueries(plan: &LogicalPlan) -> Result<()> {
    let mut joined = JoinedSubqueries::default();
    plan.visit_with_subqueries(&mut joined).map_err(from_datafusion)?;
    if !joined.too_many {
        return Ok(());
    }
    let message = format!("a query has more than {JOINED_SUBQUERIES_MAX} subqueries in its expressions");
    Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message)
        .with_hint("one subquery may have all rows: x IN (SELECT ... UNION ALL SELECT ...)"))
}

/// How many subqueries are joined one over the other. Branches of a UNION are beside each other.
#[derive(Default)]
struct JoinedSubqueries {
    open: Vec<OpenNode>,
    too_many: bool,
}

struct OpenNode {
    joined: usize,
    is_union: bool,
}

impl TreeNodeVisitor<'_> for JoinedSubqueries {
    type Node = LogicalPlan;

    fn f_down(&mut self, node: &LogicalPlan) -> PlanResult<TreeNodeRecursion> {
        self.open.push(OpenNode { joined: 0, is_union: matches!(node, LogicalPlan::Union(_)) });
        Ok(TreeNodeRecursion::Continue)
    }

    fn f_up(&mut self, node: &LogicalPlan) -> PlanResult<TreeNodeRecursion> {
        let below = self.open.pop().map_or(0, |node| node.joined);
        let joined = below + joined_subqueries(node)?;
        if let Some(above) = self.open.last_mut() {
            above.joined = if above.is_union { above.joined.max(joined) } else { above.joined + joined };
        }
        self.too_many |= joined > JOINED_SUBQUERIES_MAX;
        Ok(if self.too_many { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    }
}

/// Those of a node's own expressions. One without references to the outer query whose value is
/// wanted is computed apart.
fn joined_subqueries(node: &LogicalPlan) -> PlanResult<usize> {
    let mut joined = 0;
    node.apply_expressions(|expr| {
        joined += joined_in(expr)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(joined)
}

/// ANY and ALL become three joins, each with a copy of what is compared.
const JOINS_OF_COMPARISON: usize = 3;

fn joined_in(expr: &logical_expr::Expr) -> PlanResult<usize> {
    let mut joined = 0_usize;
    expr.apply(|expr| {
        let here = match expr {
            logical_expr::Expr::SetComparison(comparison) => {
                let copied = joined_in(&comparison.expr)?.saturating_add(1);
                joined = joined.saturating_add(copied.saturating_mul(JOINS_OF_COMPARISON));
                return Ok(TreeNodeRecursion::Jump);
            }
            logical_expr::Expr::InSubquery(_) | logical_expr::Expr::Exists(_) => 1,
            logical_expr::Expr::ScalarSubquery(subquery) => usize::from(!subquery.outer_ref_columns.is_empty()),
            _ => 0,
        };
        joined = joined.saturating_add(here);
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(joined)
}

/// Refuses a query of so many expressions, or windows, that the walks over them would take longer
/// than a statement may.
///
/// # Errors
/// `STATEMENT_TOO_COMPLEX` for more than 150,000 values, operators and rows of VALUES, 250 windows
/// with different keys, or 1,200 WITH queries.
pub fn refuse_many_expressions(query: &ast::Statement) -> Result<()> {
    let mut expressions = Expressions::default();
    match visit(query, &mut expressions) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => {
            let (message, hint) = if expressions.windows.len() > WINDOWS_MAX {
                (format!("a query has more than {WINDOWS_MAX} different windows"), "make several queries of it")
            } else if expressions.with_queries > WITH_QUERIES_MAX {
                let hint = "keep the rows of some in a table";
                (format!("a query has more than {WITH_QUERIES_MAX} WITH queries"), hint)
            } else {
                let hint = "a parameter with an array has any number of values: x = ANY ($1), or FROM unnest($1)";
                (format!("a query has more than {EXPRESSIONS_MAX} values and operators"), hint)
            };
            Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message).with_hint(hint))
        }
    }
}

/// What a query has so far; breaks where it is too much.
#[derive(Default)]
struct Expressions {
    count: usize,
    /// As they are written.
    windows: HashSet<String>,
    with_queries: usize,
}

impl Expressions {
    fn add(&mut self, expressions: usize) -> ControlFlow<()> {
        self.count += expressions;
        if self.count > EXPRESSIONS_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Visitor for Expressions {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.with_queries += query.with.as_ref().map_or(0, |with| with.cte_tables.len());
        if self.with_queries > WITH_QUERIES_MAX {
            return ControlFlow::Break(());
        }
        let mut bodies = vec![query.body.as_ref()];
        while let Some(body) = bodies.pop() {
            match body {
                SetExpr::Values(values) => self.add(values.rows.len())?,
                SetExpr::SetOperation { left, right, .. } => bodies.extend([left.as_ref(), right.as_ref()]),
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(Function { over: Some(WindowType::WindowSpec(window)), .. }) = expr {
            self.windows.insert(window.to_string());
            if self.windows.len() > WINDOWS_MAX {
                return ControlFlow::Break(());
            }
        }
        self.add(1)
    }
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::LogicalPlanBuilder;

    use super::*;
    use crate::syntax::parse;

    fn is_refused(text: &str) -> bool {
        let statement = parse(text).expect(text);
        let refused = refuse_many_expressions(statement.request.statement().expect(text));
        refused.is_err_and(|error| error.sqlstate() == SqlState::STATEMENT_TOO_COMPLEX)
    }

    fn list(members: usize, member: &str) -> String {
        vec![member; members].join(",")
    }

    #[test]
    fn windows_count_the_columns_that_they_are_over() {
        assert_eq!(columns_of(1_200, 0, 0), 7_200);
        assert!(excess_columns(columns_of(1_200, 1, 1_200)).is_none());
        assert!(excess_columns(columns_of(1_200, 10, 1_200)).is_some());
        assert!(excess_columns(columns_of(0, 250, 30)).is_none());
        assert!(excess_columns(columns_of(0, 60, 1_500)).is_some());
    }

    #[test]
    fn values_and_rows_of_values_are_counted_wherever_they_are() {
        let (half, most) = (EXPRESSIONS_MAX / 2, EXPRESSIONS_MAX);
        assert!(!is_refused(&format!("select 1 from t where n in ({})", list(most - 10, "1"))));
        assert!(is_refused(&format!("select 1 from t where n in ({})", list(most, "1"))));
        // A row counts beside its values.
        assert!(!is_refused(&format!("values {}", list(half, "(1)"))));
        assert!(is_refused(&format!("values {}", list(half + 1, "(1)"))));
        let union = format!("values {} union all values {}", list(half / 2, "(1)"), list(half / 2 + 1, "(2)"));
        assert!(is_refused(&format!("with c as ({union}) select * from c")));
    }

    #[test]
    fn windows_are_counted_by_their_keys() {
        let windows = |number: usize, key: fn(usize) -> String| {
            let calls: Vec<String> =
                (0..number).map(|at| format!("sum(n + {at}) over (order by {})", key(at))).collect();
            is_refused(&format!("select {} from t", calls.join(", ")))
        };
        assert!(!windows(WINDOWS_MAX, |at| format!("n + {at}")));
        assert!(windows(WINDOWS_MAX + 1, |at| format!("n + {at}")));
        assert!(!windows(WINDOWS_MAX + 1, |_| "n".to_owned()));
    }

    #[test]
    fn with_queries_are_counted() {
        let with = |number: usize| {
            let queries: Vec<String> = (0..number).map(|at| format!("c{at} as (select {at})")).collect();
            is_refused(&format!("with {} select * from c0", queries.join(", ")))
        };
        assert!(!with(WITH_QUERIES_MAX));
        assert!(with(WITH_QUERIES_MAX + 1));
    }

    #[test]
    fn operators_one_over_the_other_are_counted_and_those_beside_each_other_are_not() {
        let rows = || LogicalPlanBuilder::values(vec![vec![logical_expr::lit(1)]]).expect("a row");
        let distinct = |times: usize| (0..times).try_fold(rows(), |rows, _| rows.distinct()).expect("a plan");
        let is_refused = |plan: LogicalPlanBuilder| {
            let refused = refuse_large(&plan.build().expect("a plan"));
            refused.is_err_and(|error| error.sqlstate() == SqlState::STATEMENT_TOO_COMPLEX)
        };
        assert!(!is_refused(distinct(HEIGHT_MAX)));
        assert!(is_refused(distinct(HEIGHT_MAX + 1)));
        let beside = distinct(HEIGHT_MAX - 1).union(distinct(HEIGHT_MAX - 1).build().expect("a plan")).expect("a plan");
        assert!(!is_refused(beside.distinct().expect("a plan")));
    }

    /// Thirty doublings are a thousand million nodes.
    #[test]
    fn plans_that_double_are_looked_at_no_further_than_they_may_be_large() {
        let row = LogicalPlanBuilder::values(vec![vec![logical_expr::lit(1)]]).expect("a row");
        let doubled = (0..30).try_fold(row, |below, _| below.clone().union(below.build()?));
        let plan = doubled.and_then(LogicalPlanBuilder::build).expect("a plan");
        let error = refuse_large(&plan).expect_err("refused");
        assert!(error.to_string().contains("10000 steps"), "{error}");
    }
}
