//! The extended protocol: Parse, Bind, Describe, Execute, Close.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::{NoData, ParameterDescription};
use pgwire::messages::extendedquery::{BindComplete, CloseComplete, ParseComplete, PortalSuspended};
use pgwire::messages::response::EmptyQueryResponse;

use super::connection::Connection;
use super::describe::row_description;
use super::message::Bind;
use super::rows::formats;
use super::simple::tag;
use rowkey_postgres::types::{PostgresType, SqlValue, TextStyle, parse_binary, parse_text, type_by_oid};
use rowkey_sql::session::{
    Effect, Error, Outcome, PortalState, Prepared, Result, SqlState, StatementGuard, TransactionStatus,
};

/// Values of so many bytes are read on the thread that serves the socket.
const BYTES_READ_HERE_MAX: usize = 64 << 10;
/// The type of a literal whose type is not known yet.
const UNKNOWN: u32 = 705;

impl Connection {
    pub(super) async fn parse(&mut self, name: &str, text: &str, types: &[u32]) -> Result<()> {
        self.session.active(text);
        let types = types.iter().map(|oid| declared(*oid)).collect::<Result<Vec<_>>>()?;
        let before = self.session.prepared_before(text, &types);
        if name.is_empty() && before.is_some() {
            self.session.close_statement("");
        }
        let prepared = match before {
            Some(prepared) => Arc::new(prepared),
            None => self.prepare(name, text, &types).await?,
        };
        self.session.keep_statement(name, prepared)?;
        self.wire.push(&PgWireBackendMessage::ParseComplete(ParseComplete::new()))
    }

    async fn prepare(
        &mut self,
        name: &str,
        text: &str,
        types: &[Option<&'static PostgresType>],
    ) -> Result<Arc<Prepared>> {
        let mut guard = self.guard_of_message();
        let mut statements = self.wire.while_sending(guard.run(self.session.parse(text))).await?;
        if statements.len() > 1 {
            let message = "cannot insert multiple commands into a prepared statement";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        if name.is_empty() {
            self.session.close_statement("");
        }
        let Some(statement) = statements.pop() else { return Ok(Arc::new(Prepared::empty(text))) };
        let prepared = guard.run(self.session.prepare(Arc::new(statement), types));
        let prepared = Arc::new(self.wire.while_sending(prepared).await?);
        self.session.keep_plan(text, types, &prepared);
        Ok(prepared)
    }

    pub(super) async fn bind(&mut self, bind: Bind) -> Result<()> {
        let prepared = self.session.statement(&bind.statement)?;
        let wanted = prepared.parameters.len();
        if bind.values.len() != wanted {
            let message = format!(
                "bind message supplies {} parameters, but prepared statement \"{}\" requires {wanted}",
                bind.values.len(),
                bind.statement
            );
            return Err(Error::new(SqlState::PROTOCOL_VIOLATION, message));
        }
        if bind.formats.len() > 1 && bind.formats.len() != wanted {
            let message = format!("bind message has {} parameter formats but {wanted} parameters", bind.formats.len());
            return Err(Error::new(SqlState::PROTOCOL_VIOLATION, message));
        }
        let style = self.session.style_of_values(&prepared.parameters);
        let Bind { portal, formats: value_formats, values, result_formats, .. } = bind;
        let bytes = values.iter().flatten().map(Bytes::len).sum();
        let is_array = |(_, ty): &(_, &&PostgresType)| ty.element().is_some();
        let arrays = values.iter().zip(&prepared.parameters).filter(is_array);
        let in_arrays = arrays.filter_map(|(value, _)| value.as_ref()).map(Bytes::len).sum();
        if portal.is_empty() {
            // With it goes the memory of its values.
            self.session.close_portal("");
        }
        let memory = self.session.memory_of_values(bytes, in_arrays)?;
        let values = match bytes <= BYTES_READ_HERE_MAX {
            true => read_values(&prepared, &values, &value_formats, &style)?,
            false => {
                let prepared = Arc::clone(&prepared);
                let signals = self.session.registration().signals().of_statement();
                let read = async move { read_values(&prepared, &values, &value_formats, &style) };
                let mut guard = self.guard_of_message();
                guard.run(self.session.compute().run(&signals, read)).await?
            }
        };
        if let Some(columns) = &prepared.columns {
            formats(&result_formats, columns.len())?;
        }
        self.session.bind(&portal, prepared, values.into(), memory, result_formats)?;
        self.wire.push(&PgWireBackendMessage::BindComplete(BindComplete::new()))
    }

    pub(super) fn describe_statement(&mut self, name: &str) -> Result<()> {
        let prepared = self.session.statement(name)?;
        let types = prepared.parameters.iter().map(|ty| ty.oid).collect();
        self.wire.push(&PgWireBackendMessage::ParameterDescription(ParameterDescription::new(types)))?;
        // Which formats there will be is not known before Bind.
        self.describe(&prepared, &[])
    }

    pub(super) fn describe_portal(&mut self, name: &str) -> Result<()> {
        let portal = self.session.portal(name)?;
        let (prepared, asked) = (Arc::clone(&portal.prepared), portal.result_formats.clone());
        self.describe(&prepared, &asked)
    }

    fn describe(&mut self, prepared: &Prepared, asked: &[i16]) -> Result<()> {
        match &prepared.columns {
            Some(columns) => {
                let formats = formats(asked, columns.len())?;
                self.wire.push(&row_description(columns, &formats)?)
            }
            None => self.wire.push(&PgWireBackendMessage::NoData(NoData::new())),
        }
    }

    /// Runs a portal, or goes on with it; at most `rows_max` rows, 0 for all.
    pub(super) async fn execute(&mut self, name: &str, rows_max: i32) -> Result<()> {
        let portal = self.session.portal(name)?;
        if matches!(portal.state, PortalState::Ready) && self.session.status() == TransactionStatus::Idle {
            let is_transaction = match portal.prepared.statement.request.effect() {
                Effect::None => false,
                Effect::Some => !self.is_last_of_request().await?,
                Effect::Rows if self.session.imports_entities(&portal.prepared) => false,
                // What comes next are rows.
                Effect::Rows => true,
            };
            if is_transaction {
                self.session.begin_implicit()?;
            }
        }
        let mut portal = self.session.take_portal(name)?;
        self.session.active(portal.prepared.statement.text());
        let rows_max = u64::try_from(rows_max).ok().filter(|rows| *rows > 0).unwrap_or(u64::MAX);
        let mut guard = self.guard_of_message();
        if let PortalState::Ready = portal.state {
            if portal.prepared.is_empty() {
                self.session.put_portal(name, portal);
                return self.wire.push(&PgWireBackendMessage::EmptyQueryResponse(EmptyQueryResponse::new()));
            }
            let outcome = self
                .wire
                .while_sending(guard.run(pin!(self.session.run(&portal.prepared, &portal.parameters))))
                .await?;
            match outcome {
                Outcome::Rows(rows) => portal.state = PortalState::Running(Box::new(rows)),
                Outcome::Done(tag) => {
                    portal.state = PortalState::Finished;
                    // What ends a transaction ends its portals, this one too.
                    self.notices()?;
                    self.wire.complete(tag)?;
                    self.session.put_portal(name, portal);
                    return Ok(());
                }
                Outcome::Copy(copy) => {
                    portal.state = PortalState::Finished;
                    self.session.put_portal(name, portal);
                    let tag = Box::pin(self.copy(copy, &mut guard)).await?;
                    self.notices()?;
                    return self.wire.complete(tag);
                }
                Outcome::FromCursor { name: cursor, rows_max: fetched } => {
                    let asked = portal.result_formats.clone();
                    portal.state = PortalState::Finished;
                    self.session.put_portal(name, portal);
                    return Box::pin(self.execute_fetch(&cursor, fetched, &asked, &mut guard)).await;
                }
            }
        }
        match &mut portal.state {
            PortalState::Running(rows) => {
                let formats = formats(&portal.result_formats, rows.columns.len())?;
                let sent = self.send(rows, formats, rows_max, &mut guard).await?;
                // Less than asked for is the end; exactly as many is not known to be, as in
                // PostgreSQL.
                if sent == rows_max {
                    self.wire.push(&PgWireBackendMessage::PortalSuspended(PortalSuspended::new()))?;
                } else {
                    self.session.succeeded()?;
                    self.notices()?;
                    self.wire.complete(tag(rows.verb, sent))?;
                    portal.state = PortalState::Finished;
                }
            }
            _ if portal.prepared.columns.is_some() => self.wire.complete(tag("SELECT", 0))?,
            _ => {
                return Err(Error::new(
                    SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!("portal \"{name}\" cannot be run"),
                ));
            }
        }
        self.session.put_portal(name, portal);
        Ok(())
    }

    async fn execute_fetch(
        &mut self,
        cursor: &str,
        rows_max: u64,
        asked: &[i16],
        guard: &mut StatementGuard,
    ) -> Result<()> {
        let mut portal = self.session.take_portal(cursor)?;
        let rows = portal.state.open_rows(cursor)?;
        let formats = formats(asked, rows.columns.len())?;
        let sent = self.send(rows, formats, rows_max, guard).await?;
        self.session.put_portal(cursor, portal);
        self.wire.complete(format!("FETCH {sent}"))
    }

    pub(super) fn close_statement(&mut self, name: &str) -> Result<()> {
        self.session.close_statement(name);
        self.wire.push(&PgWireBackendMessage::CloseComplete(CloseComplete::new()))
    }

    pub(super) fn close_portal(&mut self, name: &str) -> Result<()> {
        self.session.close_portal(name);
        self.wire.push(&PgWireBackendMessage::CloseComplete(CloseComplete::new()))
    }
}

/// The type that Parse declares: none where the server shall find it.
fn declared(oid: u32) -> Result<Option<&'static PostgresType>> {
    match oid {
        0 | UNKNOWN => Ok(None),
        oid => match type_by_oid(oid) {
            Some(ty) => Ok(Some(ty)),
            None => Err(Error::new(SqlState::UNDEFINED_OBJECT, format!("type with OID {oid} does not exist"))),
        },
    }
}

fn read_values(
    prepared: &Prepared,
    values: &[Option<Bytes>],
    formats: &[i16],
    style: &TextStyle,
) -> Result<Vec<SqlValue>> {
    let read_one = |(at, (value, ty)): (usize, (&Option<Bytes>, &&PostgresType))| {
        let format = match formats {
            [] => 0,
            [one] => *one,
            each => each[at],
        };
        let value = value.as_ref().map_or(Ok(SqlValue::Null), |bytes| read(ty, bytes, format, style));
        value.map_err(|error| error.with_detail(format!("It is the value of parameter ${}.", at + 1)))
    };
    values.iter().zip(&prepared.parameters).enumerate().map(read_one).collect()
}

fn read(ty: &PostgresType, bytes: &Bytes, format: i16, style: &TextStyle) -> Result<SqlValue> {
    match format {
        0 => {
            let text = std::str::from_utf8(bytes).map_err(|_| {
                Error::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"")
            })?;
            if text.contains('\0') {
                return Err(Error::new(
                    SqlState::CHARACTER_NOT_IN_REPERTOIRE,
                    "invalid byte sequence for encoding \"UTF8\": 0x00",
                ));
            }
            Ok(parse_text(ty, text, style)?)
        }
        1 => Ok(parse_binary(ty, bytes)?),
        other => Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("unsupported format code: {other}"))),
    }
}
