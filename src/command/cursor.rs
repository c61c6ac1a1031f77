//! Cursors of DECLARE.

use rowkey_sql::session::{Error, PortalState, Result, Rows, SqlState};

/// The rows of a cursor.
pub(super) fn open_rows<'a>(cursor: &'a mut PortalState, name: &str) -> Result<&'a mut Rows> {
    match cursor {
        PortalState::Running(rows) => Ok(rows),
        PortalState::Ready | PortalState::Scrolling(_) | PortalState::Finished => {
            Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, format!("cursor \"{name}\" is not open")))
        }
    }
}
