//! `rowkey.odata(table, filter)` in FROM: the entities of a table that a `$filter` of the Table
//! service holds for (specification, section 2.9).
//!
//! It becomes a subquery, `SELECT * FROM table WHERE condition`, before anything else looks at the
//! statement. So it has the table's columns and is planned, explained and kept in views like any
//! other query.

use datafusion::sql::sqlparser::ast::{
    self, Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, Query, Spanned, TableAlias, TableFactor,
    TableFunctionArgs, Value, ValueWithSpan,
};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::TableName;
use rowkey_postgres::plan_size::refuse_many_expressions;
use rowkey_postgres::syntax::{Request, Source, parse, visit_table_factors_mut};

use super::snapshot_catalog::{PUBLIC, SnapshotCatalog};
use crate::odata::Filter;
use crate::system_catalog::ROWKEY_SCHEMA;

const ODATA: &str = "odata";
const USAGE: &str = "for example rowkey.odata('Employees', $$PartitionKey eq 'Sales' and Age gt 30$$)";

/// Puts subqueries in the place of `rowkey.odata(..)`.
///
/// # Errors
/// `UNDEFINED_TABLE` for a table that is not there, `INVALID_STATEMENT` for arguments that are not
/// two texts, and those of [`Filter::parse`].
pub(super) fn expand(statement: &mut ast::Statement, tables: &SnapshotCatalog, source: &Source) -> Result<()> {
    let mut expanded = false;
    visit_table_factors_mut(statement, |factor| -> Result<()> {
        let TableFactor::Table { name, alias, args: Some(arguments), .. } = factor else { return Ok(()) };
        if !is_odata(name) {
            return Ok(());
        }
        let at = source.position(name.span().start);
        let subquery = subquery(arguments, tables).map_err(|error| error.at(at))?;
        let default = || TableAlias { explicit: false, name: Ident::new(ODATA), columns: Vec::new(), at: None };
        let alias = Some(alias.take().unwrap_or_else(default));
        *factor = TableFactor::Derived { lateral: false, subquery, alias, sample: None };
        expanded = true;
        Ok(())
    })?;
    if expanded { refuse_many_expressions(statement) } else { Ok(()) }
}

fn is_odata(name: &ObjectName) -> bool {
    let [schema, function] = name.0.as_slice() else { return false };
    let is = |part: &ast::ObjectNamePart, wanted: &str| {
        part.as_ident().is_some_and(|part| match part.quote_style {
            Some(_) => part.value == wanted,
            None => part.value.eq_ignore_ascii_case(wanted),
        })
    };
    is(schema, ROWKEY_SCHEMA) && is(function, ODATA)
}

fn subquery(arguments: &TableFunctionArgs, tables: &SnapshotCatalog) -> Result<Box<Query>> {
    let [table, filter] = arguments.args.as_slice() else {
        return Err(wrong("rowkey.odata takes the name of a table and a filter"));
    };
    let (name, filter) = (text(table)?, Filter::parse(text(filter)?)?);
    let catalog = &tables.snapshot.catalog;
    let found = TableName::parse(name).ok().and_then(|name| catalog.table(&tables.account, &name));
    let Some(table) = found else {
        if catalog.view(&tables.account, name).is_some() {
            return Err(wrong(&format!("rowkey.odata reads tables, and \"{name}\" is a view")));
        }
        return Err(tables.no_such_table(name));
    };
    let condition = filter.to_sql(&tables.columns.of(table));
    let sql = format!("SELECT * FROM \"{PUBLIC}\".\"{}\" WHERE {condition}", table.name);
    match parse(&sql)?.into_request() {
        Request::Query(query) => match *query {
            ast::Statement::Query(query) => Ok(query),
            _ => Err(Error::new(SqlState::INTERNAL_ERROR, "a filter became no query")),
        },
        _ => Err(Error::new(SqlState::INTERNAL_ERROR, "a filter became no query")),
    }
}

/// The value of an argument, which has to be known before the statement is planned.
fn text(argument: &FunctionArg) -> Result<&str> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(ValueWithSpan { value, .. }))) => match value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Ok(text),
            Value::DollarQuotedString(text) => Ok(&text.value),
            _ => Err(wrong("the arguments of rowkey.odata are texts")),
        },
        _ => Err(wrong("the arguments of rowkey.odata are texts, and no parameters or expressions")),
    }
}

fn wrong(message: &str) -> Error {
    Error::new(SqlState::INVALID_STATEMENT, message).with_hint(USAGE)
}
