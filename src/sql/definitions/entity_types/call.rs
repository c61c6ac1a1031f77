//! `CALL create_entity_views('Table')`: makes the views that `entity_types` proposes.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Statement, Value,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::discover::discover;
use super::proposal;
use crate::definitions::Definition;
use crate::definitions::create_view::create_view;
use crate::definitions::relation_name::identifiers;
use crate::planner::StatementPlanner;
use crate::system_catalog::ROWKEY_SCHEMA;
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::error::from_datafusion;
use rowkey_storage::Edit;

const CREATE_ENTITY_VIEWS: &str = "create_entity_views";

/// Whether a CALL is one of this procedure, with or without its schema.
pub(crate) fn is_create_entity_views(call: &Function) -> bool {
    let Ok(parts) = identifiers(&call.name) else { return false };
    match parts.as_slice() {
        [name] => name.value.eq_ignore_ascii_case(CREATE_ENTITY_VIEWS),
        [schema, name] => {
            schema.value.eq_ignore_ascii_case(ROWKEY_SCHEMA) && name.value.eq_ignore_ascii_case(CREATE_ENTITY_VIEWS)
        }
        _ => false,
    }
}

/// All views as one change, and the rows of `entity_types` as the answer.
pub(crate) async fn create_entity_views(call: &Function, planner: &StatementPlanner) -> Result<Definition> {
    let table = argument(call)?;
    let proposals = discover(&table, planner).await?;
    if proposals.is_empty() {
        let message = format!("no types of entities are found in table \"{table}\"");
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message)
            .with_hint("types are told by a property such as EntityType, or by what RowKeys begin with: emp_0001"));
    }
    let mut definition = Definition::default();
    let mut next_id = planner.catalog().next_table_id();
    for proposal in &proposals {
        let made = create_view(parsed(&proposal.create_statement)?, &proposal.create_statement, planner).await?;
        for mut edit in made.edits {
            if let Edit::CreateView { id, replaces: false, .. } = &mut edit {
                *id = next_id;
                next_id += 1;
            }
            definition.edits.push(edit);
        }
        definition.notices.extend(made.notices);
    }
    let rows =
        proposal::batch(&proposals).map_err(datafusion::common::DataFusionError::from).map_err(from_datafusion)?;
    definition.rows = Some(rows);
    Ok(definition)
}

fn argument(call: &Function) -> Result<String> {
    if let FunctionArguments::List(list) = &call.args
        && let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))] = list.args.as_slice()
        && let Value::SingleQuotedString(table) = &value.value
    {
        return Ok(table.clone());
    }
    let message = "create_entity_views takes one argument, the name of a table: CALL create_entity_views('Employees')";
    Err(Error::new(SqlState::INVALID_STATEMENT, message))
}

fn parsed(statement: &str) -> Result<datafusion::sql::sqlparser::ast::CreateView> {
    let unexpected = |what: String| Error::new(SqlState::INTERNAL_ERROR, format!("{what} in {statement}"));
    let parsed = Parser::parse_sql(&PostgreSqlDialect {}, statement).map_err(|error| unexpected(error.to_string()))?;
    match parsed.into_iter().next() {
        Some(Statement::CreateView(view)) => Ok(view),
        _ => Err(unexpected("no CREATE VIEW".to_owned())),
    }
}
