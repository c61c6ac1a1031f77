//! The types of parameters by what stands beside them in a plan.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};

use crate::error::from_datafusion;
use crate::functions::{GENERATE_SERIES, common_field, compares_items, is_of_one_type, without_wrapping};
use crate::types::{POSTGRES_TYPE, arrow_type, oid, type_by_name, type_of};
use rowkey_base::Result;

/// Whether no parameter that was taken for an interval is added to a date, which a number is added
/// to as well.
pub(super) fn moves_moments(plan: &LogicalPlan) -> Result<bool> {
    let mut are_moments = true;
    let is_parameter =
        |expr: &Expr| matches!(expr, Expr::Cast(cast) if matches!(cast.expr.as_ref(), Expr::Placeholder(_)));
    let walked = plan.apply_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                let operands: Vec<&Expr> = match expr {
                    Expr::ScalarFunction(call) => call.args.iter().collect(),
                    Expr::BinaryExpr(binary) => vec![&binary.left, &binary.right],
                    _ => Vec::new(),
                };
                if let [left, right] = operands.as_slice()
                    && let Some(other) = is_parameter(left).then_some(right).or(is_parameter(right).then_some(left))
                {
                    are_moments &= other.get_type(&schema).is_ok_and(|ty| ty != ArrowType::Date32);
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    });
    walked.map_err(from_datafusion)?;
    Ok(are_moments)
}

/// What the planner takes parameters for where they stand first, and whether it takes each for the
/// same wherever it stands.
pub(super) fn parameter_fields(plan: &LogicalPlan) -> Result<(HashMap<String, Option<FieldRef>>, bool)> {
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

pub(super) fn is_comparison(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// What DataFusion does not infer: `$1::int2` is of that type, in `x = ANY ($1)` the parameter is
/// an array of what x is, and in `coalesce($1, x)`, CASE and VALUES it is what the others are.
pub(super) fn infer_more(plan: &LogicalPlan, inferred: &mut HashMap<String, Option<FieldRef>>) -> Result<()> {
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
                    Expr::BinaryExpr(BinaryExpr { left, op, right })
                        if is_comparison(*op) && infer_char([left, right], &schema, inferred) => {}
                    // Of a `char(n)` a pattern has all its blanks.
                    Expr::Like(like) => {
                        if let Expr::Placeholder(pattern) = like.pattern.as_ref()
                            && inferred.get(&pattern.id).is_some_and(|field| field.as_deref().is_some_and(is_char))
                        {
                            let text = Arc::new(Field::new("", ArrowType::Utf8View, true));
                            inferred.insert(pattern.id.clone(), Some(text));
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
                    && compares_items(call.func.name())
                {
                    infer_compared_items(&call.args, &schema, inferred);
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

fn is_char(field: &Field) -> bool {
    type_of(field).is_some_and(|ty| ty.oid == oid::BPCHAR)
}

/// Gives a parameter that is compared with a `char(n)` the type of that, whose blanks at the end do
/// not count. Whether there is one.
fn infer_char(operands: [&Expr; 2], schema: &DFSchema, inferred: &mut HashMap<String, Option<FieldRef>>) -> bool {
    let ((Expr::Placeholder(placeholder), other) | (other, Expr::Placeholder(placeholder))) =
        (operands[0], operands[1])
    else {
        return false;
    };
    let field = other.to_field(schema).map(|(_, field)| field);
    match field.ok().filter(|field| is_char(field)) {
        Some(field) => {
            inferred.insert(placeholder.id.clone(), Some(field));
            true
        }
        None => false,
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

/// An array and what is compared with its items have each other's types.
fn infer_compared_items(args: &[Expr], schema: &DFSchema, inferred: &mut HashMap<String, Option<FieldRef>>) {
    let [array, item] = args else { return };
    let (placeholder, field) = match (array, item) {
        (Expr::Placeholder(array), item) => {
            let Ok((_, item)) = item.to_field(schema) else { return };
            let item = Arc::new(item.as_ref().clone().with_name("item").with_nullable(true));
            (array, Arc::new(Field::new("", ArrowType::List(item), true)))
        }
        (array, Expr::Placeholder(item)) => match array.to_field(schema) {
            Ok((_, array)) => match array.data_type() {
                ArrowType::List(field) => (item, Arc::clone(field)),
                _ => return,
            },
            Err(_) => return,
        },
        _ => return,
    };
    if inferred.get(&placeholder.id).is_none_or(Option::is_none) {
        inferred.insert(placeholder.id.clone(), Some(field));
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
