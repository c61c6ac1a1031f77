//! From a logical plan to a physical one: DataFusion's analyzer, optimizer and physical planner,
//! with the rules of the session.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use datafusion::common::alias::AliasGenerator;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Column, Result};
use datafusion::execution::context::SessionState;
use datafusion::execution::{FunctionRegistry, TaskContext};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, Volatility};
use datafusion::optimizer::OptimizerConfig;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};

use crate::provider::batch_rows_min;
use rowkey_postgres::cancellation::{CancellableRows, CancellationToken, Signals, cancellable};
use rowkey_postgres::ctes::{PlannedCtes, With, gathered};
use rowkey_postgres::error::external;
use rowkey_postgres::functions::conditional;
use rowkey_postgres::plan_size::refuse_large;

/// DataFusion's default.
const PASSES_MAX: usize = 3;

/// The physical plan of a query.
///
/// # Errors
/// What a rule or the physical planner refuses.
pub(crate) async fn physical_plan(state: &SessionState, plan: LogicalPlan) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = gathered(plan)?;
    let Some(with) = With::of(&plan) else { return Ok(planned(state, plan).await?.1) };
    let mut ctes = PlannedCtes::default();
    for query in &with.queries {
        let (logical, physical) = planned(state, ctes.read_by(query.plan.clone())?).await?;
        ctes.add(&query.name, &logical, physical);
    }
    let (_, main) = planned(state, ctes.read_by(with.main.clone())?).await?;
    Ok(ctes.into_exec(main))
}

/// The rows of a plan, which can be cancelled.
pub(crate) fn cancellable_rows(
    plan: Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
    signals: &Arc<Signals>,
) -> Result<CancellableRows> {
    Ok(run_cancellable(plan, task, signals)?.1)
}

/// The same, and the plan that runs, whose operators count.
pub(crate) fn run_cancellable(
    plan: Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
    signals: &Arc<Signals>,
) -> Result<(Arc<dyn ExecutionPlan>, CancellableRows)> {
    let token = CancellationToken::new(Arc::clone(signals));
    let rows_max = batch_rows_min(&plan)?;
    let plan = cancellable(plan, rows_max, &token)?;
    let rows = execute_stream(Arc::clone(&plan), task)?;
    Ok((plan, CancellableRows::new(rows, token)))
}

/// The optimized plan of one query, and its physical plan.
async fn planned(state: &SessionState, plan: LogicalPlan) -> Result<(LogicalPlan, Arc<dyn ExecutionPlan>)> {
    let refuse_large = |plan: &_| refuse_large(plan).map_err(external);
    let analyzed = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {})?;
    refuse_large(&analyzed)?;
    let optimized = conditional(optimized(state, analyzed)?)?;
    refuse_large(&optimized)?;
    let physical = state.query_planner().create_physical_plan(&optimized, state).await?;
    Ok((optimized, physical))
}

fn optimized(state: &SessionState, plan: LogicalPlan) -> Result<LogicalPlan> {
    let optimizer = state.optimizer();
    if !is_settled_by_one_pass(&plan) {
        return optimizer.optimize(plan, &AllPasses::new(state), |_, _| {});
    }
    #[cfg(debug_assertions)]
    {
        let all = optimizer.optimize(plan.clone(), &AllPasses::new(state), |_, _| {})?;
        let one = optimizer.optimize(plan, state, |_, _| {})?;
        assert_eq!(one.display_indent_schema().to_string(), all.display_indent_schema().to_string());
        Ok(one)
    }
    #[cfg(not(debug_assertions))]
    optimizer.optimize(plan, state, |_, _| {})
}

/// Whether a second pass of the optimizer would find nothing to do. The first one finds that out
/// only by running all rules again, a tenth of what a small statement costs.
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
            LogicalPlan::Sort(sort)
                if !filtered && sort.fetch.is_none() && sort.expr.iter().all(|by| is_column(&by.expr)) =>
            {
                &sort.input
            }
            LogicalPlan::SubqueryAlias(alias) => &alias.input,
            LogicalPlan::Filter(filter) if !filtered && is_simple(&filter.predicate) => {
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
/// simplifier leaves something to simplify again. So it does of two with one column, unless both
/// values are there already.
fn is_simple(predicate: &Expr) -> bool {
    let (mut columns, mut all_are_literals) = (Vec::new(), true);
    split_conjunction(predicate).into_iter().all(|expr| is_comparison(expr, &mut columns, &mut all_are_literals)) && {
        columns.sort_unstable();
        all_are_literals || columns.windows(2).all(|pair| pair[0] != pair[1])
    }
}

fn is_comparison<'e>(expr: &'e Expr, columns: &mut Vec<&'e Column>, all_are_literals: &mut bool) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let column = match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Eq | NotEq | Lt | LtEq | Gt | GtEq, right }) if is_value(right) => {
            *all_are_literals &= matches!(right.as_ref(), Expr::Literal(..));
            left
        }
        Expr::IsNull(inner) | Expr::IsNotNull(inner) => inner,
        _ => return false,
    };
    let Expr::Column(column) = column.as_ref() else { return false };
    columns.push(column);
    true
}

/// Whether an expression is a value by the time filters are pushed down.
fn is_value(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => !value.is_null(),
        Expr::Cast(cast) => is_value(&cast.expr),
        Expr::ScalarFunction(call) => {
            call.func.signature().volatility == Volatility::Immutable && call.args.iter().all(is_value)
        }
        _ => false,
    }
}

/// A session's optimizer, whose rules run until they find nothing to do. The session's own
/// configuration says one pass: to change it costs a copy of it, which small statements notice.
struct AllPasses<'a> {
    state: &'a SessionState,
    options: Arc<ConfigOptions>,
}

impl<'a> AllPasses<'a> {
    fn new(state: &'a SessionState) -> Self {
        let mut options = Arc::clone(state.config_options());
        Arc::make_mut(&mut options).optimizer.max_passes = PASSES_MAX;
        Self { state, options }
    }
}

impl OptimizerConfig for AllPasses<'_> {
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
