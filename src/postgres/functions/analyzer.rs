//! The rule that gives plans PostgreSQL's types, before DataFusion coerces what is left.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRewriter};
use datafusion::common::{Column, DFSchema, Result, ScalarValue, TableReference};
use datafusion::functions_nested::array_has::array_has_udf;
use datafusion::logical_expr::expr::{AggregateFunction, InSubquery, ScalarFunction, SetComparison, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Cast, Expr, ExprSchemable, Join, LogicalPlan, LogicalPlanBuilder, Operator, Projection, RecursiveQuery, ScalarUDF,
    Subquery, Values, WindowFunctionDefinition,
};
use datafusion::optimizer::AnalyzerRule;

use super::abbreviated::{into_full, under_short_name};
use super::aggregates;
use super::cast::PostgresCast;
use super::compared_subqueries::paired;
use super::constant_bytes::is_deferred_part;
use super::copies::Copies;
use super::deferred;
use super::error::{SqlState, fail};
use super::flat_unions;
use super::frames::{FrameLimits, framed};
use super::fused::{FusedExpression, is_condition, operations_within};
use super::interval_totals::IntervalSum;
use super::item_comparison_names::is_equals_any;
use super::item_comparisons::EQUALS_ANY_OF;
use super::json;
use super::keyed_groups;
use super::keys;
use super::kind::{Kind, unknown_text};
use super::range_offsets;
use super::recursion;
use super::resolution::Resolver;
use super::row_shifts;
use super::scalar::{Scalar, type_of};
use super::set_operations::{self, projected};
use super::unnested_items;
use super::zone::Zone;
use crate::types::POSTGRES_TYPE;

/// Window functions whose result has the type of their first argument, which needs one.
const OF_ANY_TYPE: [&str; 5] = ["lag", "lead", "first_value", "last_value", "nth_value"];

/// Below so many nodes columns are taken for computed ones.
const STORED_LEVELS_MAX: usize = 16;

/// Longer arrays of constants are searched as they are.
const LISTED_ITEMS_MAX: usize = 100_000;

/// Goes before `type_coercion`, which brings times to nanoseconds and integers to whatever holds
/// both.
///
/// Literals get their types, operators and branches are resolved, casts become PostgreSQL's, sums
/// and averages exact. Names of columns stay.
#[derive(Debug)]
pub(super) struct PostgresTypes {
    pub names: ObjectNames,
    /// Deeper parts of expressions are fused.
    pub depth_max: usize,
}

/// The name of the rule [`PostgresTypes`].
pub(crate) const POSTGRES_TYPES: &str = "postgres_types";

/// Casts of types that hold names of objects, which only the catalog can tell, by the type's name
/// in `pg_type`: `regclass`, ...
#[derive(Debug, Default)]
pub struct ObjectNames {
    /// From text.
    pub from_text: HashMap<String, Arc<ScalarUDF>>,
    /// And back.
    pub to_text: HashMap<String, Arc<ScalarUDF>>,
}

impl PostgresTypes {
    /// Where names of objects are seen that only the catalog knows: casts, and functions that show
    /// their arguments.
    fn with_names(&self, expr: Expr, resolver: &Resolver) -> Result<Expr> {
        let cast = match expr {
            Expr::Cast(cast) => cast,
            Expr::ScalarFunction(mut call) if Resolver::shows_texts(call.func.name()) => {
                call.args = call.args.into_iter().map(|argument| self.named(argument, resolver)).collect();
                return Ok(Expr::ScalarFunction(call));
            }
            expr => return Ok(expr),
        };
        let Ok((_, source)) = cast.expr.to_field(resolver.schema) else { return Ok(Expr::Cast(cast)) };
        let name = |field: &Field| field.metadata().get(POSTGRES_TYPE).cloned().unwrap_or_default();
        let function = match (Kind::of(source.data_type()), Kind::of(cast.field.data_type())) {
            (Kind::Text, Kind::Oid) => self.names.from_text.get(&name(&cast.field)),
            (Kind::Oid, Kind::Text) => self.names.to_text.get(&name(&source)),
            _ => None,
        };
        Ok(match function {
            Some(function) => Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), vec![*cast.expr])),
            None => Expr::Cast(cast),
        })
    }

    /// The name that an oid of a `regclass` or its like stands for; any other expression as it is.
    fn named(&self, expr: Expr, resolver: &Resolver) -> Expr {
        if !type_of(&expr, resolver.schema).is_ok_and(|data_type| Kind::of(&data_type) == Kind::Oid) {
            return expr;
        }
        let field = expr.to_field(resolver.schema).map(|(_, field)| field);
        let name = field.ok().and_then(|field| field.metadata().get(POSTGRES_TYPE).cloned());
        match name.and_then(|name| self.names.to_text.get(&name)) {
            Some(function) => Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), vec![expr])),
            None => expr,
        }
    }

    fn node(
        &self,
        plan: LogicalPlan,
        (zone, literals): (&Zone, &Zone),
        limits: Option<&FrameLimits>,
        copies: &Copies,
    ) -> Result<LogicalPlan> {
        if matches!(plan, LogicalPlan::Limit(_)) {
            return Ok(plan);
        }
        let plan = match plan {
            LogicalPlan::Values(values) => LogicalPlan::Values(without_coercion(values)?),
            plan => plan,
        };
        let mut schema = merge_schema(&plan.inputs());
        if let LogicalPlan::TableScan(scan) = &plan {
            schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
        }
        let stored = plan.inputs().into_iter().all(|input| has_stored_columns(input, STORED_LEVELS_MAX));
        let resolver = Resolver {
            schema: &schema,
            zone: Some(zone),
            literals: Some(literals),
            stored,
            copies: Some(copies),
            limits,
            dropped: false,
        };
        let names = NamePreserver::new(&plan);
        let plan = plan
            .map_expressions(|expr| {
                let name = names.save(&expr);
                let mut resolving = Resolving { rule: self, resolver: &resolver, stored, open: Vec::new() };
                Ok(expr.rewrite(&mut resolving)?.update_data(|expr| name.restore(expr)))
            })
            .data()?;
        let (plan, shown) = keyed_groups::by_keys(keys::of_node(plan)?)?;
        let plan = match plan {
            LogicalPlan::Union(union) => set_operations::union(union, zone),
            LogicalPlan::Values(values) => self::values(values, &resolver),
            LogicalPlan::Join(join) => self::join(join, zone)?.recompute_schema(),
            LogicalPlan::RecursiveQuery(query) => recursive(query, zone),
            // DataFusion makes a column of each field.
            LogicalPlan::Unnest(unnest) if !unnest.struct_type_columns.is_empty() => {
                fail(SqlState::UNDEFINED_FUNCTION, "function unnest(record) does not exist")
            }
            LogicalPlan::Unnest(_) => match plan.recompute_schema()? {
                LogicalPlan::Unnest(unnest) => unnested_items::with_item_types(unnest),
                plan => Ok(plan),
            },
            plan if has_fields_of_input(&plan) => Ok(plan),
            plan => with_postgres_outputs(plan.recompute_schema()?, &schema, zone),
        }?;
        match shown {
            Some(columns) => Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?)),
            None => Ok(plan),
        }
    }
}

/// Most short names one over the other: what stays deep takes time that grows with the square of
/// its levels.
const SHORT_NAMES_MAX: usize = 26;

/// Resolves an expression from its leaves up, and fuses what has become deep.
struct Resolving<'a> {
    rule: &'a PostgresTypes,
    resolver: &'a Resolver<'a>,
    /// Whether all columns are stored ones.
    stored: bool,
    /// The nodes above the one that is resolved, and itself.
    open: Vec<Depth>,
}

/// What is below a node.
#[derive(Default)]
struct Depth {
    levels: usize,
    /// Something in it is never fused.
    visible: bool,
    /// Short names in it, one over the other.
    short_names: usize,
    /// PostgreSQL drops it without a look, or some of its arguments.
    dropped: bool,
}

impl Resolving<'_> {
    fn resolved(&self, expr: Expr, depth: &mut Depth) -> Result<Expr> {
        depth.levels += 1;
        let resolver = Resolver { dropped: depth.dropped, ..*self.resolver };
        let expr = resolve(self.rule.with_names(expr, &resolver)?, &resolver)?;
        if depth.levels <= self.rule.depth_max || is_condition(&expr) {
            return Ok(expr);
        }
        let visible = if depth.visible {
            expr
        } else {
            match FusedExpression::of(expr, self.resolver.schema, self.stored) {
                Ok(fused) => {
                    depth.levels = 1;
                    return Ok(fused);
                }
                Err(other) => other,
            }
        };
        depth.visible = true;
        // It stays as deep as it is, but not its name.
        if !matches!(visible, Expr::ScalarFunction(_) | Expr::BinaryExpr(_) | Expr::Case(_) | Expr::Cast(_)) {
            return Ok(visible);
        }
        depth.levels = 1;
        depth.short_names += 1;
        if depth.short_names > SHORT_NAMES_MAX {
            let message = "the levels of an expression are too many: it has calls that are planned one by one";
            return fail(SqlState::STATEMENT_TOO_COMPLEX, message);
        }
        let data_type = type_of(&visible, self.resolver.schema).ok();
        Ok(under_short_name(visible, data_type))
    }
}

impl TreeNodeRewriter for Resolving<'_> {
    type Node = Expr;

    fn f_down(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        let dropped = self.open.last().is_some_and(|above| above.dropped) || drops_arguments(&expr);
        self.open.push(Depth { dropped, ..Depth::default() });
        Ok(Transformed::no(expr))
    }

    fn f_up(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        let mut depth = self.open.pop().unwrap_or_default();
        let expr = match into_full(expr) {
            Ok(full) => full,
            Err(expr) => self.resolved(expr, &mut depth)?,
        };
        if let Some(above) = self.open.last_mut() {
            above.levels = above.levels.max(depth.levels);
            above.visible |= depth.visible;
            above.short_names = above.short_names.max(depth.short_names);
        }
        Ok(Transformed::yes(expr))
    }
}

/// Whether it is the first argument that counts, as a constant that is not NULL.
fn drops_arguments(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.func.name() == "coalesce"
        && matches!(call.args.first(), Some(Expr::Literal(value, _)) if !value.is_null()))
}

/// Whether the columns of a plan are those of tables: no rule puts an expression into their place.
/// It looks at so many levels of the plan and no more.
fn has_stored_columns(plan: &LogicalPlan, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return false };
    match plan {
        LogicalPlan::TableScan(_) | LogicalPlan::EmptyRelation(_) => return true,
        LogicalPlan::Projection(projection) if projection.expr.iter().all(|expr| matches!(expr, Expr::Column(_))) => {}
        LogicalPlan::Filter(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Join(_) => {}
        _ => return false,
    }
    plan.inputs().into_iter().all(|input| has_stored_columns(input, below))
}

impl AnalyzerRule for PostgresTypes {
    fn name(&self) -> &str {
        POSTGRES_TYPES
    }

    fn analyze(&self, plan: LogicalPlan, options: &ConfigOptions) -> Result<LogicalPlan> {
        let (zone, literals) = (Zone::of(options)?, Zone::of_literals(options)?);
        let limits = options.extensions.get::<FrameLimits>();
        let copies = Copies::with_hidden(operations_within);
        let typed = |plan: LogicalPlan| {
            let node = |plan| Ok(Transformed::yes(self.node(plan, (&zone, &literals), limits, &copies)?));
            plan.transform_up_with_subqueries(node).data()
        };
        let plan = typed(recursion::with_types_of_first_terms(plan, &typed)?)?;
        flat_unions::flatten(plan)
    }
}

/// Whether a node hands on all columns of its input as they are, and its schema says so already:
/// to make it anew is what a small statement notices most of this rule.
fn has_fields_of_input(plan: &LogicalPlan) -> bool {
    let (input, schema) = match plan {
        LogicalPlan::SubqueryAlias(alias) => (&alias.input, &alias.schema),
        LogicalPlan::Projection(projection) => {
            let mut columns = projection.expr.iter().zip(projection.input.schema().iter());
            let is_column = |(expr, (qualifier, field)): (&Expr, (Option<&TableReference>, &FieldRef))| match expr {
                Expr::Column(column) => column.relation.as_ref() == qualifier && column.name == *field.name(),
                _ => false,
            };
            if !columns.all(is_column) {
                return false;
            }
            (&projection.input, &projection.schema)
        }
        _ => return false,
    };
    input.schema().fields() == schema.fields()
}

fn kind_of_first(args: &[Expr], resolver: &Resolver) -> Kind {
    args.first().and_then(|arg| resolver.kind(arg)).unwrap_or(Kind::Null)
}

fn filter(condition: Option<Box<Expr>>, resolver: &Resolver) -> Result<Option<Box<Expr>>> {
    condition.map(|condition| resolver.truth_value(*condition, "FILTER").map(Box::new)).transpose()
}

fn resolve(expr: Expr, resolver: &Resolver) -> Result<Expr> {
    match expr {
        Expr::AggregateFunction(AggregateFunction { func, mut params }) => {
            params.args = aggregates::arguments(func.name(), params.args, resolver)?;
            let func = IntervalSum::in_place_of(&func, kind_of_first(&params.args, resolver)).unwrap_or(func);
            for by in &mut params.order_by {
                json::comparable(&by.expr, resolver.schema, "ordering")?;
                if resolver.kind(&by.expr) == Some(Kind::Jsonb) {
                    by.expr = keys::key(by.expr.clone(), resolver.schema);
                }
            }
            keys::sort_once(&mut params.order_by);
            params.filter = filter(params.filter, resolver)?;
            aggregates::evaluate_where_filtered(&mut params, resolver);
            Ok(Expr::AggregateFunction(AggregateFunction { func, params }))
        }
        Expr::WindowFunction(window) => {
            let WindowFunction { fun, mut params } = *window;
            let name = fun.name();
            if OF_ANY_TYPE.contains(&name) && params.args.is_empty() {
                let message = format!("function {name}() does not exist");
                return fail(SqlState::UNDEFINED_FUNCTION, message);
            }
            let untyped = |arg: &Expr| matches!(arg, Expr::Literal(ScalarValue::Utf8(Some(_)) | ScalarValue::Null, _));
            if OF_ANY_TYPE.contains(&name) && params.args.first().is_some_and(untyped) {
                let message = "could not determine polymorphic type because input has type unknown";
                return fail(SqlState::DATATYPE_MISMATCH, message);
            }
            if params.distinct && !matches!(fun, WindowFunctionDefinition::AggregateUDF(_)) {
                return fail(SqlState::FEATURE_NOT_SUPPORTED, "DISTINCT is not implemented for window functions");
            }
            params.filter = filter(params.filter, resolver)?;
            aggregates::check_offset(name, &params.args)?;
            params.args = aggregates::arguments(name, params.args, resolver)?;
            let fun = match fun {
                WindowFunctionDefinition::AggregateUDF(function) => {
                    let of_intervals = IntervalSum::in_place_of(&function, kind_of_first(&params.args, resolver));
                    WindowFunctionDefinition::AggregateUDF(of_intervals.unwrap_or(function))
                }
                fun if params.args.get(1).is_some_and(aggregates::is_of_rows) => {
                    row_shifts::of_each_row(fun, &params.args, resolver)?
                }
                fun => fun,
            };
            for expr in &params.partition_by {
                json::comparable(expr, resolver.schema, "equality")?;
            }
            for by in &params.order_by {
                json::comparable(&by.expr, resolver.schema, "ordering")?;
            }
            params.window_frame = range_offsets::settled(params.window_frame, &params.order_by, resolver)?;
            params.partition_by =
                params.partition_by.into_iter().map(|expr| keys::key(expr, resolver.schema)).collect();
            params.order_by = keys::sorted(params.order_by, resolver.schema);
            let argument = params.args.first().and_then(|arg| type_of(arg, resolver.schema).ok());
            let argument = argument.unwrap_or(DataType::Null);
            Ok(Expr::from(framed(WindowFunction { fun, params }, &argument, resolver.limits)?))
        }
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            let (expr, subquery) = paired(*expr, subquery, Operator::Eq, resolver)?;
            let expr = Box::new(keys::equality_key(expr, resolver.schema));
            let members = keys::of_columns(subquery.subquery, keys::equality_key)?;
            Ok(Expr::InSubquery(InSubquery { expr, subquery: Subquery { subquery: members, ..subquery }, negated }))
        }
        Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => {
            let (expr, subquery) = paired(*expr, subquery, op, resolver)?;
            // The optimizer writes it into three subqueries.
            let expr = resolver.counted(resolver.counted(expr)?)?;
            Ok(Expr::SetComparison(SetComparison { expr: Box::new(expr), subquery, op, quantifier }))
        }
        Expr::ScalarFunction(function) => match PostgresCast::target_of(&function) {
            // A constant whose cast waited for the session's zone.
            Some(target) => resolver.recast(function, target),
            None => {
                let call = Expr::ScalarFunction(equals_any(of_typed_column(function, resolver), resolver));
                counted(resolver.resolve(call)?, resolver)
            }
        },
        expr => resolver.resolve(expr),
    }
}

/// `pg_typeof` of a column is known, also where it is a literal that has no type by itself.
fn of_typed_column(mut function: ScalarFunction, resolver: &Resolver) -> ScalarFunction {
    if function.func.name() == "pg_typeof"
        && let [column @ Expr::Column(_)] = function.args.as_mut_slice()
        && let Ok(DataType::Utf8 | DataType::Null) = type_of(column, resolver.schema)
    {
        let literal = std::mem::replace(column, Expr::Literal(ScalarValue::Null, None));
        *column = Expr::Cast(Cast::new(Box::new(literal), DataType::Utf8View));
    }
    function
}

/// `x = ANY (array)`: by DataFusion's function where the array is constant and short and x is not,
/// since that makes a list of it, from which keys are taken; else by ours. Theirs has no NULLs
/// among the items of a constant, and none in an empty array.
fn equals_any(function: ScalarFunction, resolver: &Resolver) -> ScalarFunction {
    let [array, item] = function.args.as_slice() else { return function };
    if !is_equals_any(function.func.name()) {
        return function;
    }
    // A list is searched by bits and fields.
    let is_list = !is_no_list(array) && !item.column_refs().is_empty() && !resolver.has_key(item);
    let udf = if is_list { array_has_udf() } else { Scalar::udf(&EQUALS_ANY_OF) };
    let wanted = ScalarFunction::new_udf(udf, function.args.clone());
    match type_of(&Expr::ScalarFunction(wanted.clone()), resolver.schema) {
        Ok(_) => wanted,
        Err(_) => function,
    }
}

fn is_no_list(array: &Expr) -> bool {
    match array {
        Expr::Literal(ScalarValue::List(list), _) => list.values().len() > LISTED_ITEMS_MAX,
        array => {
            let waits = |part: &Expr| is_scalar_subquery(part) || is_deferred_part(part);
            !array.column_refs().is_empty() || array.exists(|part| Ok(waits(part))).unwrap_or(true)
        }
    }
}

fn is_scalar_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarSubquery(_))
}

/// What DataFusion counts in unsigned numbers is an integer to PostgreSQL.
fn counted(expr: Expr, resolver: &Resolver) -> Result<Expr> {
    let Expr::ScalarFunction(function) = &expr else { return Ok(expr) };
    let Ok(DataType::UInt64) = type_of(&expr, resolver.schema) else { return Ok(expr) };
    let wanted = match function.func.name() {
        "array_length" | "array_ndims" | "cardinality" | "array_position" => DataType::Int32,
        _ => DataType::Int64,
    };
    expr.cast_to(&wanted, resolver.schema)
}

/// Aggregates and window functions keep DataFusion's types inside their node; a projection above it
/// brings them to PostgreSQL's.
fn with_postgres_outputs(plan: LogicalPlan, inputs: &DFSchema, zone: &Zone) -> Result<LogicalPlan> {
    let (first, exprs) = match &plan {
        LogicalPlan::Aggregate(aggregate) => {
            (plan.schema().fields().len() - aggregate.aggr_expr.len(), aggregate.aggr_expr.clone())
        }
        LogicalPlan::Window(window) => {
            (plan.schema().fields().len() - window.window_expr.len(), window.window_expr.clone())
        }
        _ => return Ok(plan),
    };
    let wanted: Vec<Option<DataType>> =
        exprs.iter().map(|expr| aggregates::output(expr, inputs)).collect::<Result<_>>()?;
    let schema = Arc::clone(plan.schema());
    let differs = wanted
        .iter()
        .enumerate()
        .any(|(place, wanted)| wanted.as_ref().is_some_and(|wanted| wanted != schema.field(first + place).data_type()));
    if !differs {
        return Ok(plan);
    }
    let resolver = Resolver::over(&schema, Some(zone));
    let columns = schema.iter().enumerate().map(|(place, (qualifier, field))| {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        let wanted = place.checked_sub(first).and_then(|place| wanted.get(place)).and_then(Option::as_ref);
        match wanted {
            Some(wanted) if wanted != field.data_type() => {
                let cast = resolver.to(column, field.data_type(), wanted)?;
                Ok(cast.alias_qualified(qualifier.cloned(), field.name()))
            }
            _ => Ok(column),
        }
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

/// DataFusion has brought the rows of VALUES to types of its own when it planned them: moments to
/// nanoseconds, doubles beside numerics to numerics, NULLs to whatever. Those casts are taken off
/// again.
fn without_coercion(mut values: Values) -> Result<Values> {
    let none = DFSchema::empty();
    for expr in values.values.iter_mut().flatten() {
        *expr = deferred::unwrapped(std::mem::replace(expr, null()));
    }
    // A NULL has been given the column's type, which was found before literals had theirs.
    for expr in values.values.iter_mut().flatten() {
        if matches!(expr, Expr::Literal(value, _) if value.is_null()) {
            *expr = null();
        }
    }
    for place in 0..values.schema.fields().len() {
        let column = values.schema.field(place).data_type().clone();
        let coerced = |expr: &Expr| match expr {
            Expr::Cast(cast) if *cast.field.data_type() == column && cast.field.metadata().is_empty() => {
                match (&column, cast.expr.get_type(&none).map(|from| Kind::of(&from))) {
                    (DataType::Timestamp(TimeUnit::Nanosecond, _), _) => true,
                    (DataType::Decimal128(..) | DataType::Decimal256(..), Ok(from)) => from.is_float(),
                    (DataType::Int64, Ok(from)) => is_narrower(from),
                    _ => false,
                }
            }
            _ => false,
        };
        if !values.values.iter().any(|row| row.get(place).is_some_and(coerced)) {
            continue;
        }
        for expr in values.values.iter_mut().filter_map(|row| row.get_mut(place)) {
            let taken = std::mem::replace(expr, null());
            *expr = match taken {
                // A statement's own cast to bigint is of a bigint: it stands there twice.
                Expr::Cast(cast)
                    if column == DataType::Int64
                        && !cast.expr.get_type(&none).is_ok_and(|from| is_narrower(Kind::of(&from))) =>
                {
                    Expr::Cast(cast)
                }
                Expr::Cast(cast) if *cast.field.data_type() == column && cast.field.metadata().is_empty() => *cast.expr,
                other => other,
            };
        }
    }
    Ok(values)
}

fn is_narrower(kind: Kind) -> bool {
    matches!(kind, Kind::Int2 | Kind::Int4)
}

fn values(values: Values, resolver: &Resolver) -> Result<LogicalPlan> {
    let width = values.schema.fields().len();
    let mut rows = values.values;
    for place in 0..width {
        let column: Vec<Expr> = rows.iter_mut().map(|row| std::mem::replace(&mut row[place], null())).collect();
        let column = of_one_name(resolver.alike(column, "VALUES")?, resolver)?;
        for (row, expr) in rows.iter_mut().zip(column) {
            row[place] = expr;
        }
    }
    LogicalPlanBuilder::values(rows)?.build()
}

/// Values whose types have the same name as well: the one of those that have a type, `text` where
/// they differ.
fn of_one_name(column: Vec<Expr>, resolver: &Resolver) -> Result<Vec<Expr>> {
    let mut fields: Vec<FieldRef> = Vec::with_capacity(column.len());
    for expr in &column {
        fields.push(expr.to_field(resolver.schema)?.1);
    }
    let differs = fields.windows(2).any(|pair| pair[0].metadata() != pair[1].metadata());
    if !differs {
        return Ok(column);
    }
    let is_typed =
        |expr: &Expr| unknown_text(expr).is_none() && !matches!(expr, Expr::Literal(value, _) if value.is_null());
    let mut typed = column.iter().zip(&fields).filter(|(expr, _)| is_typed(expr)).map(|(_, field)| field);
    let common = typed.next().filter(|first| typed.all(|other| other.metadata() == first.metadata())).cloned();
    let brought = column.into_iter().zip(fields).map(|(expr, field)| match &common {
        Some(common) if common.metadata() == field.metadata() => Ok(expr),
        Some(common) if common.data_type() == field.data_type() || !is_typed(&expr) => {
            resolver.resolve(Expr::Cast(Cast::new_from_field(Box::new(expr), Arc::clone(common))))
        }
        _ if field.metadata().is_empty() => Ok(expr),
        _ => Ok(deferred::unnamed(expr)),
    });
    brought.collect()
}

fn null() -> Expr {
    Expr::Literal(ScalarValue::Null, None)
}

/// Keys of both sides in one type.
fn join(join: Join, zone: &Zone) -> Result<LogicalPlan> {
    let mut join = set_operations::intersected(join, zone)?;
    let mut both = join.left.schema().as_ref().clone();
    both.merge(join.right.schema());
    let resolver = Resolver::over(&both, Some(zone));
    let keys = std::mem::take(&mut join.on);
    join.on = keys
        .into_iter()
        .map(|(left, right)| {
            let (left, right) = resolver.pair(left, right, &|| "=".to_owned())?;
            Ok(keys::equality_keys(left, right, &both))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(LogicalPlan::Join(join))
}

/// Both terms in the types of the table that the second one reads.
fn recursive(query: RecursiveQuery, zone: &Zone) -> Result<LogicalPlan> {
    let Some(types) = recursion::working_types(&query)? else {
        return LogicalPlan::RecursiveQuery(query).recompute_schema();
    };
    recursion::check(&query.name, &types, &query.recursive_term)?;
    let types: Vec<_> = types.into_iter().map(Some).collect();
    let RecursiveQuery { name, static_term, recursive_term, is_distinct, .. } = query;
    let static_term = Arc::new(projected(Arc::unwrap_or_clone(static_term), &types, zone)?);
    let recursive_term = projected(Arc::unwrap_or_clone(recursive_term), &types, zone)?;
    let recursive_term = Arc::new(recursion::with_metadata_of(&static_term, recursive_term)?);
    Ok(LogicalPlan::RecursiveQuery(RecursiveQuery::try_new(name, static_term, recursive_term, is_distinct)?))
}
