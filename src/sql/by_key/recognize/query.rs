//! Which queries are of few rows, and compute something from them, by their plans.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DFSchemaRef, ScalarValue};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::expr::{AggregateFunction, Case, InList, ScalarFunction};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    BinaryExpr, Distinct, EmptyRelation, Expr, LogicalPlan, Operator, SortExpr, TableScan, Volatility,
};

use super::read::{Condition, may_be_read};
use crate::by_key::key_query::KeyQuery;
use crate::by_key::key_read::KeyRead;
use crate::by_key::pipeline::{Pipeline, RowCount, Step};
use crate::provider::{EntityRows, EntityTable};
use rowkey_postgres::functions::casts_number;
use rowkey_postgres::parameters::place_of;
use rowkey_postgres::types::PostgresType;

/// More expressions than these are compiled and computed apart from sockets.
const EXPRESSIONS_MAX: usize = 100;
/// Functions that cost little for each row, whatever it holds.
const CHEAP_FUNCTIONS: [&str; 14] = [
    "+",
    "-",
    "*",
    "/",
    "%",
    "abs",
    "ceil",
    "coalesce",
    "float_key",
    "floor",
    "negative",
    "nullif",
    "one_nan",
    "round",
];
const COALESCE: &str = "coalesce";
/// Aggregates of which the same holds.
const CHEAP_AGGREGATES: [&str; 5] = ["avg", "count", "max", "min", "sum"];

/// Recognises a query of one table without joins, subqueries and windows, whose WHERE has one
/// PartitionKey or a few, and one without a table. `plan` is that of the SQL planner, and
/// `analyze` gives what the analyzer makes of it.
pub(super) fn recognize(
    plan: &LogicalPlan,
    analyze: &dyn Fn() -> Option<LogicalPlan>,
    parameters: &[&'static PostgresType],
    config: &dyn Fn() -> Arc<ConfigOptions>,
) -> Option<KeyQuery> {
    let (lower, leaf) = nodes(plan)?;
    let Leaf::Table(scan) = leaf else {
        let computed = Computed::of(&analyze()?)?;
        return computed.query(None, parameters, config());
    };
    let provider = source_as_provider(&scan.source).ok()?;
    let table = provider.downcast_ref::<EntityTable>()?;
    let LogicalPlan::Filter(filter) = lower.first()? else { return None };
    let mut keys = Condition::default();
    for part in split_conjunction(&filter.predicate) {
        // All of the condition is computed again; these say which rows it can hold for.
        let _of_other_columns = keys.add(part, filter.input.schema(), parameters);
    }
    let (rows, partitions) = (keys.rows_at_least(), keys.partitions.take()?);
    let computed = Computed::of(&analyze()?)?;
    if !may_be_read(table, partitions.len(), &rows, computed.columns.len()) {
        return None;
    }
    let columns = EntityRows::new(table.columns(), computed.columns.iter().copied())?;
    computed.query(Some(KeyRead::new(table, partitions, rows, columns, None)), parameters, config())
}

/// What is computed from the rows.
struct Computed {
    steps: Vec<(Step, DFSchemaRef)>,
    /// Places of the columns of the table that are read.
    columns: BTreeSet<usize>,
    /// The columns that are read.
    schema: SchemaRef,
    /// By place, the types that parameters were planned with.
    parameters: Vec<Option<DataType>>,
    expressions: usize,
}

impl Computed {
    fn of(analyzed: &LogicalPlan) -> Option<Self> {
        let (nodes, _) = nodes(analyzed)?;
        let mut used = Used::default();
        let mut steps: Vec<(Step, DFSchemaRef)> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let (step, input) = step(node)?;
            let projections = steps.iter().rev().take_while(|(step, _)| matches!(step, Step::Project(_))).count();
            let place = match step {
                // Of rows that are left out nothing is computed.
                Step::Limit { .. } => steps.len() - projections,
                _ => steps.len(),
            };
            let input = Arc::clone(steps.get(place).map_or(input, |(_, below)| below));
            steps.insert(place, (step, input));
        }
        for (step, input) in &steps {
            used.add(step, input)?;
        }
        if used.expressions > EXPRESSIONS_MAX {
            return None;
        }
        for (_, schema) in steps.iter_mut().take(used.last_of_table? + 1) {
            *schema = narrowed(schema, &used.columns)?;
        }
        let schema = Arc::clone(steps.first()?.1.inner());
        let Used { columns, parameters, expressions, .. } = used;
        Some(Self { steps, columns, schema, parameters, expressions })
    }

    fn query(
        mut self,
        read: Option<KeyRead>,
        parameters: &[&'static PostgresType],
        config: Arc<ConfigOptions>,
    ) -> Option<KeyQuery> {
        self.parameters.resize(parameters.len(), None);
        let parameters = parameters.iter().copied().zip(self.parameters).collect();
        let pipeline = Pipeline::new(self.steps, config).ok()?;
        Some(KeyQuery { read, schema: self.schema, pipeline, parameters, expressions: self.expressions })
    }
}

/// Where rows come from.
enum Leaf<'a> {
    Table(&'a TableScan),
    /// One row without columns.
    OneRow,
}

/// The nodes above the scan of a table, from the lowest to the root, and that. `None`: there are
/// nodes of other kinds.
fn nodes(plan: &LogicalPlan) -> Option<(Vec<&LogicalPlan>, Leaf<'_>)> {
    let (mut steps, mut node) = (Vec::new(), plan);
    loop {
        let input = match node {
            LogicalPlan::Projection(projection) => &projection.input,
            LogicalPlan::Filter(filter) => &filter.input,
            LogicalPlan::Sort(sort) => &sort.input,
            LogicalPlan::Limit(limit) => &limit.input,
            LogicalPlan::Aggregate(aggregate) => &aggregate.input,
            LogicalPlan::Distinct(Distinct::All(input)) => input,
            LogicalPlan::SubqueryAlias(alias) => {
                node = &alias.input;
                continue;
            }
            LogicalPlan::TableScan(scan) => {
                let is_whole = scan.projection.is_none() && scan.filters.is_empty() && scan.fetch.is_none();
                steps.reverse();
                return is_whole.then_some((steps, Leaf::Table(scan)));
            }
            LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: true, .. }) => {
                steps.reverse();
                return Some((steps, Leaf::OneRow));
            }
            _ => return None,
        };
        steps.push(node);
        node = input;
    }
}

fn step(node: &LogicalPlan) -> Option<(Step, &DFSchemaRef)> {
    let all = |exprs: &[Expr]| exprs.iter().map(|expr| computable(expr.clone())).collect::<Option<Vec<_>>>();
    Some(match node {
        LogicalPlan::Projection(projection) => (Step::Project(all(&projection.expr)?), projection.input.schema()),
        LogicalPlan::Filter(filter) => (Step::Filter(computable(filter.predicate.clone())?), filter.input.schema()),
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
            let key = |key: &SortExpr| Some(SortExpr { expr: computable(key.expr.clone())?, ..key.clone() });
            (Step::Sort(sort.expr.iter().map(key).collect::<Option<_>>()?), sort.input.schema())
        }
        LogicalPlan::Aggregate(aggregate) => {
            let (keys, aggregates) = (all(&aggregate.group_expr)?, all(&aggregate.aggr_expr)?);
            (Step::Aggregate { keys, aggregates }, aggregate.input.schema())
        }
        LogicalPlan::Distinct(Distinct::All(input)) => {
            let keys = input.schema().columns().into_iter().map(Expr::Column).collect();
            (Step::Aggregate { keys, aggregates: Vec::new() }, input.schema())
        }
        LogicalPlan::Limit(limit) => {
            let count = |rows: &Option<Box<Expr>>| rows.as_deref().map_or(Some(None), row_count);
            let (skip, fetch) = (count(&limit.skip)?, count(&limit.fetch)?);
            // Of no rows nothing is computed, and nothing fails.
            let has_rows = !matches!(fetch, Some(RowCount::Literal(0)));
            has_rows.then_some((Step::Limit { skip, fetch }, limit.input.schema()))?
        }
        _ => return None,
    })
}

/// The number of LIMIT or OFFSET, which NULL is none of; `None` for any other expression.
fn row_count(expr: &Expr) -> Option<Option<RowCount>> {
    match expr {
        Expr::Literal(ScalarValue::Int64(rows), _) => {
            rows.map_or(Some(None), |rows| Some(Some(RowCount::Literal(usize::try_from(rows).ok()?))))
        }
        Expr::Placeholder(placeholder) => {
            let data_type = placeholder.field.as_ref()?.data_type();
            let place = place_of(&placeholder.id).filter(|_| *data_type == DataType::Int64)?;
            Some(Some(RowCount::Parameter(place)))
        }
        _ => None,
    }
}

/// An expression that needs no rule of the optimizer: DataFusion computes `coalesce` as CASE.
fn computable(expr: Expr) -> Option<Expr> {
    let as_case = |expr: Expr| match expr {
        Expr::ScalarFunction(mut call) if call.func.name() == COALESCE => {
            let Some(last) = call.args.pop() else { return Ok(Transformed::no(Expr::ScalarFunction(call))) };
            if call.args.is_empty() {
                return Ok(Transformed::yes(last));
            }
            let branches = call.args.into_iter().map(|arg| (Box::new(arg.clone().is_not_null()), Box::new(arg)));
            Ok(Transformed::yes(Expr::Case(Case::new(None, branches.collect(), Some(Box::new(last))))))
        }
        expr => Ok(Transformed::no(expr)),
    };
    let name = expr.name_for_alias().ok()?;
    let computed = expr.transform_up(as_case).ok()?;
    if computed.transformed { computed.data.alias_if_changed(name).ok() } else { Some(computed.data) }
}

/// What the steps of a query need.
#[derive(Default)]
struct Used {
    steps: usize,
    /// The step that makes other columns of those of the table.
    last_of_table: Option<usize>,
    /// Places of columns of the table.
    columns: BTreeSet<usize>,
    /// By place, the types that parameters were planned with.
    parameters: Vec<Option<DataType>>,
    expressions: usize,
}

impl Used {
    /// Adds a step; `None` if it may cost much, or depends on more than rows and parameters.
    fn add(&mut self, step: &Step, input: &DFSchema) -> Option<()> {
        let exprs: Vec<&Expr> = match step {
            Step::Filter(predicate) => vec![predicate],
            Step::Project(exprs) => exprs.iter().collect(),
            Step::Aggregate { keys, aggregates } => keys.iter().chain(aggregates).collect(),
            Step::Sort(keys) => keys.iter().map(|key| &key.expr).collect(),
            Step::Limit { .. } => Vec::new(),
        };
        for expr in exprs {
            let mut allowed = true;
            let walked = expr.apply(|expr| {
                allowed = self.add_expr(expr, input).is_some();
                Ok(if allowed { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
            });
            (walked.is_ok() && allowed).then_some(())?;
        }
        if self.last_of_table.is_none() && matches!(step, Step::Project(_) | Step::Aggregate { .. }) {
            self.last_of_table = Some(self.steps);
        }
        self.steps += 1;
        Some(())
    }

    fn add_expr(&mut self, expr: &Expr, input: &DFSchema) -> Option<()> {
        self.expressions += 1;
        let allowed = match expr {
            Expr::Column(column) => {
                let place = input.index_of_column(column).ok()?;
                if self.last_of_table.is_none() {
                    self.columns.insert(place);
                }
                true
            }
            Expr::Placeholder(placeholder) => {
                let (place, field) = (place_of(&placeholder.id)?, placeholder.field.as_ref()?);
                if self.parameters.len() <= place {
                    self.parameters.resize(place + 1, None);
                }
                let known = self.parameters.get_mut(place)?;
                known.get_or_insert_with(|| field.data_type().clone()) == field.data_type()
            }
            Expr::BinaryExpr(BinaryExpr { op, .. }) => is_cheap(*op),
            Expr::ScalarFunction(call) if casts_number(call, input) => true,
            Expr::ScalarFunction(ScalarFunction { func, .. }) => {
                func.signature().volatility == Volatility::Immutable && CHEAP_FUNCTIONS.contains(&func.name())
            }
            Expr::AggregateFunction(AggregateFunction { func, params }) => {
                CHEAP_AGGREGATES.contains(&func.name())
                    && !params.distinct
                    && params.order_by.is_empty()
                    && params.null_treatment.is_none()
            }
            Expr::InList(InList { list, .. }) => list.iter().all(is_constant),
            Expr::Literal(..)
            | Expr::Alias(_)
            | Expr::Not(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNotFalse(_)
            | Expr::IsNotUnknown(_)
            | Expr::Negative(_)
            | Expr::Between(_)
            | Expr::Case(_)
            | Expr::Cast(_) => true,
            _ => false,
        };
        allowed.then_some(())
    }
}

/// Whether an item of a list is known before there are rows: parameters are by then.
fn is_constant(item: &Expr) -> bool {
    match item {
        Expr::Literal(..) | Expr::Placeholder(_) => true,
        Expr::Cast(cast) => is_constant(&cast.expr),
        _ => false,
    }
}

fn is_cheap(op: Operator) -> bool {
    use Operator::{
        And, Divide, Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, Minus, Modulo, Multiply, NotEq, Or,
        Plus,
    };
    matches!(
        op,
        And | Divide
            | Eq
            | Gt
            | GtEq
            | IsDistinctFrom
            | IsNotDistinctFrom
            | Lt
            | LtEq
            | Minus
            | Modulo
            | Multiply
            | NotEq
            | Or
            | Plus
    )
}

/// The same columns without those that are not read.
fn narrowed(schema: &DFSchema, places: &BTreeSet<usize>) -> Option<DFSchemaRef> {
    let fields = places.iter().map(|place| {
        let (qualifier, field) = schema.qualified_field(*place);
        (qualifier.cloned(), Arc::clone(field))
    });
    let schema = DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone());
    schema.ok().map(Arc::new)
}
