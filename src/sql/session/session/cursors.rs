//! Moving in cursors.

use super::{Outcome, Session};
use crate::executor::{Portal, PortalState};
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::syntax::Direction;

impl Session {
    /// FETCH gives the rows to the caller, who takes them from the portal; MOVE and what is skipped
    /// is thrown away here.
    pub(super) async fn fetch(&mut self, name: &str, direction: Direction, wants_rows: bool) -> Result<Outcome> {
        self.cursor(name)?;
        let mut portal = self.take_portal(name)?;
        if let PortalState::Scrolling(rows) = &mut portal.state {
            let fetched = match wants_rows {
                true => rows.fetch(direction).await.map(Outcome::Rows),
                false => rows.pass(direction).await.map(|moved| Outcome::Done(format!("MOVE {moved}"))),
            };
            self.put_portal(name, portal);
            return fetched;
        }
        let skipped = skip_rows(&mut portal, name, direction, wants_rows).await;
        self.put_portal(name, portal);
        let (moved, rows_max) = skipped?;
        match wants_rows {
            true => Ok(Outcome::FromCursor { name: name.to_owned(), rows_max }),
            false => Ok(Outcome::Done(format!("MOVE {moved}"))),
        }
    }
}

/// Passes over rows of a cursor that only goes forward: how many rows were moved to, and how many
/// are wanted from there.
async fn skip_rows(portal: &mut Portal, name: &str, direction: Direction, wants_rows: bool) -> Result<(u64, u64)> {
    let PortalState::Running(rows) = &mut portal.state else {
        return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, format!("cursor \"{name}\" is not open")));
    };
    let forward_only = || {
        Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
            .with_hint("Declare it with SCROLL option to enable backward scan.")
    };
    let (skip, wanted) = match direction {
        // The row that it is at, once more.
        Direction::Forward(Some(0)) | Direction::Backward(Some(0)) | Direction::Relative(0)
            if wants_rows && rows.taken > 0 =>
        {
            return Err(forward_only());
        }
        Direction::Forward(count) => (0, count.unwrap_or(u64::MAX)),
        Direction::Backward(Some(0)) => (0, 0),
        Direction::Absolute(place) if place > 0 && place.unsigned_abs() > rows.taken => {
            (place.unsigned_abs() - rows.taken - 1, 1)
        }
        Direction::Relative(places) if places > 0 => (places.unsigned_abs() - 1, 1),
        _ => return Err(forward_only()),
    };
    let drop_rows = if wants_rows { skip } else { skip.saturating_add(wanted) };
    let mut dropped = 0;
    while dropped < drop_rows {
        let most = usize::try_from(drop_rows - dropped).unwrap_or(usize::MAX);
        let Some(batch) = rows.next(most).await? else { break };
        dropped += batch.num_rows() as u64;
    }
    let moved = if wanted == 1 { dropped.saturating_sub(skip) } else { dropped };
    Ok((moved, wanted))
}
