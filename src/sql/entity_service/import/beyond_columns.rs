//! Properties of an import that get no columns of their own, because there are too many of them.

use std::collections::HashSet;

use rowkey_model::rows::{PropertyNames, Rows};
use rowkey_storage::{COLUMNS_MAX, PropertyColumn};

/// Which properties have values, looked at only where there may be more of them than columns: most
/// tables are far from that.
#[derive(Debug)]
pub(super) struct PropertiesMet {
    /// More names than this do not fit.
    room: usize,
    /// Names that there were when the last rows were noted.
    known: usize,
    /// By number of the property.
    met: Option<Vec<bool>>,
}

impl PropertiesMet {
    /// Of an import into a table that has so many columns.
    pub(super) fn beside(columns: usize) -> Self {
        Self { room: COLUMNS_MAX.saturating_sub(columns), known: 0, met: None }
    }

    /// Takes note of the next rows of the input.
    pub(super) fn note(&mut self, rows: &Rows, names: &PropertyNames) {
        let met = match &mut self.met {
            Some(met) => met,
            None if names.len() <= self.room => {
                self.known = names.len();
                return;
            }
            // What was named before was in rows that are gone.
            None => self.met.insert(vec![true; self.known]),
        };
        for (id, _) in rows.iter().flat_map(|row| row.properties()) {
            if met.len() <= id.index() {
                met.resize(id.index() + 1, false);
            }
            met[id.index()] = true;
        }
    }

    /// How many of them are none of these columns.
    pub(super) fn beyond(&self, columns: &[PropertyColumn], names: &PropertyNames) -> u64 {
        let Some(met) = &self.met else { return 0 };
        let columns: HashSet<&str> = columns.iter().map(|column| &*column.name).collect();
        let all = names.all();
        all.iter().zip(met).filter(|(name, met)| **met && !columns.contains(&***name)).count() as u64
    }
}
