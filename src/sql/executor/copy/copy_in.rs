//! COPY FROM STDIN under way.

use super::entities_in::EntitiesIn;
use super::rows_in::RowsIn;

/// A COPY FROM STDIN under way: bytes in, in one of two kinds of formats.
#[derive(Debug)]
pub enum CopyIn {
    /// Fields for columns, which are written as INSERT writes them.
    Rows(Box<RowsIn>),
    /// Entities with their own properties and types, which are imported.
    Entities(Box<EntitiesIn>),
}

impl CopyIn {
    /// How many fields a row has; entities have none in common.
    pub fn width(&self) -> usize {
        match self {
            Self::Rows(rows) => rows.width(),
            Self::Entities(_) => 0,
        }
    }

    /// Rows or entities read so far.
    pub(crate) fn rows(&self) -> u64 {
        match self {
            Self::Rows(rows) => rows.count(),
            Self::Entities(entities) => entities.count(),
        }
    }

    pub fn is_binary(&self) -> bool {
        match self {
            Self::Rows(rows) => rows.is_binary(),
            Self::Entities(entities) => entities.is_binary(),
        }
    }
}
