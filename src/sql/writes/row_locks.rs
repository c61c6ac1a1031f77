//! Rows that a transaction has read FOR UPDATE or FOR SHARE: at its commit they must be as it read
//! them.
//!
//! Nobody waits for such a row. FOR SHARE is checked by the commit, and FOR UPDATE is a write that
//! changes no property: the entity gets another Timestamp, so that of two transactions that read it
//! so, the second one fails.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::current_versions::current_versions;
use rowkey_base::Result;
use rowkey_model::Key;
use rowkey_postgres::cancellation::Signals;
use rowkey_storage::run::RunFiles;
use rowkey_storage::{Change, Condition, Operation, Snapshot};

/// What a key takes beside its text, in bytes.
const KEY_BYTES: u64 = 160;

/// Keys by table, each with the statements that asked for it.
#[derive(Debug, Default)]
pub(super) struct RowLocks {
    tables: BTreeMap<u64, HashMap<Key, ReadBy>>,
    bytes: u64,
}

/// Numbers of the first statements that read a row FOR SHARE or FOR UPDATE.
#[derive(Debug, Default)]
struct ReadBy {
    shared: Option<u64>,
    exclusive: Option<u64>,
}

/// The keys of a table that were read so, and whether FOR UPDATE.
pub(crate) struct LockedKeys {
    table: u64,
    keys: Vec<Key>,
    exclusive: Vec<bool>,
}

impl RowLocks {
    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn add(&mut self, table: u64, keys: impl IntoIterator<Item = Key>, is_exclusive: bool, statement: u64) {
        let of_table = self.tables.entry(table).or_default();
        for key in keys {
            let bytes = bytes_of(&key);
            let mut is_new = false;
            let read = of_table.entry(key).or_insert_with(|| {
                is_new = true;
                ReadBy::default()
            });
            let asked = if is_exclusive { &mut read.exclusive } else { &mut read.shared };
            asked.get_or_insert(statement);
            if is_new {
                self.bytes += bytes;
            }
        }
    }

    /// Forgets what statements after this one have asked for.
    pub(super) fn roll_back(&mut self, statement: u64) {
        let mut bytes = 0;
        self.tables.retain(|_, keys| {
            keys.retain(|key, read| {
                read.shared.take_if(|asked| *asked > statement);
                read.exclusive.take_if(|asked| *asked > statement);
                let stays = read.shared.is_some() || read.exclusive.is_some();
                bytes += if stays { bytes_of(key) } else { 0 };
                stays
            });
            !keys.is_empty()
        });
        self.bytes = bytes;
    }

    /// The table is dropped or truncated.
    pub(super) fn forget(&mut self, table: u64) {
        let gone = self.tables.remove(&table).unwrap_or_default();
        self.bytes -= gone.keys().map(bytes_of).sum::<u64>();
    }

    /// All keys but those that are written anyway.
    pub(super) fn keys_beside(&self, written: &[Operation<'_>]) -> Vec<LockedKeys> {
        let written: HashSet<(u64, &Key)> =
            written.iter().map(|operation| (operation.table, operation.key.as_ref())).collect();
        let of_table = |(&table, keys): (&u64, &HashMap<Key, ReadBy>)| {
            let beside = keys.iter().filter(|(key, _)| !written.contains(&(table, *key)));
            let (keys, exclusive) = beside.map(|(key, read)| (key.clone(), read.exclusive.is_some())).unzip();
            LockedKeys { table, keys, exclusive }
        };
        self.tables.iter().map(of_table).collect()
    }
}

fn bytes_of(key: &Key) -> u64 {
    KEY_BYTES + (key.partition.len() + key.row.len()) as u64
}

impl LockedKeys {
    /// The operations that check the rows and, of those that were read FOR UPDATE, write them as
    /// they are. Rows that the transaction has made itself are not among them.
    pub(crate) async fn operations(
        &self,
        seen: &Snapshot,
        files: &Arc<RunFiles>,
        signals: &Signals,
    ) -> Result<Vec<Operation<'static>>> {
        let Some(table) = seen.table(self.table) else { return Ok(Vec::new()) };
        let read = current_versions(&seen.table_snapshot(table), files, signals, &self.keys).await?;
        let rows = self.keys.iter().zip(&self.exclusive).zip(read);
        let operations = rows.filter_map(|((key, is_exclusive), entity)| {
            Some(Operation {
                table: self.table,
                key: Cow::Owned(key.clone()),
                change: if *is_exclusive { Change::Merge(Cow::Owned(Vec::new())) } else { Change::Keep },
                condition: Condition::Unchanged(Some(entity?.timestamp)),
            })
        });
        Ok(operations.collect())
    }
}
