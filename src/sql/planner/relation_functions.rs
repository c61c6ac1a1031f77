//! Functions in FROM that stand for a query: `rowkey.odata`, `rowkey.entities_from_json` and
//! `rowkey.summarize`; and exports, which are named by their paths.
//!
//! Each becomes a subquery, or a table and a condition, before anything else looks at the
//! statement. So it is planned, explained and kept in views like any other query.
//!
//! `INSERT INTO t SELECT * FROM rowkey.entities_from_json(..)` gets a list of columns here: the
//! function's columns are in the order of the text, which is seldom that of the table, and so go by
//! their names. Where it gives rows to an INSERT in another way, that has to name its columns.

use datafusion::sql::sqlparser::ast::{
    self, BinaryOperator, Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, Query, Select, SelectItem, SetExpr,
    Spanned, TableAlias, TableFactor, TableWithJoins, Value, ValueWithSpan, WildcardAdditionalOptions,
};
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::plan_size::refuse_many_expressions;
use rowkey_postgres::syntax::{Request, Source, parse, visit_selects_mut, visit_table_factors_mut};

use super::entities_relation::EntitiesRelation;
use super::odata_relation;
use super::snapshot_catalog::SnapshotCatalog;
use super::summary_relation;
use crate::export_files::{EXPORTS, export_path};
use crate::system_catalog::ROWKEY_SCHEMA;

const ODATA: &str = "odata";
const ENTITIES_FROM_JSON: &str = "entities_from_json";
const SUMMARIZE: &str = "summarize";

/// Puts subqueries in the place of the functions.
///
/// # Errors
/// Those of the functions, each at its place; `FEATURE_NOT_SUPPORTED` for `WITH ORDINALITY`, whose
/// numbers the subqueries do not have; `SYNTAX_ERROR` for an INSERT without a list of columns whose
/// rows come from `entities_from_json` otherwise than by `SELECT *` from it alone.
pub(super) fn expand(statement: &mut ast::Statement, tables: &SnapshotCatalog, source: &Source) -> Result<()> {
    let by_name = insert_of(statement).is_some_and(goes_by_name);
    // The place of a call whose columns are in the order of its text.
    let (mut expanded, mut entities_at) = (false, None);
    visit_selects_mut(statement, |select| -> Result<()> {
        expanded |= filter_alone(select, tables, source)?;
        Ok(())
    })?;
    visit_table_factors_mut(statement, |factor| -> Result<()> {
        let TableFactor::Table { name, alias, args, with_ordinality, .. } = factor else { return Ok(()) };
        let Some(arguments) = args else { return name_export(name, tables, source) };
        let Some(function) = function_named(name) else { return Ok(()) };
        let at = source.position(name.span().start);
        if *with_ordinality {
            let message = format!("WITH ORDINALITY of {ROWKEY_SCHEMA}.{function} is not supported");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at));
        }
        let texts: Option<Vec<&str>> = arguments.args.iter().map(text).collect();
        let subquery = match function {
            ENTITIES_FROM_JSON => {
                entities_at = Some(at);
                entities(texts.as_deref())
            }
            SUMMARIZE => summary_relation::sql(texts.as_deref(), tables).and_then(|sql| query_of(&sql)),
            _ => odata_relation::sql(texts.as_deref(), tables).and_then(|sql| query_of(&sql)),
        };
        let subquery = subquery.map_err(|error| error.at(at))?;
        let alias = Some(alias.take().unwrap_or_else(|| named(function)));
        *factor = TableFactor::Derived { lateral: false, subquery, alias, sample: None };
        expanded = true;
        Ok(())
    })?;
    if let (Some(at), Some(insert)) = (entities_at, insert_of_mut(statement).filter(|insert| insert.columns.is_empty()))
    {
        if !by_name {
            let message = "INSERT from rowkey.entities_from_json needs a list of columns";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message)
                .with_detail("Its columns are in the order of its text.")
                .with_hint("SELECT * FROM rowkey.entities_from_json(...), without joins, goes by the names of columns")
                .at(at));
        }
        insert.columns = columns_selected(insert);
    }
    if expanded { refuse_many_expressions(statement) } else { Ok(()) }
}

/// Opens the export that a name in single quotes is the path of, and names it.
fn name_export(name: &mut ObjectName, tables: &SnapshotCatalog, source: &Source) -> Result<()> {
    let Some(path) = export_path(name).map(str::to_owned) else { return Ok(()) };
    let at = source.position(name.span().start);
    let Some(exports) = &tables.exports else {
        return Err(Error::new(SqlState::SYNTAX_ERROR, format!("syntax error at or near \"'{path}'\"")).at(at));
    };
    exports.open(&path).map_err(|error| error.at(at))?;
    let quoted = |name: &str| Ident::with_quote('"', name);
    *name = ObjectName::from(vec![quoted(EXPORTS), quoted(&path)]);
    Ok(())
}

/// Where `rowkey.odata` is all of FROM, its table stands there and its filter in WHERE, so that the
/// hidden column `etag` and `rowkey.entity_json` are at hand as of any table. Whether it was so.
fn filter_alone(select: &mut Select, tables: &SnapshotCatalog, source: &Source) -> Result<bool> {
    let [TableWithJoins { relation, joins }] = select.from.as_mut_slice() else { return Ok(false) };
    let TableFactor::Table { name, alias, args: Some(arguments), with_ordinality: false, .. } = relation else {
        return Ok(false);
    };
    let has_labels = alias.as_ref().is_some_and(|alias| !alias.columns.is_empty());
    if function_named(name) != Some(ODATA) || has_labels || !joins.is_empty() {
        return Ok(false);
    }
    let texts: Option<Vec<&str>> = arguments.args.iter().map(text).collect();
    let query = odata_relation::sql(texts.as_deref(), tables).and_then(|sql| query_of(&sql));
    let query = query.map_err(|error| error.at(source.position(name.span().start)))?;
    let SetExpr::Select(filtered) = *query.body else { return Ok(false) };
    let Select { from, selection: Some(filter), .. } = *filtered else { return Ok(false) };
    let alias = alias.take().unwrap_or_else(|| named(ODATA));
    let Some(mut table) = from.into_iter().next().map(|from| from.relation) else { return Ok(false) };
    if let TableFactor::Table { alias: of_table, .. } = &mut table {
        *of_table = Some(alias);
    }
    *relation = table;
    let nested = |expr| Box::new(Expr::Nested(Box::new(expr)));
    select.selection = Some(match select.selection.take() {
        Some(other) => Expr::BinaryOp { left: nested(filter), op: BinaryOperator::And, right: nested(other) },
        None => filter,
    });
    Ok(true)
}

/// The alias of a function that has none.
fn named(function: &str) -> TableAlias {
    TableAlias { explicit: false, name: Ident::new(function), columns: Vec::new(), at: None }
}

/// The INSERT that a statement is, perhaps behind WITH.
pub(crate) fn insert_of(statement: &ast::Statement) -> Option<&ast::Insert> {
    match statement {
        ast::Statement::Insert(insert) => Some(insert),
        ast::Statement::Query(query) => match query.body.as_ref() {
            SetExpr::Insert(ast::Statement::Insert(insert)) => Some(insert),
            _ => None,
        },
        _ => None,
    }
}

fn insert_of_mut(statement: &mut ast::Statement) -> Option<&mut ast::Insert> {
    match statement {
        ast::Statement::Insert(insert) => Some(insert),
        ast::Statement::Query(query) => match query.body.as_mut() {
            SetExpr::Insert(ast::Statement::Insert(insert)) => Some(insert),
            _ => None,
        },
        _ => None,
    }
}

/// Whether an INSERT without a list of columns takes its rows by `SELECT *` from the entities of a
/// text.
pub(crate) fn goes_by_name(insert: &ast::Insert) -> bool {
    let Some(SetExpr::Select(select)) = insert.source.as_ref().map(|query| query.body.as_ref()) else { return false };
    let ([SelectItem::Wildcard(options)], [from]) = (select.projection.as_slice(), select.from.as_slice()) else {
        return false;
    };
    let TableFactor::Table { name, alias, args: Some(_), .. } = &from.relation else { return false };
    insert.columns.is_empty()
        && *options == WildcardAdditionalOptions::default()
        && from.joins.is_empty()
        && alias.as_ref().is_none_or(|alias| alias.columns.is_empty())
        && function_named(name) == Some(ENTITIES_FROM_JSON)
}

/// The columns of the subquery that `*` stands for.
fn columns_selected(insert: &ast::Insert) -> Vec<ObjectName> {
    let Some(SetExpr::Select(select)) = insert.source.as_ref().map(|query| query.body.as_ref()) else {
        return Vec::new();
    };
    let Some(TableFactor::Derived { subquery, .. }) = select.from.first().map(|from| &from.relation) else {
        return Vec::new();
    };
    let SetExpr::Select(inner) = subquery.body.as_ref() else { return Vec::new() };
    let name = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(ObjectName::from(vec![Ident::with_quote('"', &*alias.value)])),
        _ => None,
    };
    inner.projection.iter().filter_map(name).collect()
}

/// The function that a name means, if it is one of these.
fn function_named(name: &ObjectName) -> Option<&'static str> {
    let [schema, function] = name.0.as_slice() else { return None };
    let is = |part: &ast::ObjectNamePart, wanted: &str| {
        part.as_ident().is_some_and(|part| match part.quote_style {
            Some(_) => part.value == wanted,
            None => part.value.eq_ignore_ascii_case(wanted),
        })
    };
    if !is(schema, ROWKEY_SCHEMA) {
        return None;
    }
    [ODATA, ENTITIES_FROM_JSON, SUMMARIZE].into_iter().find(|wanted| is(function, wanted))
}

/// The value of an argument, which has to be known before the statement is planned.
fn text(argument: &FunctionArg) -> Option<&str> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(ValueWithSpan { value, .. }))) => match value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Some(text),
            Value::DollarQuotedString(text) => Some(&text.value),
            _ => None,
        },
        _ => None,
    }
}

/// The entities of a text as a query, whose rows are those of its VALUES.
fn entities(texts: Option<&[&str]>) -> Result<Box<Query>> {
    let relation = EntitiesRelation::of(texts)?;
    let mut query = query_of(&relation.sql)?;
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(TableFactor::Derived { subquery, .. }) = select.from.first_mut().map(|from| &mut from.relation)
        && let SetExpr::Values(values) = subquery.body.as_mut()
        && let Some(row) = values.rows.first().filter(|_| !relation.rows.is_empty()).cloned()
    {
        let rows = relation.rows.into_iter().map(|content| ast::Parens { content, ..row.clone() });
        values.rows = rows.collect();
    }
    Ok(query)
}

/// A query of our own.
fn query_of(sql: &str) -> Result<Box<Query>> {
    match parse(sql)?.into_request() {
        Request::Query(query) => match *query {
            ast::Statement::Query(query) => Ok(query),
            _ => Err(Error::new(SqlState::INTERNAL_ERROR, "a function in FROM became no query")),
        },
        _ => Err(Error::new(SqlState::INTERNAL_ERROR, "a function in FROM became no query")),
    }
}
