//! Statements and exports in sessions of their own.

use rowkey_formats::Destination;
use rowkey_model::Value;

use super::open::Engine;
use crate::session::{Answer, ExportOptions, ExportReport, Result, Selection};

impl Engine {
    /// Runs one statement with values for `$1`, `$2` and so on.
    pub async fn sql(&self, statement: &str, parameters: &[Value]) -> Result<Answer> {
        let mut session = self.own_session()?;
        let answer = session.sql(statement, parameters).await?;
        Ok(answer.keeping(session))
    }

    /// Exports entities of a table, all as of one snapshot. What was written appears under its name
    /// when all of it is there; if the future is dropped before, nothing does.
    pub async fn export(
        &self,
        table: &str,
        selection: &Selection,
        options: &ExportOptions,
        destination: Destination,
    ) -> Result<ExportReport> {
        self.own_session()?.export(table, selection, options, destination).await
    }

    /// Exports the rows of a query, with the columns that it has.
    pub async fn export_query(
        &self,
        query: &str,
        options: &ExportOptions,
        destination: Destination,
    ) -> Result<ExportReport> {
        self.own_session()?.export_query(query, options, destination).await
    }
}
