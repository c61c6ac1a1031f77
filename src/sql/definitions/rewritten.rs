//! Properties that go, or get another name, in all entities of a table.
//!
//! They are written anew by the transaction that changes the columns, so there is never a column
//! whose property is half gone, and one of the same name that is added later is empty. A
//! transaction holds so much and no more: it says so where a table is too large.

use std::sync::Arc;

use futures::TryStreamExt;

use crate::writes::{MemoryBudget, properties_bytes, put};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::KeyRange;
use rowkey_postgres::cancellation::Signals;
use rowkey_storage::run::RunFiles;
use rowkey_storage::{Condition, Operation, Properties, Snapshot, TableSnapshot};

/// A table whose entities change with its columns.
#[derive(Debug, Clone)]
pub(crate) struct Rewritten {
    pub table: u64,
    pub changes: Vec<PropertyChange>,
}

#[derive(Debug, Clone)]
pub(crate) enum PropertyChange {
    Dropped(Arc<str>),
    Renamed { from: Arc<str>, to: Arc<str> },
}

impl PropertyChange {
    fn property(&self) -> &str {
        match self {
            PropertyChange::Dropped(name) | PropertyChange::Renamed { from: name, .. } => name,
        }
    }
}

impl Rewritten {
    /// The operations on the entities that change.
    pub(crate) async fn operations(
        &self,
        files: &Arc<RunFiles>,
        snapshot: &Snapshot,
        signals: &Signals,
        budget: &mut MemoryBudget,
    ) -> Result<(TableSnapshot, Vec<Operation<'static>>)> {
        let gone = || Error::new(SqlState::INTERNAL_ERROR, "a table whose columns change does not exist");
        let table = snapshot.table_snapshot(snapshot.table(self.table).ok_or_else(gone)?);
        let mut operations = Vec::new();
        let mut batches = table.range(Arc::clone(files), KeyRange::all());
        while let Some(batch) = batches.try_next().await? {
            signals.check()?;
            for entity in batch {
                let has = |change: &PropertyChange| entity.get(change.property()).is_some();
                if !self.changes.iter().any(has) {
                    continue;
                }
                let mut properties: Properties =
                    entity.properties().map(|(name, value)| (Arc::from(name), value.clone())).collect();
                for change in &self.changes {
                    apply(change, &mut properties).map_err(|message| {
                        let (partition, row) = (&entity.key.partition, &entity.key.row);
                        let detail = format!("It is a property of the entity ({partition}, {row}) without a column.");
                        Error::new(SqlState::DUPLICATE_COLUMN, message).with_detail(detail)
                    })?;
                }
                budget.take(
                    properties_bytes(&properties) + (entity.key.partition.len() + entity.key.row.len()) as u64 + 160,
                )?;
                let condition = Condition::Unchanged(Some(entity.timestamp));
                operations.push(put(self.table, entity.key, properties, condition));
            }
        }
        Ok((table, operations))
    }
}

fn apply(change: &PropertyChange, properties: &mut Properties) -> Result<(), String> {
    match change {
        PropertyChange::Dropped(gone) => properties.retain(|(name, _)| name != gone),
        PropertyChange::Renamed { from, to } => {
            let Some(place) = properties.iter().position(|(name, _)| name == from) else { return Ok(()) };
            if properties.iter().any(|(name, _)| name == to) {
                return Err(format!("property \"{to}\" already exists"));
            }
            properties[place].0 = Arc::clone(to);
        }
    }
    Ok(())
}
