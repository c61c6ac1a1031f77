//! `EXCEPT ALL` and `INTERSECT ALL`, which the planner answers wrongly: for it duplicates on the
//! right do not count.
//!
//! Each row gets its number among its duplicates, and with that numbers no row is there twice:
//!
//! ```sql
//! SELECT a, b FROM (
//!     SELECT a, b, row_number() OVER (PARTITION BY a, b) AS n FROM (...) AS l
//!     EXCEPT
//!     SELECT a, b, row_number() OVER (PARTITION BY a, b) AS n FROM (...) AS r
//! ) AS s
//! ```

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, Query, SelectItem, SetExpr, SetOperator, SetQuantifier, Table, TableAlias,
    TableAliasColumnDef, TableFactor, TableWithJoins, WindowSpec, WindowType,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::column::{Output, numbered, quoted};
use super::error::{NameError, Result};
use crate::syntax::{plain_call, plain_query, plain_select};

/// Of the queries in FROM.
const ALIAS: &str = "__rows";
/// The column of the numbers.
const NUMBER: &str = "__number";

/// Most in a statement: one within the right side of another computes for longer at each level.
const MULTISETS_MAX: usize = 10;

pub(super) fn is_multiset(op: SetOperator, quantifier: SetQuantifier) -> bool {
    matches!(op, SetOperator::Except | SetOperator::Intersect) && matches!(quantifier, SetQuantifier::All)
}

/// Puts sets in the place of the multisets of a chain of set operations, which leans to the left;
/// `before` counts those of the statement.
pub(super) fn into_sets(body: &mut SetExpr, outputs: &[Output], before: &mut usize) -> Result<()> {
    let mut operations = Vec::new();
    let mut leaf = std::mem::replace(body, SetExpr::Table(Box::new(Table { table_name: None, schema_name: None })));
    while let SetExpr::SetOperation { op, set_quantifier, left, right } = leaf {
        operations.push((op, set_quantifier, right));
        leaf = *left;
    }
    *before += operations.iter().filter(|(op, quantifier, _)| is_multiset(*op, *quantifier)).count();
    if *before > MULTISETS_MAX {
        let message =
            format!("more than {MULTISETS_MAX} of EXCEPT ALL and INTERSECT ALL in a statement are not supported");
        return Err(NameError::unsupported(message));
    }
    *body = operations.into_iter().rev().fold(leaf, |left, (op, set_quantifier, right)| {
        if is_multiset(op, set_quantifier) {
            return of_numbered(op, left, *right, outputs);
        }
        SetExpr::SetOperation { op, set_quantifier, left: Box::new(left), right }
    });
    Ok(())
}

fn of_numbered(op: SetOperator, left: SetExpr, right: SetExpr, outputs: &[Output]) -> SetExpr {
    let is_free = |name: &str| outputs.iter().all(|output| *output.name != *name);
    let number = if is_free(NUMBER) { NUMBER.to_owned() } else { numbered(NUMBER, is_free) };
    let [left, right] = [left, right].map(|operand| Box::new(with_numbers(operand, &number, outputs)));
    let set = SetExpr::SetOperation { op, set_quantifier: SetQuantifier::None, left, right };
    selected(columns(outputs).map(SelectItem::UnnamedExpr).collect(), set, Vec::new())
}

/// The rows of a query, each with its number among those that are the same.
fn with_numbers(operand: SetExpr, number: &str, outputs: &[Output]) -> SetExpr {
    let among = WindowSpec {
        window_name: None,
        partition_by: columns(outputs).collect(),
        order_by: Vec::new(),
        window_frame: None,
    };
    let mut call = plain_call(ObjectName::from(vec![Ident::new("row_number")]), Vec::new());
    if let Expr::Function(function) = &mut call {
        function.over = Some(WindowType::WindowSpec(among));
    }
    let number = SelectItem::ExprWithAlias { expr: call, alias: name(number) };
    let names = outputs.iter().map(|output| TableAliasColumnDef { name: name(&output.name), data_type: None });
    selected(columns(outputs).map(SelectItem::UnnamedExpr).chain([number]).collect(), operand, names.collect())
}

fn selected(projection: Vec<SelectItem>, rows: SetExpr, names: Vec<TableAliasColumnDef>) -> SetExpr {
    let subquery = match rows {
        SetExpr::Query(query) => query,
        rows => Box::<Query>::new(plain_query(rows)),
    };
    let alias = TableAlias { explicit: true, name: name(ALIAS), columns: names, at: None };
    let relation = TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None };
    SetExpr::Select(Box::new(plain_select(projection, vec![TableWithJoins { relation, joins: Vec::new() }])))
}

fn columns(outputs: &[Output]) -> impl Iterator<Item = Expr> {
    outputs.iter().map(|output| Expr::CompoundIdentifier(vec![name(ALIAS), name(&output.name)]))
}

fn name(text: &str) -> Ident {
    quoted(text, Span::empty())
}
