//! Which statements are statements by key: the one place where that is decided.

mod query;
mod read;
mod write;

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::LogicalPlan;

use super::key_query::KeyQuery;
use super::key_read::{KeyRead, KeyRows};
use super::key_write::KeyWrite;
use crate::planner::Column;
use crate::writes::Write;
use rowkey_base::Result;
use rowkey_postgres::settings::Settings;
use rowkey_postgres::types::{PostgresType, SqlValue};
use rowkey_storage::Snapshot;
use rowkey_storage::run::RunFiles;

/// A statement whose names and parameter types are resolved.
pub(crate) enum Analyzed<'a> {
    /// A query with the plan of the SQL planner, to which no rule was applied yet.
    Query {
        plan: &'a LogicalPlan,
        /// What the analyzer makes of it; `None` if it refuses.
        analyze: &'a dyn Fn() -> Option<LogicalPlan>,
        parameters: &'a [&'static PostgresType],
        /// What functions ask of the session.
        config: &'a dyn Fn() -> Arc<ConfigOptions>,
    },
    Write {
        write: &'a Write,
        parameters: &'a [&'static PostgresType],
        settings: &'a Settings,
    },
}

/// A statement by key.
#[derive(Debug)]
pub(crate) enum KeyStatement {
    Read(KeyRead),
    Query(Box<KeyQuery>),
    Write(Box<KeyWrite>),
}

impl KeyStatement {
    /// Whether a query takes some microseconds, so that it may run beside sockets.
    pub(crate) fn is_small(&self, snapshot: &Snapshot, values: &[SqlValue]) -> bool {
        match self {
            KeyStatement::Read(read) => read.is_small(snapshot, values),
            KeyStatement::Query(query) => query.is_small(snapshot, values),
            KeyStatement::Write(_) => true,
        }
    }

    /// The rows of a query, under the names and with the types of `columns`. `None` if it has to be
    /// planned, as all other statements.
    pub(crate) async fn rows(
        &self,
        files: &RunFiles,
        snapshot: &Snapshot,
        values: &[SqlValue],
        columns: &[Column],
    ) -> Result<Option<KeyRows>> {
        let fields = || columns.iter().map(|column| Arc::clone(&column.field)).collect::<Vec<_>>();
        match self {
            KeyStatement::Read(read) => {
                let rows = read.rows(files, snapshot, values, &Arc::new(Schema::new(fields()))).await?;
                Ok(rows.map(|rows| KeyRows { read: Some((read.path(), rows.num_rows() as u64)), rows }))
            }
            KeyStatement::Query(query) => query.rows(files, snapshot, values, fields()).await,
            KeyStatement::Write(_) => Ok(None),
        }
    }
}

/// The statement by key that a statement is; `None` if it is none.
pub(crate) fn recognize(statement: &Analyzed<'_>) -> Option<KeyStatement> {
    match statement {
        Analyzed::Query { plan, analyze, parameters, config } => {
            let read = read::recognize(plan, parameters).map(KeyStatement::Read);
            let query = || query::recognize(plan, analyze, parameters, config);
            read.or_else(|| query().map(|query| KeyStatement::Query(Box::new(query))))
        }
        Analyzed::Write { write, parameters, settings } => {
            write::recognize(write, parameters, settings).map(|write| KeyStatement::Write(Box::new(write)))
        }
    }
}
