//! Computing again what the manifest says of a file's rows.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::run_file::{ColumnSummary, RunFile};
use super::statistics::{ColumnStatistics, ValueHasher};
use super::to_rows::EntityColumns;
use rowkey_model::Key;

/// Counts and bounds of all rows of a file, masked ones included, gathered batch by batch.
#[derive(Debug)]
pub struct Recount {
    hasher: ValueHasher,
    statistics: Vec<ColumnStatistics>,
    partitions: u64,
    first: Option<Key>,
    last: Option<Key>,
}

impl Recount {
    /// Starts a count of the columns of a file.
    pub fn of(run: &RunFile) -> Self {
        let statistics = run.columns.iter().map(|_| ColumnStatistics::new()).collect();
        Self { hasher: ValueHasher::default(), statistics, partitions: 0, first: None, last: None }
    }

    /// Takes the next rows.
    pub fn add(&mut self, columns: &EntityColumns<'_>) {
        for i in 0..columns.len() {
            let key = columns.key(i);
            if self.last.as_ref().is_none_or(|last| last.partition != key.partition) {
                self.partitions += 1;
            }
            if self.first.is_none() {
                self.first = Some(key.to_key());
            }
            match &mut self.last {
                Some(last) => {
                    key.partition.clone_into(&mut last.partition);
                    key.row.clone_into(&mut last.row);
                }
                None => self.last = Some(key.to_key()),
            }
            for (place, statistics) in self.statistics.iter_mut().enumerate() {
                if let Some(value) = columns.value(place, i) {
                    statistics.add(value, &self.hasher);
                }
            }
        }
    }

    /// Where the manifest says something else, when all rows were taken.
    pub fn difference(&self, run: &RunFile) -> Option<String> {
        if self.partitions != run.partitions {
            return Some(format!("it has {} PartitionKeys, the manifest says {}", self.partitions, run.partitions));
        }
        if self.first.as_ref() != Some(&run.first) || self.last.as_ref() != Some(&run.last) {
            return Some("its first or last key is not the one in the manifest".to_owned());
        }
        for (summary, statistics) in run.columns.iter().zip(&self.statistics) {
            let name = summary.column.name();
            if summary.entities != statistics.entities {
                return Some(format!(
                    "column {name} has {} values, the manifest says {}",
                    statistics.entities, summary.entities
                ));
            }
            let (min, max) = statistics.bounds(summary.column.edm).unzip();
            if (&summary.min, &summary.max) != (&min, &max) {
                return Some(format!("the least or greatest value of column {name} is not the one in the manifest"));
            }
        }
        None
    }

    /// The file as the manifest should describe it; `None` if it has no rows.
    pub fn corrected(&self, run: &RunFile) -> Option<RunFile> {
        let summary = |(summary, statistics): (&ColumnSummary, &ColumnStatistics)| {
            let (min, max) = statistics.bounds(summary.column.edm).unzip();
            ColumnSummary { column: summary.column.clone(), entities: statistics.entities, min, max }
        };
        let rows = u32::try_from(run.rows).unwrap_or(u32::MAX);
        let mask = run.mask.as_ref().map(|mask| mask.iter().filter(|row| *row < rows).collect::<RoaringBitmap>());
        Some(RunFile {
            first: self.first.clone()?,
            last: self.last.clone()?,
            partitions: self.partitions,
            columns: run.columns.iter().zip(&self.statistics).map(summary).collect(),
            mask: mask.filter(|mask| !mask.is_empty()).map(Arc::new),
            ..run.clone()
        })
    }
}
