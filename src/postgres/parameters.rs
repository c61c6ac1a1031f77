//! `$1`, `$2` and so on: their types before, and their values when a statement runs.

mod beside;
mod contexts;
mod inference;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::Array;
use arrow::datatypes::Field;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Statement as StatementPlanner,
};
use datafusion::physical_plan::collect;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{
    self, ArrayElemTypeDef, DataType, ExactNumberInfo, Ident, LimitClause, ObjectName, TimezoneInfo, Value, Visitor,
};

use inference::{infer_more, is_comparison, moves_moments, parameter_fields};

use crate::ctes::gathered;
use crate::functions::{like_value, typed_constant};
use crate::types::{PostgresType, SqlValue, TextStyle, arrow_type, parse_text, text_value, type_by_name, type_of};
use rowkey_base::{Error, Result, SqlState};

use crate::desugar::holds_subquery;
use crate::error::{external, from_datafusion};
use crate::plan_size::{refuse_large, refuse_many_expressions, refuse_many_subqueries};
use crate::syntax::{count, number_of, plain_cast, select_of, visit, visit_expressions_mut};

/// Most bytes of the copies of a parameter's value in a plan.
const COPIED_BYTES_MAX: usize = 16 << 20;

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
        beside::type_beside(&mut query, declared);
        let is_open = |number: usize| number > 0 && declared(number - 1).is_none();
        contexts::type_in_contexts(&mut query, is_open);
        // Where a parameter alone decides the type of an expression, this fails, and the types are
        // tried below.
        let mut plan = state.statement_to_plan(ParsedStatement::Statement(Box::new(query.clone()))).await;
        if plan.is_err() {
            let mut of_moments = query.clone();
            if contexts::type_intervals(&mut of_moments, is_open)
                && let Ok(planned) =
                    state.statement_to_plan(ParsedStatement::Statement(Box::new(of_moments.clone()))).await
                && moves_moments(&planned)?
            {
                (plan, query) = (Ok(planned), of_moments);
            }
        }
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
    contexts::type_in_values(&mut query, &types);
    contexts::type_operands(&mut query, &types);
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

/// The type that a cast names, if it has no length and its values are held in one way.
pub fn type_of_cast(data_type: &DataType) -> Option<&'static PostgresType> {
    type_by_name(match data_type {
        DataType::Bool | DataType::Boolean => "bool",
        DataType::SmallInt(None) | DataType::Int2(None) => "int2",
        DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) => "int4",
        DataType::BigInt(None) | DataType::Int8(None) => "int8",
        DataType::DoublePrecision | DataType::Float8 | DataType::Float(ExactNumberInfo::None) => "float8",
        DataType::Text => "text",
        DataType::Varchar(None) | DataType::CharacterVarying(None) => "varchar",
        DataType::Bytea => "bytea",
        DataType::Uuid => "uuid",
        DataType::Timestamp(None, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone) => "timestamptz",
        _ => return None,
    })
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
        Ok(match ScalarValue::try_from_array(&array, 0).map_err(from_datafusion)? {
            // The digits behind the point are those of what stands beside it.
            ScalarValue::Decimal128(None, precision, _) => ScalarValue::Decimal128(None, precision, 0),
            // As NaNs are stored.
            ScalarValue::Float64(Some(value)) if value.is_nan() => ScalarValue::Float64(Some(f64::NAN)),
            ScalarValue::Float32(Some(value)) if value.is_nan() => ScalarValue::Float32(Some(f32::NAN)),
            value => value,
        })
    });
    let values = values.collect::<Result<Vec<_>>>()?;
    let mut bound = Bound { values: &values, bytes: vec![0; values.len()], changes_columns: false };
    let plan = plan.transform_up_with_subqueries(|node| bind(node, &mut bound)).data();
    plan.map_err(from_datafusion)
}

/// Values that are being put in the place of parameters.
struct Bound<'a> {
    values: &'a [ScalarValue],
    /// What the copies of each take so far.
    bytes: Vec<usize>,
    /// Whether the columns of a node so far may be others, as to NULL: those above are made of
    /// them.
    changes_columns: bool,
}

impl Bound<'_> {
    /// The value of a parameter once more. Rules of the planner copy a plan with its values: many
    /// copies of a long one are too many.
    fn value(&mut self, id: &str) -> datafusion::common::Result<ScalarValue> {
        let place = place_of(id);
        let value = place.and_then(|place| Some((self.values.get(place)?, self.bytes.get_mut(place)?)));
        let Some((value, bytes)) = value else { return plan_err!("there is no parameter {id}") };
        let is_copy = *bytes > 0;
        *bytes = bytes.saturating_add(value.size());
        if is_copy && *bytes > COPIED_BYTES_MAX {
            let message = format!("parameter {id} has {} bytes and is used too often for that", value.size());
            let hint = format!(
                "the places of a parameter have {COPIED_BYTES_MAX} bytes together: compute what uses it in a subquery \
                 in FROM, or a WITH query"
            );
            return Err(external(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message).with_hint(hint)));
        }
        Ok(value.clone())
    }
}

/// Puts values in the place of the parameters of one node, whose columns keep their names.
fn bind(node: LogicalPlan, values: &mut Bound) -> datafusion::common::Result<Transformed<LogicalPlan>> {
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
                let value = values.value(&placeholder.id)?;
                Ok(Transformed::yes(if is_limit { Expr::Literal(value, None) } else { typed_constant(value) }))
            }
            Expr::Like(like) => Ok(like_value(like)),
            expr => Ok(Transformed::no(expr)),
        })?;
        Ok(if is_values { bound } else { bound.update_data(|expr| name.restore(expr)) })
    })?;
    values.changes_columns |= bound.transformed && !matches!(bound.data, LogicalPlan::Filter(_));
    if !values.changes_columns {
        return Ok(bound);
    }
    bound.map_data(|node| match node {
        // Their types come from their rows.
        LogicalPlan::Values(rows) => LogicalPlanBuilder::values(rows.values)?.build(),
        node => node.recompute_schema(),
    })
}

/// The place of a parameter among the values, by its name in a plan: `$1` is the first.
pub fn place_of(id: &str) -> Option<usize> {
    id.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)
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
    // A numeric has the digits that it is given with.
    let is_exact = ty.name == "numeric"
        && expr.get_type(projection.input.schema()).is_ok_and(|given| given.is_decimal() || given.is_integer());
    let expr = match arrow_type(ty) {
        Some(wanted) if !is_exact => datafusion::logical_expr::cast(expr, wanted),
        _ => expr,
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
