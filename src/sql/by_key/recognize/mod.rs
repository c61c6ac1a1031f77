//! Which statements are statements by key: the one place where that is decided.

mod read;
mod write;

use datafusion::logical_expr::LogicalPlan;

use super::key_read::KeyRead;
use super::key_write::KeyWrite;
use crate::writes::Write;
use rowkey_postgres::settings::Settings;
use rowkey_postgres::types::PostgresType;

/// A statement whose names and parameter types are resolved.
pub(crate) enum Analyzed<'a> {
    /// A query with the plan of the SQL planner, to which no rule was applied yet.
    Query {
        plan: &'a LogicalPlan,
        parameters: &'a [&'static PostgresType],
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
    Write(Box<KeyWrite>),
}

/// The statement by key that a statement is; `None` if it is none.
pub(crate) fn recognize(statement: &Analyzed<'_>) -> Option<KeyStatement> {
    match statement {
        Analyzed::Query { plan, parameters } => read::recognize(plan, parameters).map(KeyStatement::Read),
        Analyzed::Write { write, parameters, settings } => {
            write::recognize(write, parameters, settings).map(|write| KeyStatement::Write(Box::new(write)))
        }
    }
}
