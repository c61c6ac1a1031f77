//! The simple protocol: a text of statements, answered in full.

use std::pin::pin;
use std::sync::Arc;

use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::EmptyQueryResponse;

use super::connection::Connection;
use super::describe::row_description;
use super::rows::formats;
use rowkey_postgres::types::SqlValue;
use rowkey_sql::session::{BoundKeyStatement, Error, Outcome, Prepared, Result, SqlState, StatementGuard, write_tag};

impl Connection {
    /// Answers a text of statements. The first that fails ends it; there is one ReadyForQuery in
    /// any case.
    pub(super) async fn query(&mut self, text: String) -> Result<()> {
        self.session.active(&text);
        // The unnamed statement and portal do not survive a simple query.
        self.session.close_statement("");
        self.session.close_portal("");
        match self.statements(&text).await {
            Ok(()) => {}
            Err(error) if error.sqlstate() == SqlState::ADMIN_SHUTDOWN => return Err(error),
            Err(error) => self.report(&error)?,
        }
        self.session.end_of_request();
        self.ready()
    }

    async fn statements(&mut self, text: &str) -> Result<()> {
        if let Some(prepared) = self.session.prepared_before(text, &[]) {
            let mut guard = self.guard();
            return self.run_statement(Arc::new(prepared), Arc::default(), &mut guard, true).await;
        }
        let mut guard = self.guard();
        match guard.run(async { Ok(self.session.bind_key_statement(text).await) }).await? {
            Some(BoundKeyStatement::Read(prepared, values)) => {
                return self.run_statement(prepared, values.into(), &mut guard, true).await;
            }
            Some(BoundKeyStatement::Write(prepared, literals)) => {
                let written = guard.run(pin!(self.session.run_key_write(&prepared, &literals))).await?;
                if let Some(Outcome::Done(tag)) = written {
                    return self.complete(tag, &mut guard, true).await;
                }
            }
            None => {}
        }
        let statements = self.wire.while_sending(guard.run(self.session.parse(text))).await?;
        if statements.is_empty() {
            return self.wire.push(&PgWireBackendMessage::EmptyQueryResponse(EmptyQueryResponse::new()));
        }
        let alone = statements.len() == 1;
        let last = statements.len() - 1;
        for (place, statement) in statements.into_iter().enumerate() {
            // The first one has waited for the text to be read; each has the time to itself.
            if place > 0 {
                guard = self.guard();
            }
            if !alone {
                // All of them are one transaction, as far as BEGIN, COMMIT and ROLLBACK among them
                // do not say otherwise.
                self.session.begin_implicit()?;
            }
            let prepared = guard.run(self.session.prepare(Arc::new(statement), &[]));
            let prepared = Arc::new(self.wire.while_sending(prepared).await?);
            if alone {
                self.session.keep_plan(text, &[], &prepared);
            }
            self.run_statement(prepared, Arc::default(), &mut guard, place == last).await?;
        }
        Ok(())
    }

    /// `values` are those of parameters that the statement itself does not have.
    async fn run_statement(
        &mut self,
        prepared: Arc<Prepared>,
        values: Arc<[SqlValue]>,
        guard: &mut StatementGuard,
        is_last: bool,
    ) -> Result<()> {
        let tag = self.statement(prepared, values, guard).await?;
        self.complete(tag, guard, is_last).await
    }

    async fn complete(&mut self, tag: String, guard: &mut StatementGuard, is_last: bool) -> Result<()> {
        self.session.succeeded()?;
        // The last statement is not complete before all of them are committed.
        if is_last && self.session.is_implicit() {
            guard.run(self.session.commit_implicit()).await?;
        }
        self.notices()?;
        self.wire.complete(tag)?;
        self.wire.flush_if_large().await
    }

    /// Runs a statement and sends its rows; the answer is the tag.
    async fn statement(
        &mut self,
        prepared: Arc<Prepared>,
        values: Arc<[SqlValue]>,
        guard: &mut StatementGuard,
    ) -> Result<String> {
        if prepared.parameters.len() != values.len() {
            return Err(Error::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1"));
        }
        let outcome = self.wire.while_sending(guard.run(pin!(self.session.run(&prepared, &values)))).await?;
        match outcome {
            Outcome::Done(tag) => Ok(tag),
            Outcome::Copy(copy) => Box::pin(self.copy(copy, guard)).await,
            Outcome::Rows(mut rows) => {
                let formats = formats(&[], rows.columns.len())?;
                self.wire.push(&row_description(&rows.columns, &formats)?)?;
                let sent = self.send(&mut rows, formats, u64::MAX, guard).await?;
                Ok(tag(rows.verb, sent))
            }
            Outcome::FromCursor { name, rows_max } => {
                let mut portal = self.session.take_portal(&name)?;
                let rows = portal.state.open_rows(&name)?;
                let formats = formats(&[], rows.columns.len())?;
                self.wire.push(&row_description(&rows.columns, &formats)?)?;
                let sent = self.send(rows, formats, rows_max, guard).await?;
                self.session.put_portal(&name, portal);
                Ok(format!("FETCH {sent}"))
            }
        }
    }
}

/// The tag of an answer with rows.
pub(super) fn tag(verb: &str, rows: u64) -> String {
    match verb {
        "SELECT" | "FETCH" => format!("{verb} {rows}"),
        "INSERT" | "UPDATE" | "DELETE" | "MERGE" => write_tag(verb, rows),
        verb => verb.to_owned(),
    }
}
