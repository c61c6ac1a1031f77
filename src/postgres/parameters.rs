//! `$1`, `$2` and so on: their types before, and their values when a statement runs.

mod contexts;

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::Array;
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue, plan_err};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, Statement as StatementPlanner,
};
use datafusion::physical_plan::collect;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{
    self, ArrayElemTypeDef, DataType, Ident, LimitClause, ObjectName, TimezoneInfo, Value, Visitor,
};

use crate::ctes::gathered;
use crate::functions::{
    GENERATE_SERIES, common_field, is_equals_any, is_of_one_type, like_value, typed_constant, without_wrapping,
};
use crate::types::{
    POSTGRES_TYPE, PostgresType, SqlValue, TextStyle, arrow_type, parse_text, text_value, type_by_name, type_of,
};
use rowkey_base::{Error, Result, SqlState};

use crate::desugar::holds_subquery;
use crate::error::from_datafusion;
use crate::plan_size::{refuse_large, refuse_many_expressions, refuse_many_subqueries};
use crate::syntax::{count, number_of, plain_cast, select_of, visit, visit_expressions_mut};

/// Plans a query and types its parameters: as declared, else by their context, else as text.
pub async fn plan(
    state: &SessionState,
    mut query: ast::Statement,
    declared: &[Option<&'static PostgresType>],
) -> Result<(LogicalPlan, Vec<&'static PostgresType>)> {
    refuse_many_expressions(&query)?;
    let count = count(&query)?.max(declared.len());
    if count == 0 {
        return Ok((planned(state, query).await?, Vec::new()));
    }
    let declared = |at: usize| declared.get(at).copied().flatten();
    let mut inferred = HashMap::new();
    let mut untyped_plan = None;
    if (0..count).any(|at| declared(at).is_none()) {
        contexts::type_in_contexts(&mut query, |number| number > 0 && declared(number - 1).is_none());
        // Where a parameter alone decides the type of an expression, this fails, and the types are
        // tried below.
        let mut plan = state.statement_to_plan(ParsedStatement::Statement(Box::new(query.clone()))).await;
        let mut rest = query.clone();
        let is_whole = plan.is_ok() || !contexts::without_sums(&mut rest);
        if !is_whole {
            plan = state.statement_to_plan(ParsedStatement::Statement(Box::new(rest))).await;
        }
        if let Ok(plan) = plan {
            let plan = with_ctes(plan)?;
            let are_alike;
            (inferred, are_alike) = parameter_fields(&plan)?;
            infer_more(&plan, &mut inferred)?;
            untyped_plan = (are_alike && is_whole).then_some(plan);
        }
    }
    let inferred = |at: usize| inferred.get(&format!("${}", at + 1))?.as_deref().and_then(known_type);
    let limits = Limits::of(&query);
    let otherwise = |at: usize| known(if limits.0.contains(&(at + 1)) { "int8" } else { "text" });
    let types = (0..count).map(|at| declared(at).or_else(|| inferred(at)).map_or_else(|| otherwise(at), Ok));
    let types = types.collect::<Result<Vec<_>>>()?;
    // Planned with its types, the statement would come to the same plan.
    if let Some(plan) = untyped_plan
        && (0..count).all(|at| declared(at).is_none() && inferred(at).is_some())
        && compares_columns_only(&plan, count)?
    {
        return Ok((plan, types));
    }
    type_in_arrays(&mut query, &types);
    let prepare = ast::Statement::Prepare {
        name: Ident::new("statement"),
        data_types: types.iter().map(|ty| data_type(ty)).collect(),
        statement: Box::new(query),
    };
    match state.statement_to_plan(ParsedStatement::Statement(Box::new(prepare))).await.map_err(from_datafusion)? {
        LogicalPlan::Statement(StatementPlanner::Prepare(prepare)) => {
            Ok((with_ctes(Arc::unwrap_or_clone(prepare.input))?, types))
        }
        _ => Err(Error::new(SqlState::INTERNAL_ERROR, "a prepared statement was planned as something else")),
    }
}

/// What the planner takes parameters for where they stand first, and whether it takes each for the
/// same wherever it stands.
fn parameter_fields(plan: &LogicalPlan) -> Result<(HashMap<String, Option<FieldRef>>, bool)> {
    let mut fields: HashMap<String, Option<FieldRef>> = HashMap::new();
    let mut are_alike = true;
    let walked = plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::Placeholder(placeholder) = expr {
                    match (fields.get(&placeholder.id), &placeholder.field) {
                        (Some(Some(first)), Some(field)) => are_alike &= first.data_type() == field.data_type(),
                        (Some(Some(_)), None) => are_alike = false,
                        (Some(None) | None, field) => {
                            are_alike &= !fields.contains_key(&placeholder.id);
                            fields.insert(placeholder.id.clone(), field.clone());
                        }
                    }
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    });
    walked.map_err(from_datafusion)?;
    Ok((fields, are_alike))
}

async fn planned(state: &SessionState, query: ast::Statement) -> Result<LogicalPlan> {
    let plan = state.statement_to_plan(ParsedStatement::Statement(Box::new(query))).await.map_err(from_datafusion)?;
    with_ctes(plan)
}

/// A plan as DataFusion's planner leaves it, with its WITH queries in it.
fn with_ctes(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = gathered(plan).map_err(from_datafusion)?;
    refuse_large(&plan)?;
    refuse_many_subqueries(&plan)?;
    Ok(plan)
}

/// The planner forgets the types of parameters inside `ARRAY[...]`: there they are cast to them.
fn type_in_arrays(query: &mut ast::Statement, types: &[&'static PostgresType]) {
    let _walked: ControlFlow<()> = visit_expressions_mut(query, |expr| {
        if let ast::Expr::Array(array) = expr {
            return visit_expressions_mut(&mut array.elem, |item| {
                if let Some(ty) = number_of(item).and_then(|number| types.get(number.checked_sub(1)?)) {
                    *item = plain_cast(std::mem::replace(item, ast::Expr::value(Value::Null)), data_type(ty));
                }
                ControlFlow::Continue(())
            });
        }
        ControlFlow::Continue(())
    });
}

/// Whether parameters are compared with columns, each by itself, and are nowhere else: then their
/// types are those of the columns, and change nothing in the plan.
fn compares_columns_only(plan: &LogicalPlan, count: usize) -> Result<bool> {
    let (mut compared, mut all) = (0, 0);
    let mut seen = vec![false; count];
    plan.apply_with_subqueries(|node| {
        let in_filter = matches!(node, LogicalPlan::Filter(_));
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                match expr {
                    Expr::Placeholder(placeholder) => {
                        all += 1;
                        let number = placeholder.id.strip_prefix('$').and_then(|number| number.parse::<usize>().ok());
                        if let Some(seen) = number.and_then(|number| seen.get_mut(number.checked_sub(1)?)) {
                            *seen = true;
                        }
                    }
                    Expr::BinaryExpr(BinaryExpr { left, op, right }) if in_filter && is_comparison(*op) => {
                        compared += usize::from(matches!(
                            (left.as_ref(), right.as_ref()),
                            (Expr::Column(_), Expr::Placeholder(_)) | (Expr::Placeholder(_), Expr::Column(_))
                        ));
                    }
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .map_err(from_datafusion)?;
    Ok(compared == all && seen.into_iter().all(|seen| seen))
}

fn is_comparison(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// What DataFusion does not infer: `$1::int2` is of that type, in `x = ANY ($1)` the parameter is
/// an array of what x is, and in `coalesce($1, x)`, CASE and VALUES it is what the others are.
fn infer_more(plan: &LogicalPlan, inferred: &mut HashMap<String, Option<FieldRef>>) -> Result<()> {
    // Parameters that are items of VALUES, which the planner casts to what it takes for their type,
    // and those with a cast before.
    let mut items: Vec<String> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    plan.apply_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        if let LogicalPlan::Union(union) = node {
            infer_branches(&union.inputs, inferred);
        }
        if let LogicalPlan::Values(values) = node {
            for place in 0..values.schema.fields().len() {
                let column: Vec<&Expr> = values.values.iter().filter_map(|row| row.get(place)).collect();
                infer_items(&column, &schema, inferred, &mut items);
            }
        }
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                match expr {
                    Expr::ScalarFunction(call) if is_of_one_type(call.func.name()) || call.func.name() == "mod" => {
                        infer_alike(&call.args.iter().collect::<Vec<_>>(), &schema, inferred);
                    }
                    Expr::ScalarFunction(call) if call.func.name() == GENERATE_SERIES => {
                        infer_series(&call.args, &schema, inferred);
                    }
                    Expr::Case(case) => {
                        let results = case.when_then_expr.iter().map(|(_, then)| then.as_ref());
                        let results: Vec<&Expr> = results.chain(case.else_expr.as_deref()).collect();
                        infer_alike(&results, &schema, inferred);
                        if let Some(compared) = &case.expr {
                            let whens = case.when_then_expr.iter().map(|(when, _)| when.as_ref());
                            let compared: Vec<&Expr> = std::iter::once(compared.as_ref()).chain(whens).collect();
                            infer_alike(&compared, &schema, inferred);
                        }
                    }
                    // Beside a literal the planner takes it for an int8.
                    Expr::BinaryExpr(BinaryExpr { left, op, right })
                        if is_comparison(*op) || op.is_numerical_operators() =>
                    {
                        for (operand, other) in [(left, right), (right, left)] {
                            if let (Expr::Placeholder(placeholder), Expr::Literal(ScalarValue::Int64(Some(number)), _)) =
                                (operand.as_ref(), other.as_ref())
                                && i32::try_from(*number).is_ok()
                                && seen.insert(placeholder.id.clone())
                            {
                                let int4 = Arc::new(Field::new("", ArrowType::Int32, true));
                                inferred.insert(placeholder.id.clone(), Some(int4));
                            }
                        }
                    }
                    Expr::Placeholder(placeholder) => {
                        seen.insert(placeholder.id.clone());
                    }
                    Expr::Between(between) => {
                        let compared = [between.expr.as_ref(), between.low.as_ref(), between.high.as_ref()];
                        infer_alike(&compared, &schema, inferred);
                    }
                    Expr::InList(list) => {
                        let compared: Vec<&Expr> = std::iter::once(list.expr.as_ref()).chain(&list.list).collect();
                        infer_alike(&compared, &schema, inferred);
                    }
                    _ => {}
                }
                if let Expr::ScalarFunction(call) = expr
                    && is_equals_any(call.func.name())
                    && let [Expr::Placeholder(array), item] = call.args.as_slice()
                    && inferred.get(&array.id).is_none_or(Option::is_none)
                    && let Ok((_, item)) = item.to_field(&schema)
                {
                    let item = Arc::new(item.as_ref().clone().with_name("item").with_nullable(true));
                    inferred.insert(array.id.clone(), Some(Arc::new(Field::new("", ArrowType::List(item), true))));
                }
                if let Expr::Cast(Cast { expr, field }) = expr
                    && let Expr::Placeholder(placeholder) = expr.as_ref()
                    && !is_named_object(field)
                    && !items.contains(&placeholder.id)
                {
                    inferred.insert(placeholder.id.clone(), Some(Arc::clone(field)));
                    // The first of several casts says it.
                    items.push(placeholder.id.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .map_err(from_datafusion)?;
    Ok(())
}

/// Types the parameters that are items of a column of VALUES, as they come from the planner: those
/// with a cast of the statement's are wrapped.
fn infer_items(
    column: &[&Expr],
    schema: &DFSchema,
    inferred: &mut HashMap<String, Option<FieldRef>>,
    items: &mut Vec<String>,
) {
    let bare = |expr: &&Expr| match expr {
        Expr::Cast(cast) if matches!(cast.expr.as_ref(), Expr::Placeholder(_)) => cast.expr.as_ref().clone(),
        expr => without_wrapping((*expr).clone()),
    };
    let bare: Vec<Expr> = column.iter().map(bare).collect();
    let Some(common) = common_field(&bare.iter().collect::<Vec<_>>(), schema) else { return };
    for expr in &bare {
        if let Expr::Placeholder(placeholder) = expr {
            inferred.insert(placeholder.id.clone(), Some(Arc::clone(&common)));
            items.push(placeholder.id.clone());
        }
    }
}

/// Gives parameters that are columns of a branch of UNION the types of other branches' columns.
fn infer_branches(inputs: &[Arc<LogicalPlan>], inferred: &mut HashMap<String, Option<FieldRef>>) {
    let item = |input: &LogicalPlan, place: usize| match input {
        LogicalPlan::Projection(projection) => projection.expr.get(place).map(|expr| expr.clone().unalias()),
        _ => None,
    };
    let width = inputs.first().map_or(0, |input| input.schema().fields().len());
    for place in 0..width {
        let field = || {
            inputs.iter().find_map(|input| match (item(input, place), input.as_ref()) {
                (Some(expr), LogicalPlan::Projection(projection)) => common_field(&[&expr], projection.input.schema()),
                _ => input.schema().fields().get(place).cloned(),
            })
        };
        for input in inputs {
            if let Some(Expr::Placeholder(placeholder)) = item(input, place)
                && inferred.get(&placeholder.id).is_none_or(Option::is_none)
                && let Some(field) = field()
            {
                inferred.insert(placeholder.id.clone(), Some(field));
            }
        }
    }
}

/// Gives parameters among expressions of one type that of the others.
fn infer_alike(exprs: &[&Expr], schema: &DFSchema, inferred: &mut HashMap<String, Option<FieldRef>>) {
    let mut common = None;
    for expr in exprs {
        let Expr::Placeholder(placeholder) = expr else { continue };
        if inferred.get(&placeholder.id).is_some_and(Option::is_some) {
            continue;
        }
        let common = common.get_or_insert_with(|| common_field(exprs, schema));
        if let Some(field) = common {
            inferred.insert(placeholder.id.clone(), Some(Arc::clone(field)));
        }
    }
}

/// Gives parameters of a series the types of its other arguments: the step between two moments is
/// an interval, that between numbers is one of them.
fn infer_series(args: &[Expr], schema: &DFSchema, inferred: &mut HashMap<String, Option<FieldRef>>) {
    let bounds: Vec<&Expr> = args.iter().take(2).collect();
    let Some(step) = args.get(2) else { return infer_alike(&bounds, schema, inferred) };
    let typed = |arg: &Expr, inferred: &HashMap<String, Option<FieldRef>>| match arg {
        Expr::Placeholder(placeholder) => {
            inferred.get(&placeholder.id)?.as_ref().map(|field| field.data_type().clone())
        }
        arg => common_field(&[arg], schema).map(|field| field.data_type().clone()),
    };
    let is_interval = |data_type: Option<ArrowType>| matches!(data_type, Some(ArrowType::Interval(_)));
    let of_moments = is_interval(typed(step, inferred))
        || bounds.iter().any(|bound| typed(bound, inferred).is_some_and(|data_type| data_type.is_temporal()));
    if !of_moments {
        return infer_alike(&args.iter().collect::<Vec<_>>(), schema, inferred);
    }
    infer_alike(&bounds, schema, inferred);
    let mut infer = |arg: &Expr, name: &str| {
        if let (Expr::Placeholder(placeholder), Some(data_type)) = (arg, type_by_name(name).and_then(arrow_type))
            && inferred.get(&placeholder.id).is_none_or(Option::is_none)
        {
            inferred.insert(placeholder.id.clone(), Some(Arc::new(Field::new("", data_type, true))));
        }
    };
    infer(step, "interval");
    bounds.iter().for_each(|bound| infer(bound, "timestamptz"));
}

/// Whether values are written as names that only the catalog knows (`regclass`): the cast looks
/// them up, in a text.
fn is_named_object(field: &Field) -> bool {
    field.metadata().get(POSTGRES_TYPE).is_some_and(|name| name.starts_with("reg"))
}

fn known(name: &str) -> Result<&'static PostgresType> {
    type_by_name(name).ok_or_else(|| Error::new(SqlState::INTERNAL_ERROR, format!("there is no type {name}")))
}

/// A type that a parameter can have: not the one of NULL.
fn known_type(field: &Field) -> Option<&'static PostgresType> {
    if field.data_type().is_null() {
        return None;
    }
    type_of(field)
}

/// The parameters that stand alone in LIMIT, OFFSET and FETCH, which are int8.
#[derive(Default)]
struct Limits(Vec<usize>);

impl Limits {
    fn of(query: &ast::Statement) -> Self {
        let mut limits = Self::default();
        let _walked = visit(query, &mut limits);
        limits
    }
}

impl Visitor for Limits {
    type Break = ();

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
        let (limit, offset) = match &query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => (limit.as_ref(), offset.as_ref().map(|o| &o.value)),
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
            None => (None, None),
        };
        let fetch = query.fetch.as_ref().and_then(|fetch| fetch.quantity.as_ref());
        self.0.extend([limit, offset, fetch].into_iter().flatten().filter_map(number_of));
        ControlFlow::Continue(())
    }
}

/// The type as the parser would have read it.
pub fn data_type(ty: &PostgresType) -> DataType {
    if let Some(element) = type_by_oid_of_element(ty) {
        return DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(data_type(element)), None));
    }
    match ty.name {
        "bool" => DataType::Boolean,
        "int2" => DataType::SmallInt(None),
        "int4" => DataType::Integer(None),
        "int8" => DataType::BigInt(None),
        "float4" => DataType::Real,
        "float8" => DataType::DoublePrecision,
        "text" | "varchar" | "bpchar" | "unknown" => DataType::Text,
        "bytea" => DataType::Bytea,
        "uuid" => DataType::Uuid,
        "date" => DataType::Date,
        "time" => DataType::Time(None, TimezoneInfo::None),
        "timestamp" => DataType::Timestamp(None, TimezoneInfo::None),
        "timestamptz" => DataType::Timestamp(None, TimezoneInfo::WithTimeZone),
        name => DataType::Custom(ObjectName::from(vec![Ident::new(name)]), Vec::new()),
    }
}

fn type_by_oid_of_element(ty: &PostgresType) -> Option<&'static PostgresType> {
    if ty.is_vector() { None } else { ty.element() }
}

/// The plan with values in the place of its parameters, each of the type that the parameter was
/// said to have.
///
/// Unlike `LogicalPlan::with_param_values`, whose bare literals the analyzer takes for numbers of
/// the statement's text.
pub fn with_values(plan: LogicalPlan, types: &[&'static PostgresType], values: &[SqlValue]) -> Result<LogicalPlan> {
    if values.is_empty() {
        return Ok(plan);
    }
    let values = values.iter().zip(types).map(|(value, ty)| {
        let array = value.to_array(ty)?;
        ScalarValue::try_from_array(&array, 0).map_err(from_datafusion)
    });
    let values = values.collect::<Result<Vec<_>>>()?;
    // Whether the columns of a node so far may be others, as to NULL: those above are made of them.
    let mut changes_columns = false;
    let bound = plan.transform_up_with_subqueries(|node| bind(node, &values, &mut changes_columns)).data();
    bound.map_err(from_datafusion)
}

/// Puts values in the place of the parameters of one node, whose columns keep their names.
fn bind(
    node: LogicalPlan,
    values: &[ScalarValue],
    changes_columns: &mut bool,
) -> datafusion::common::Result<Transformed<LogicalPlan>> {
    // A limit is counted, so that only its value matters, and the planner wants it bare.
    let is_limit = matches!(node, LogicalPlan::Limit(_));
    // Names of columns are not those of its items, and casts have to be seen.
    let is_values = matches!(node, LogicalPlan::Values(_));
    let names = NamePreserver::new(&node);
    let bound = node.map_expressions(|expr| {
        if !expr.exists(|expr| Ok(matches!(expr, Expr::Placeholder(_))))? {
            return Ok(Transformed::no(expr));
        }
        let name = names.save(&expr);
        let bound = expr.transform_up(|expr| match expr {
            Expr::Placeholder(placeholder) => {
                let value = value_of_placeholder(&placeholder.id, values)?;
                Ok(Transformed::yes(if is_limit { Expr::Literal(value, None) } else { typed_constant(value) }))
            }
            Expr::Like(like) => Ok(like_value(like)),
            expr => Ok(Transformed::no(expr)),
        })?;
        Ok(if is_values { bound } else { bound.update_data(|expr| name.restore(expr)) })
    })?;
    *changes_columns |= bound.transformed && !matches!(bound.data, LogicalPlan::Filter(_));
    if !*changes_columns {
        return Ok(bound);
    }
    bound.map_data(|node| match node {
        // Their types come from their rows.
        LogicalPlan::Values(rows) => LogicalPlanBuilder::values(rows.values)?.build(),
        node => node.recompute_schema(),
    })
}

fn value_of_placeholder(id: &str, values: &[ScalarValue]) -> datafusion::common::Result<ScalarValue> {
    let place = id.strip_prefix('$').and_then(|number| number.parse::<usize>().ok()).and_then(|at| at.checked_sub(1));
    match place.and_then(|place| values.get(place)) {
        Some(value) => Ok(value.clone()),
        None => plan_err!("there is no parameter {id}"),
    }
}

/// The text of a literal in quotes: it has no type but that of the parameter, in whose text form it
/// is written ("lexical structure, constants of other types", PostgreSQL).
fn quoted_text(expr: &ast::Expr) -> Option<&str> {
    let ast::Expr::Value(literal) = expr else { return None };
    match &literal.value {
        ast::Value::SingleQuotedString(text)
        | ast::Value::EscapedStringLiteral(text)
        | ast::Value::UnicodeStringLiteral(text) => Some(text),
        ast::Value::DollarQuotedString(quoted) => Some(&quoted.value),
        _ => None,
    }
}

/// The value of an expression without columns, as a value of a type.
pub async fn value_of(
    state: &SessionState,
    expr: &ast::Expr,
    ty: &'static PostgresType,
    style: &TextStyle,
) -> Result<SqlValue> {
    if let Some(text) = quoted_text(expr) {
        return parse_text(ty, text, style).map_err(Error::from);
    }
    let planned = state
        .statement_to_plan(ParsedStatement::Statement(Box::new(select_of(expr.clone())?)))
        .await
        .map_err(from_datafusion)?;
    let LogicalPlan::Projection(projection) = &planned else {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("an argument has to be a plain value, not {expr}"),
        ));
    };
    let expr = match projection.expr.as_slice() {
        [expr] if holds_subquery(expr) => {
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "cannot use subquery in EXECUTE parameter"));
        }
        [expr] => expr.clone(),
        _ => return Err(Error::new(SqlState::INTERNAL_ERROR, "an expression was planned as several")),
    };
    let expr = match arrow_type(ty) {
        Some(wanted) => datafusion::logical_expr::cast(expr, wanted),
        None => expr,
    };
    let plan = LogicalPlanBuilder::from(Arc::clone(&projection.input)).project([expr]);
    let plan = plan.and_then(LogicalPlanBuilder::build).map_err(from_datafusion)?;
    let plan = state.create_physical_plan(&plan).await.map_err(from_datafusion)?;
    let batches = collect(plan, state.task_ctx()).await.map_err(from_datafusion)?;
    let Some(value) = batches.iter().find(|batch| batch.num_rows() == 1).map(|batch| batch.column(0)) else {
        return Err(Error::new(SqlState::INTERNAL_ERROR, "an expression gave no value"));
    };
    if value.is_null(0) {
        return Ok(SqlValue::Null);
    }
    let field = Field::new("value", value.data_type().clone(), true);
    match text_value(&field, value, 0, style).map_err(Error::from)? {
        Some(text) => Ok(parse_text(ty, &text, style).map_err(Error::from)?),
        None => Ok(SqlValue::Null),
    }
}
