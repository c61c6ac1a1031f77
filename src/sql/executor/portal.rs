//! Portals: bound statements, whose rows are fetched in portions.

use std::sync::Arc;

use super::rows::Rows;
use super::scroll::ScrolledRows;
use super::values_memory::ValuesMemory;
use crate::compiler::Prepared;
use crate::system_catalog::CursorRow;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::DateTime;
use rowkey_postgres::syntax::Statement;
use rowkey_postgres::types::SqlValue;

/// A bound statement. Cursors of DECLARE are portals too, and share their names.
#[derive(Debug)]
pub struct Portal {
    pub prepared: Arc<Prepared>,
    pub parameters: Arc<[SqlValue]>,
    /// What large parameters take.
    pub memory: Option<ValuesMemory>,
    /// Formats of the columns, as Bind asked for them.
    pub result_formats: Vec<i16>,
    pub state: PortalState,
    /// Made by DECLARE.
    pub cursor: Option<Cursor>,
}

#[derive(Debug)]
pub enum PortalState {
    Ready,
    Running(Box<Rows>),
    /// A cursor that goes back as well.
    Scrolling(Box<ScrolledRows>),
    /// Ran to its end; to run again is an error or empty, as the protocol says.
    Finished,
}

impl PortalState {
    /// The rows of the cursor of this name.
    pub fn open_rows(&mut self, name: &str) -> Result<&mut Rows> {
        match self {
            Self::Running(rows) => Ok(rows),
            Self::Ready | Self::Scrolling(_) | Self::Finished => {
                Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, format!("cursor \"{name}\" is not open")))
            }
        }
    }
}

/// What DECLARE said.
#[derive(Debug, Clone)]
pub struct Cursor {
    /// WITH HOLD: it outlives its transaction.
    pub hold: bool,
    /// SCROLL: it goes back.
    pub scroll: bool,
    /// The text of DECLARE.
    pub statement: Arc<Statement>,
    pub declared: DateTime,
    /// How many the session has declared so far, this one included.
    pub number: u64,
}

/// A row of `pg_cursors`.
impl From<(&String, &Portal)> for CursorRow {
    fn from((name, portal): (&String, &Portal)) -> Self {
        let cursor = portal.cursor.as_ref();
        let statement = cursor.map_or(&portal.prepared.statement, |cursor| &cursor.statement);
        CursorRow {
            name: name.clone(),
            statement: statement.text().to_owned(),
            holdable: cursor.is_some_and(|cursor| cursor.hold),
            binary: false,
            scrollable: cursor.is_some_and(|cursor| cursor.scroll),
            created_micros: cursor.map_or(portal.prepared.prepared_micros, |cursor| cursor.declared.micros()),
        }
    }
}
