//! From a checkpoint and the records behind it to the newest state.
//!
//! A checkpoint holds the catalog after one record, and covers the log up to an earlier one if
//! entity writes between the two are not in run files yet: those are replayed, the catalog edits
//! among them are not.

use serde::{Deserialize, Serialize};

use crate::catalog::{Catalog, Edit};
use crate::delta::{Deltas, TableDelta, follow_edits};
use crate::error::{Error, Result};
use crate::key_filter::KeyHash;
use crate::log::{Checkpoint, Covered, Record};
use crate::records::{self, CATALOG_EDITS, DEFINITION_EDITS, ENTITY_WRITES, SERVICE_EDITS};
use rowkey_model::DateTime;
use std::sync::Arc;

/// Formats of the content of a checkpoint: a catalog of tables alone, one with views or comments,
/// and one with the sequence number that it is of. Programs refuse those that they do not know.
const CHECKPOINT_OF_TABLES: u32 = 1;
const CHECKPOINT_OF_DEFINITIONS: u32 = 2;
pub(crate) const CHECKPOINT_WITH_SEQUENCE: u32 = 3;

/// What a checkpoint of the newest format holds.
#[derive(Debug, Serialize)]
pub(crate) struct CheckpointContent<'a> {
    /// Of the record that the catalog is of.
    pub sequence: u64,
    pub catalog: &'a Catalog,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointRead {
    sequence: u64,
    catalog: Catalog,
}

/// The state while the log is replayed.
#[derive(Debug)]
pub(crate) struct Recovery {
    /// Sequence number of the last record that is not replayed.
    pub from: u64,
    /// Edits up to this one are in the catalog.
    catalog_sequence: u64,
    catalog: Catalog,
    deltas: Deltas,
    last_timestamp: DateTime,
    log_bytes: u64,
}

/// The state after the last record.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub catalog: Catalog,
    pub deltas: Deltas,
    pub last_timestamp: DateTime,
    pub log_bytes: u64,
}

impl Default for Recovery {
    fn default() -> Self {
        Self::new(0, 0, Catalog::default())
    }
}

impl Recovery {
    fn new(from: u64, catalog_sequence: u64, catalog: Catalog) -> Self {
        let deltas = catalog.tables().map(|table| (table.id, Arc::default())).collect();
        Self { from, catalog_sequence, catalog, deltas, last_timestamp: DateTime::MIN, log_bytes: 0 }
    }

    pub(crate) fn from_checkpoint(checkpoint: &Checkpoint) -> Result<Self> {
        let no_catalog =
            |error: serde_json::Error| Error::corrupt(&checkpoint.path, format!("it is no catalog: {error}"));
        match checkpoint.version {
            CHECKPOINT_OF_TABLES | CHECKPOINT_OF_DEFINITIONS => {
                let catalog = serde_json::from_slice(&checkpoint.content).map_err(no_catalog)?;
                Ok(Self::new(checkpoint.sequence, checkpoint.sequence, catalog))
            }
            _ => {
                let read: CheckpointRead = serde_json::from_slice(&checkpoint.content).map_err(no_catalog)?;
                Ok(Self::new(checkpoint.sequence, read.sequence, read.catalog))
            }
        }
    }

    /// What the checkpoint says of the log, before records were followed.
    pub(crate) fn covered(&self) -> Covered {
        Covered { from: self.from, known: self.catalog_sequence.max(self.from) }
    }

    /// The catalog as far as records were followed.
    pub(crate) fn into_catalog(self) -> Catalog {
        self.catalog
    }

    /// Follows one record; the error says what is wrong with it.
    pub(crate) fn apply(&mut self, record: &Record) -> Result<(), String> {
        self.log_bytes += record.payload.len() as u64;
        let (edits, writes): (Vec<Edit>, _) = match record.kind {
            CATALOG_EDITS | DEFINITION_EDITS | SERVICE_EDITS => {
                let edits = serde_json::from_slice(&record.payload);
                (edits.map_err(|error| format!("it holds no catalog edits: {error}"))?, Vec::new())
            }
            ENTITY_WRITES => records::decode(&record.payload)?,
            kind => return Err(format!("its kind {kind} is unknown to this version")),
        };
        if record.sequence > self.catalog_sequence && !edits.is_empty() {
            self.catalog = self.catalog.apply(&edits)?;
            follow_edits(&mut self.deltas, &edits);
        }
        for table in writes {
            let Some(delta) = self.deltas.get_mut(&table.table) else {
                if record.sequence > self.catalog_sequence {
                    return Err(format!("it writes to table {}, which does not exist", table.table));
                }
                // Dropped by a later record that the catalog has seen.
                continue;
            };
            let folded = self.catalog.table_by_id(table.table).map_or(0, |table| table.folded_sequence);
            if record.sequence <= folded {
                continue;
            }
            for version in table.versions(delta.names())? {
                let at = version.timestamp().unwrap_or(DateTime::MIN);
                self.last_timestamp = self.last_timestamp.max(at);
                delta.active().add(record.sequence, KeyHash::of(version.key_bytes()), version);
            }
            if delta.active().is_full() {
                *delta = Arc::new(delta.sealed());
            }
        }
        Ok(())
    }

    /// The state, once all records were followed: up to that of the catalog at least.
    pub(crate) fn finish(mut self) -> Recovered {
        for (id, delta) in &mut self.deltas {
            let folded = self.catalog.table_by_id(*id).map_or(0, |table| table.folded_sequence);
            // A fold takes whole generations, and recovery seals at other places.
            if delta.first_sequence().is_some_and(|first| first <= folded) {
                *delta = Arc::new(TableDelta::above(delta, folded));
            }
        }
        let Self { catalog, deltas, last_timestamp, log_bytes, .. } = self;
        Recovered { catalog, deltas, last_timestamp, log_bytes }
    }
}
