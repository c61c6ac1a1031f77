//! The simple protocol: a text of statements, answered in full.

use std::sync::Arc;

use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::EmptyQueryResponse;

use super::connection::Connection;
use super::describe::row_description;
use super::rows::{formats, send};
use crate::session::{Error, ErrorKind, Outcome, PortalState, Prepared, Result, StatementGuard, parse_all, write_tag};
use crate::sql_types::SqlValue;

impl Connection {
    /// Answers a text of statements. The first that fails ends it; there is one ReadyForQuery in any case.
    pub(super) async fn query(&mut self, text: String) -> Result<()> {
        self.session.active(&text);
        // The unnamed statement and portal do not survive a simple query.
        self.session.close_statement("");
        self.session.close_portal("");
        match self.statements(&text).await {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::ShuttingDown => return Err(error),
            Err(error) => self.tell(&error)?,
        }
        self.session.end_of_request();
        self.ready()
    }

    async fn statements(&mut self, text: &str) -> Result<()> {
        if let Some(prepared) = self.session.prepared_before(text, &[]) {
            let mut guard = self.guard();
            return self.run_statement(Arc::new(prepared), &[], &mut guard).await;
        }
        let mut guard = self.guard();
        if let Some((prepared, values)) = guard.run(async { Ok(self.session.key_read_of(text).await) }).await? {
            return self.run_statement(prepared, &values, &mut guard).await;
        }
        let statements = parse_all(text)?;
        if statements.is_empty() {
            return self.reply.push(&PgWireBackendMessage::EmptyQueryResponse(EmptyQueryResponse::new()));
        }
        let alone = statements.len() == 1;
        for statement in statements {
            let mut guard = self.guard();
            let prepared = Arc::new(guard.run(self.session.prepare(Arc::new(statement), &[])).await?);
            if alone {
                self.session.keep_plan(text, &[], &prepared);
            }
            self.run_statement(prepared, &[], &mut guard).await?;
        }
        Ok(())
    }

    /// `values` are those of parameters that the statement itself does not have.
    async fn run_statement(
        &mut self,
        prepared: Arc<Prepared>,
        values: &[SqlValue],
        guard: &mut StatementGuard,
    ) -> Result<()> {
        self.statement(prepared, values, guard).await?;
        self.session.succeeded()?;
        self.notices()?;
        self.reply.flush_if_large().await
    }

    async fn statement(
        &mut self,
        prepared: Arc<Prepared>,
        values: &[SqlValue],
        guard: &mut StatementGuard,
    ) -> Result<()> {
        if prepared.parameters.len() != values.len() {
            return Err(Error::new(ErrorKind::UnknownParameter, "there is no parameter $1"));
        }
        match guard.run(self.session.run(&prepared, values)).await? {
            Outcome::Done(tag) => self.reply.complete(tag),
            Outcome::CopyIn(copy) => {
                let tag = Box::pin(self.copy_in(copy, guard)).await?;
                self.reply.complete(tag)
            }
            Outcome::CopyOut(copy) => {
                let tag = Box::pin(self.copy_out(copy, guard)).await?;
                self.reply.complete(tag)
            }
            Outcome::Rows(mut rows) => {
                let style = Arc::clone(self.session.settings().style());
                let formats = formats(&[], rows.columns.len())?;
                self.reply.push(&row_description(&rows.columns, &formats)?)?;
                let sent = send(&mut self.reply, &mut rows, &formats, &style, u64::MAX, guard).await?;
                self.reply.complete(tag(rows.verb, sent))
            }
            Outcome::FromCursor { name, rows_max } => {
                let style = Arc::clone(self.session.settings().style());
                let mut portal = self.session.take_portal(&name)?;
                let PortalState::Running(rows) = &mut portal.state else {
                    return Err(Error::new(ErrorKind::WrongState, format!("cursor \"{name}\" is not open")));
                };
                let formats = formats(&[], rows.columns.len())?;
                self.reply.push(&row_description(&rows.columns, &formats)?)?;
                let sent = send(&mut self.reply, rows, &formats, &style, rows_max, guard).await?;
                self.session.put_portal(&name, portal);
                self.reply.complete(format!("FETCH {sent}"))
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
