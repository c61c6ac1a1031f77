//! Nodes of the syntax tree, as rewrites make and read them.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArgumentClause, Ident, ObjectName, ObjectNamePart,
    Query, Select, SelectItem, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins, Value,
};

use crate::syntax::{call_of, plain_call, plain_select};

/// The last part of a name, in lower case unless it is quoted.
pub(super) fn last_word(name: &ObjectName) -> String {
    match name.0.last().and_then(|part| part.as_ident()) {
        Some(ident) if ident.quote_style.is_none() => ident.value.to_lowercase(),
        Some(ident) => ident.value.clone(),
        None => String::new(),
    }
}

/// A name as the resolved statement writes it.
pub(super) fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

pub(super) fn null() -> Expr {
    Expr::Value(Value::Null.into())
}

pub(super) fn text(value: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(value.to_owned()).into())
}

pub(super) fn name_of(name: &str) -> ObjectName {
    ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))])
}

/// A call of a function by its bare name.
pub(super) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    plain_call(name_of(name), arguments)
}

/// Puts an expression through `coalesce` of itself alone, once or more often: another name for the
/// same value.
pub(super) fn in_coalesce(expr: &mut Expr, times: usize) {
    for _ in 0..times {
        let inner = std::mem::replace(expr, null());
        *expr = call("coalesce", vec![inner]);
    }
}

pub(super) fn call_with(name: &str, arguments: Vec<Expr>, clauses: Vec<FunctionArgumentClause>) -> Expr {
    let args = arguments.into_iter().map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))).collect();
    call_of(name_of(name), args, clauses)
}

pub(super) fn number(digits: &str) -> Expr {
    Expr::value(Value::Number(digits.to_owned(), false))
}

pub(super) fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

/// `(query) AS name(columns)`
pub(super) fn derived(query: Query, name: &str, columns: &[String], lateral: bool) -> TableFactor {
    let columns = columns.iter().map(|name| TableAliasColumnDef { name: quoted(name), data_type: None }).collect();
    TableFactor::Derived {
        lateral,
        subquery: Box::new(query),
        alias: Some(TableAlias { explicit: true, name: quoted(name), columns, at: None }),
        sample: None,
    }
}

/// `SELECT items FROM relations`
pub(super) fn select(projection: Vec<SelectItem>, relations: Vec<TableFactor>) -> Select {
    let from = relations.into_iter().map(|relation| TableWithJoins { relation, joins: Vec::new() });
    plain_select(projection, from.collect())
}
