//! EXECUTE, and EXPLAIN of it.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::Expr;

use super::{Outcome, Session};
use crate::compiler::Prepared;
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::syntax::ExplainOptions;
use rowkey_postgres::types::SqlValue;

impl Session {
    /// The values that EXECUTE gives to the parameters of a statement.
    pub(super) async fn arguments_of(
        &mut self,
        name: &str,
        statement: &Prepared,
        arguments: &[Expr],
    ) -> Result<Vec<SqlValue>> {
        if statement.parameters.len() != arguments.len() {
            let message = format!("wrong number of parameters for prepared statement \"{name}\"");
            let detail = format!("Expected {} parameters but got {}.", statement.parameters.len(), arguments.len());
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).with_detail(detail));
        }
        let context = self.context();
        let mut values = Vec::with_capacity(arguments.len());
        for (argument, ty) in arguments.iter().zip(&statement.parameters) {
            values.push(self.compiler.value_of(&context, argument, ty).await?);
        }
        Ok(values)
    }

    /// EXPLAIN EXECUTE: the prepared statement is explained with these values.
    pub(super) async fn explain_execute(
        &mut self,
        name: &str,
        arguments: &[Expr],
        options: ExplainOptions,
    ) -> Result<Outcome> {
        let statement = self.statement(name)?;
        let values = self.arguments_of(name, &statement, arguments).await?;
        let Some(explain) = statement.statement.explained(options) else {
            let message = format!("EXPLAIN of prepared statement \"{name}\" is not supported");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        };
        let types: Vec<_> = statement.parameters.iter().map(|ty| Some(*ty)).collect();
        let prepared = Arc::new(self.prepare(Arc::new(explain), &types).await?);
        self.run(&prepared, &values.into()).await
    }
}
