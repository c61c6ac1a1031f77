//! Statements and exports in sessions of their own.

use rowkey_formats::Destination;
use rowkey_model::{AccountName, Value};

use super::open::Engine;
use crate::session::{Answer, ExportOptions, ExportReport, Result, Selection};

impl Engine {
    /// Runs one statement over the default account, with values for `$1`, `$2` and so on.
    pub async fn sql(&self, statement: &str, parameters: &[Value]) -> Result<Answer> {
        self.sql_in(self.account(), statement, parameters).await
    }

    /// The same over another account.
    pub async fn sql_in(&self, account: &AccountName, statement: &str, parameters: &[Value]) -> Result<Answer> {
        let mut session = self.own_session_in(account)?;
        let answer = session.sql(statement, parameters).await?;
        Ok(answer.keeping(session))
    }

    /// Exports entities of a table, all as of one snapshot. What was written appears under its name
    /// when all of it is there; if the future is dropped before, nothing does.
    pub async fn export(
        &self,
        account: &AccountName,
        table: &str,
        selection: &Selection,
        options: &ExportOptions,
        destination: Destination,
    ) -> Result<ExportReport> {
        self.own_session_in(account)?.export(table, selection, options, destination).await
    }

    /// Exports the rows of a query, with the columns that it has.
    pub async fn export_query(
        &self,
        account: &AccountName,
        query: &str,
        options: &ExportOptions,
        destination: Destination,
    ) -> Result<ExportReport> {
        self.own_session_in(account)?.export_query(query, options, destination).await
    }
}
