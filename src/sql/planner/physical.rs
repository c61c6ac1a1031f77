//! From a logical plan to a physical one: DataFusion's analyzer, optimizer and physical planner,
//! with the rules of the session.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use datafusion::common::Result;
use datafusion::common::alias::AliasGenerator;
use datafusion::common::config::ConfigOptions;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use datafusion::optimizer::OptimizerConfig;
use datafusion::physical_plan::ExecutionPlan;

/// The physical plan of a query.
///
/// # Errors
/// What a rule or the physical planner refuses.
pub(crate) async fn physical_plan(state: &SessionState, plan: LogicalPlan) -> Result<Arc<dyn ExecutionPlan>> {
    let analyzed = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {})?;
    let optimized = optimized(state, analyzed)?;
    state.query_planner().create_physical_plan(&optimized, state).await
}

fn optimized(state: &SessionState, plan: LogicalPlan) -> Result<LogicalPlan> {
    let optimizer = state.optimizer();
    if !is_settled_by_one_pass(&plan) {
        return optimizer.optimize(plan, state, |_, _| {});
    }
    let once = OnePass::new(state);
    #[cfg(debug_assertions)]
    {
        let all = optimizer.optimize(plan.clone(), state, |_, _| {})?;
        let one = optimizer.optimize(plan, &once, |_, _| {})?;
        assert_eq!(one.display_indent_schema().to_string(), all.display_indent_schema().to_string());
        Ok(one)
    }
    #[cfg(not(debug_assertions))]
    optimizer.optimize(plan, &once, |_, _| {})
}

/// Whether a second pass of the optimizer would find nothing to do. The first one finds that out
/// only by running all rules again, which is a quarter of what a small statement costs.
///
/// So it is where one filter over a table is all that can move: rules later in the list then make
/// nothing that earlier ones look for. Builds with debug assertions check it on every such plan.
fn is_settled_by_one_pass(plan: &LogicalPlan) -> bool {
    let (mut node, mut filtered) = (plan, false);
    loop {
        node = match node {
            LogicalPlan::Projection(projection) if !filtered && projection.expr.iter().all(is_column) => {
                &projection.input
            }
            LogicalPlan::Sort(sort) if !filtered && sort.fetch.is_none() => &sort.input,
            LogicalPlan::SubqueryAlias(alias) => &alias.input,
            LogicalPlan::Filter(filter) if !filtered && is_comparison(&filter.predicate) => {
                filtered = true;
                &filter.input
            }
            LogicalPlan::TableScan(_) => return true,
            _ => return false,
        }
    }
}

fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => is_column(&alias.expr),
        expr => matches!(expr, Expr::Column(_)),
    }
}

/// Whether a predicate is comparisons of columns with values, joined by AND: of others the
/// simplifier leaves something to simplify again.
fn is_comparison(expr: &Expr) -> bool {
    use Operator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq};
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: And, right }) => is_comparison(left) && is_comparison(right),
        Expr::BinaryExpr(BinaryExpr { left, op: Eq | NotEq | Lt | LtEq | Gt | GtEq, right }) => {
            matches!((left.as_ref(), right.as_ref()), (Expr::Column(_), Expr::Literal(value, _)) if !value.is_null())
        }
        Expr::IsNull(inner) | Expr::IsNotNull(inner) => matches!(inner.as_ref(), Expr::Column(_)),
        _ => false,
    }
}

/// A session's optimizer, whose rules run once.
struct OnePass<'a> {
    state: &'a SessionState,
    options: Arc<ConfigOptions>,
}

impl<'a> OnePass<'a> {
    fn new(state: &'a SessionState) -> Self {
        let mut options = Arc::clone(state.config_options());
        Arc::make_mut(&mut options).optimizer.max_passes = 1;
        Self { state, options }
    }
}

impl OptimizerConfig for OnePass<'_> {
    fn query_execution_start_time(&self) -> Option<DateTime<Utc>> {
        self.state.query_execution_start_time()
    }

    fn alias_generator(&self) -> &Arc<AliasGenerator> {
        self.state.alias_generator()
    }

    fn options(&self) -> Arc<ConfigOptions> {
        Arc::clone(&self.options)
    }

    fn function_registry(&self) -> Option<&dyn FunctionRegistry> {
        Some(self.state)
    }
}
