//! Set-returning functions, in the select list and in FROM.
//!
//! The planner knows one of them, `unnest`; the others become `unnest` of a function that returns
//! an array.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Select,
    SelectItem, SetExpr, TableAlias, TableAliasColumnDef, TableFactor, TableFunctionArgs, TimezoneInfo, Value,
    WindowSpec, WindowType,
};

use super::ast::{call, derived, last_word, name_of, quoted, select, text};
use crate::functions::system::ARRAY_ORDINALS;
use crate::functions::{GENERATE_SERIES as SERIES, Moment, OF_BIGINT};
use crate::syntax::{plain_query, plain_table, visit_expressions};

/// A set-returning function, the one that returns its rows as an array, and its columns if it has
/// several.
struct SetReturningFunction {
    name: &'static str,
    array: &'static str,
    columns: &'static [&'static str],
}

const SET_RETURNING: &[SetReturningFunction] = &[
    SetReturningFunction { name: SERIES, array: SERIES, columns: &[] },
    SetReturningFunction { name: "generate_subscripts", array: "generate_subscripts", columns: &[] },
    SetReturningFunction { name: "regexp_split_to_table", array: "regexp_split_to_array", columns: &[] },
    SetReturningFunction { name: "regexp_matches", array: "regexp_matches", columns: &[] },
    SetReturningFunction { name: "json_array_elements", array: "json_array_elements", columns: &[] },
    SetReturningFunction { name: "json_array_elements_text", array: "json_array_elements_text", columns: &[] },
    SetReturningFunction { name: "jsonb_array_elements", array: "jsonb_array_elements", columns: &[] },
    SetReturningFunction { name: "jsonb_array_elements_text", array: "jsonb_array_elements_text", columns: &[] },
    SetReturningFunction { name: "json_object_keys", array: "json_object_keys", columns: &[] },
    SetReturningFunction { name: "jsonb_object_keys", array: "jsonb_object_keys", columns: &[] },
    SetReturningFunction { name: "json_each", array: "json_each", columns: PAIR },
    SetReturningFunction { name: "jsonb_each", array: "jsonb_each", columns: PAIR },
    SetReturningFunction { name: "json_each_text", array: "json_each_text", columns: PAIR },
    SetReturningFunction { name: "jsonb_each_text", array: "jsonb_each_text", columns: PAIR },
    SetReturningFunction { name: "jsonb_path_query", array: "jsonb_path_query", columns: &[] },
    SetReturningFunction { name: "string_to_table", array: "string_to_array", columns: &[] },
    SetReturningFunction { name: "_pg_expandarray", array: "_pg_expandarray", columns: &["x", "n"] },
    SetReturningFunction {
        name: "aclexplode",
        array: "aclexplode",
        columns: &["grantor", "grantee", "privilege_type", "is_grantable"],
    },
];

const PAIR: &[&str] = &["key", "value"];

const UNNEST: &str = "unnest";

fn set_returning(name: &str) -> Option<&'static SetReturningFunction> {
    SET_RETURNING.iter().find(|function| function.name == name)
}

/// A call in an expression: of a set-returning function it becomes `unnest` of the function that
/// returns an array.
pub(super) fn rows_of(mut function: Function) -> Expr {
    match set_returning(&last_word(&function.name)) {
        Some(known) if function.over.is_none() => {
            function.name = name_of(known.array);
            call(UNNEST, vec![Expr::Function(function)])
        }
        _ => Expr::Function(function),
    }
}

/// A call in FROM becomes a subquery with the call in its select list, which may refer to what
/// stands to its left.
///
/// Calls of functions that are tables stay, and so does `generate_series` between constants, which
/// makes its rows as they are read.
pub(super) fn relation_of_function(factor: &mut TableFactor) {
    let (arrays, known, ordinality, alias) = match factor {
        TableFactor::UNNEST { array_exprs, with_ordinality, alias, .. } => {
            (array_exprs.clone(), None, *with_ordinality, alias.take())
        }
        TableFactor::Table { name, args: Some(args), with_ordinality, alias, .. } => {
            let name = last_word(name);
            let Some(arguments) = plain_arguments(&args.args) else { return };
            match (name.as_str(), set_returning(&name)) {
                (UNNEST, _) => (arguments, None, *with_ordinality, alias.take()),
                (SERIES, _) if arguments.iter().all(is_constant) => {
                    for argument in &mut args.args {
                        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument {
                            keep_moment(expr);
                        }
                    }
                    if arguments.iter().any(is_bigint) {
                        args.args.push(FunctionArg::Unnamed(FunctionArgExpr::Expr(text(OF_BIGINT))));
                    }
                    if *with_ordinality {
                        let args = args.args.clone();
                        *factor = numbered_series(args, alias.take());
                    } else {
                        name_series(alias);
                    }
                    return;
                }
                (_, Some(known)) => {
                    let array = call(known.array, arguments);
                    (vec![array], Some(known), *with_ordinality, alias.take())
                }
                (_, None) => return,
            }
        }
        TableFactor::Function { name, args, with_ordinality, alias, .. } => {
            let name = last_word(name);
            let Some(arguments) = plain_arguments(args) else { return };
            match (name.as_str(), set_returning(&name)) {
                (UNNEST, _) => (arguments, None, *with_ordinality, alias.take()),
                (_, Some(known)) => {
                    let array = call(known.array, arguments);
                    (vec![array], Some(known), *with_ordinality, alias.take())
                }
                (_, None) => return,
            }
        }
        _ => return,
    };
    let function = known.map_or(UNNEST, |known| known.name);
    // FULL and RIGHT JOIN take no LATERAL.
    let is_lateral = arrays.iter().any(names_columns);
    let alias_name = alias.as_ref().map_or_else(|| function.to_owned(), |alias| alias.name.value.clone());
    let mut columns: Vec<String> = match known {
        Some(known) if !known.columns.is_empty() => known.columns.iter().map(|name| (*name).to_owned()).collect(),
        // One column is named after the alias.
        _ if arrays.len() == 1 => vec![alias_name.clone()],
        _ => (1..=arrays.len()).map(|i| if i == 1 { UNNEST.to_owned() } else { format!("{UNNEST}_{i}") }).collect(),
    };
    if ordinality {
        columns.push("ordinality".to_owned());
    }
    if let Some(alias) = &alias {
        for (column, named) in columns.iter_mut().zip(&alias.columns) {
            *column = named.name.value.clone();
        }
    }
    let mut values: Vec<Expr> = match (known, arrays.as_slice()) {
        (Some(known), [array]) if !known.columns.is_empty() => {
            known.columns.iter().map(|column| field(call(UNNEST, vec![array.clone()]), column)).collect()
        }
        _ => arrays.iter().map(|array| call(UNNEST, vec![array.clone()])).collect(),
    };
    if ordinality {
        values.push(call(UNNEST, vec![call(ARRAY_ORDINALS, arrays)]));
    }
    let items =
        values.into_iter().zip(&columns).map(|(expr, name)| SelectItem::ExprWithAlias { expr, alias: quoted(name) });
    let query = plain_query(SetExpr::Select(Box::new(select(items.collect(), Vec::new()))));
    *factor = derived(query, &alias_name, &columns, is_lateral);
}

/// Literals of moments, which the planner would read itself, in no zone, go to the function as
/// texts that say their types.
fn keep_moment(expr: &mut Expr) {
    let (value, data_type) = match &*expr {
        Expr::Cast { expr, data_type, format: None, .. } => match expr.as_ref() {
            Expr::Value(value) => (value, data_type),
            _ => return,
        },
        Expr::TypedString(typed) => (&typed.value, &typed.data_type),
        _ => return,
    };
    use TimezoneInfo::{None as Unsaid, Tz, WithTimeZone, WithoutTimeZone};
    let moment = match data_type {
        DataType::Date => Moment::Date,
        DataType::Timestamp(None, Unsaid | WithoutTimeZone) => Moment::Timestamp,
        DataType::Timestamp(None, WithTimeZone | Tz) => Moment::TimestampTz,
        _ => return,
    };
    if let Value::SingleQuotedString(text) = &value.value {
        *expr = Expr::value(Value::SingleQuotedString(moment.marked(text)));
    }
}

/// Whether the constant is a bigint by a cast, which the planner would forget: it has all integers
/// as such.
fn is_bigint(mut expr: &Expr) -> bool {
    let is_cast = |expr: &Expr| match expr {
        Expr::Cast { data_type, .. } => matches!(data_type, DataType::BigInt(None) | DataType::Int8(None)),
        _ => false,
    };
    while !is_cast(expr) {
        expr = match expr {
            Expr::BinaryOp { right, .. } if is_cast(right) => return true,
            Expr::BinaryOp { left: inner, .. } | Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => inner,
            _ => return false,
        };
    }
    true
}

/// A series between constants with the numbers of its rows.
fn numbered_series(args: Vec<FunctionArg>, alias: Option<TableAlias>) -> TableFactor {
    let name = alias.as_ref().map_or_else(|| SERIES.to_owned(), |alias| alias.name.value.clone());
    let given = alias.iter().flat_map(|alias| &alias.columns).map(|column| column.name.value.clone());
    let mut columns: Vec<String> = given.take(2).collect();
    if columns.is_empty() {
        columns.push(name.clone());
    }
    if columns.len() == 1 {
        columns.push("ordinality".to_owned());
    }
    let mut number = call("row_number", Vec::new());
    if let Expr::Function(function) = &mut number {
        let whole =
            WindowSpec { window_name: None, partition_by: Vec::new(), order_by: Vec::new(), window_frame: None };
        function.over = Some(WindowType::WindowSpec(whole));
    }
    let mut alias = None;
    name_series(&mut alias);
    let from = plain_table(name_of(SERIES), Some(TableFunctionArgs { args, settings: None }), alias);
    let values = [Expr::Identifier(quoted(SERIES)), number].into_iter().zip(&columns);
    let items = values.map(|(expr, column)| SelectItem::ExprWithAlias { expr, alias: quoted(column) });
    let query = plain_query(SetExpr::Select(Box::new(select(items.collect(), vec![from.relation]))));
    derived(query, &name, &columns, false)
}

/// A series between constants, in the select list of a query without FROM, goes to FROM, where it
/// makes its rows as they are read: as an array it would be there as a whole.
pub(super) fn series_to_from(select: &mut Select) {
    let ungrouped = matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    if !select.from.is_empty() || !ungrouped || select.having.is_some() {
        return;
    }
    let mut series = None;
    for item in &mut select.projection {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { return };
        match expr {
            Expr::Function(function) if is_constant_series(function) && series.is_none() => series = Some(expr),
            expr if is_constant(expr) => {}
            _ => return,
        }
    }
    let Some(place) = series else { return };
    let Expr::Function(function) = std::mem::replace(place, Expr::Identifier(quoted(SERIES))) else { return };
    let FunctionArguments::List(arguments) = function.args else { return };
    let arguments = TableFunctionArgs { args: arguments.args, settings: None };
    select.from = vec![plain_table(name_of(SERIES), Some(arguments), None)];
}

fn is_constant_series(function: &Function) -> bool {
    let FunctionArguments::List(arguments) = &function.args else { return false };
    let plain = plain_arguments(&arguments.args);
    last_word(&function.name) == SERIES
        && function.over.is_none()
        && function.filter.is_none()
        && plain.is_some_and(|arguments| arguments.iter().all(is_constant))
}

/// PostgreSQL names the one column of `generate_series(...) AS g` after the alias.
fn name_series(alias: &mut Option<TableAlias>) {
    match alias {
        None => {
            let name = quoted(SERIES);
            let column = TableAliasColumnDef { name: name.clone(), data_type: None };
            *alias = Some(TableAlias { explicit: true, name, columns: vec![column], at: None });
        }
        Some(alias) if alias.columns.is_empty() => {
            let name = alias.name.clone();
            alias.columns.push(TableAliasColumnDef { name, data_type: None });
        }
        Some(_) => {}
    }
}

fn field(row: Expr, name: &str) -> Expr {
    let access_chain = vec![AccessExpr::Dot(text(name))];
    Expr::CompoundFieldAccess { root: Box::new(row), access_chain }
}

fn plain_arguments(arguments: &[FunctionArg]) -> Option<Vec<Expr>> {
    let plain = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    arguments.iter().map(plain).collect()
}

/// Whether a column may be named in it, or a query is in it that may name one.
fn names_columns(expr: &Expr) -> bool {
    visit_expressions(expr, |inner| match inner {
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::CompoundFieldAccess { .. }
        | Expr::Subquery(_)
        | Expr::Exists { .. }
        | Expr::InSubquery { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .is_break()
}

/// Nothing in it but literals, casts and signs.
fn is_constant(expr: &Expr) -> bool {
    visit_expressions(expr, |inner| match inner {
        Expr::Value(value) if matches!(value.value, Value::Placeholder(_)) => ControlFlow::Break(()),
        Expr::Value(_)
        | Expr::Cast { .. }
        | Expr::UnaryOp { .. }
        | Expr::TypedString(_)
        | Expr::Interval(_)
        | Expr::Nested(_) => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    })
    .is_continue()
}

/// Whether a function in FROM gives rows, as many as it likes.
pub fn returns_rows(name: &str) -> bool {
    name == UNNEST || set_returning(name).is_some() || crate::functions::system::table_function_columns(name).is_some()
}

/// The columns of a function in FROM that has several; of any other there is one, named after it.
pub fn function_columns(name: &str) -> Option<Vec<String>> {
    let columns = match set_returning(name) {
        Some(known) if !known.columns.is_empty() => known.columns.iter().map(|column| (*column).to_owned()).collect(),
        Some(known) if known.name.contains("_array_elements") => vec!["value".to_owned()],
        Some(_) => return None,
        None => crate::functions::system::table_function_columns(name)?,
    };
    Some(columns)
}
