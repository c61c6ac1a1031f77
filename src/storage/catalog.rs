//! Tables, and everything durable that is known of them: one immutable [`Catalog`] per sequence number of the log.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::manifest::{Manifest, RangePartition};
use crate::model::{AccountName, EdmType, TableName};

/// Most properties of a table that have columns of their own; the rest share the `(other)` column.
pub const COLUMNS_MAX: usize = 500;

/// A property with a column of its own, in every type that was ever stored: types only widen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropertyColumn {
    pub name: Arc<str>,
    pub types: Vec<EdmType>,
}

/// A table at one point in time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    pub id: u64,
    pub account: String,
    pub name: String,
    /// 100 ns ticks since 1970.
    pub created_ticks: i64,
    /// In the order in which the properties got their columns, which they keep.
    pub columns: Vec<PropertyColumn>,
    /// Counts the changes of `columns`.
    pub schema_version: u64,
    pub manifest: Manifest,
}

impl Table {
    /// Whether some entity has properties in the `(other)` column.
    pub fn has_other(&self) -> bool {
        self.manifest.files().any(|file| file.other)
    }
}

/// One step from a catalog to the next; a log record is a list of them, applied together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Edit {
    CreateTable {
        id: u64,
        account: String,
        name: String,
        created_ticks: i64,
    },
    DropTable {
        id: u64,
    },
    /// All columns of a table: those it had, in their order and with at least their types, and new ones behind them.
    SetColumns {
        table: u64,
        columns: Vec<PropertyColumn>,
    },
    /// Range partitions `from..to` are replaced.
    ReplaceRanges {
        table: u64,
        from: usize,
        to: usize,
        ranges: Vec<RangePartition>,
    },
    /// Which rows of a file are no longer live (base64 of a portable roaring bitmap in the file's description).
    MaskRows {
        table: u64,
        file: Box<super::run::RunFile>,
    },
}

/// Everything the log says up to one sequence number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Catalog {
    tables: BTreeMap<u64, Arc<Table>>,
    next_table_id: u64,
    next_file_id: u64,
}

impl Catalog {
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.values()
    }

    /// The table of an account by its name, whatever the case.
    pub fn table(&self, account: &AccountName, name: &TableName) -> Option<&Arc<Table>> {
        self.tables
            .values()
            .find(|table| table.account == account.as_str() && table.name.eq_ignore_ascii_case(name.as_str()))
    }

    pub fn table_by_id(&self, id: u64) -> Option<&Arc<Table>> {
        self.tables.get(&id)
    }

    /// Never given out before.
    pub fn next_table_id(&self) -> u64 {
        self.next_table_id.max(1)
    }

    /// Greater than the number of any file named so far.
    pub fn next_file_id(&self) -> u64 {
        self.next_file_id.max(1)
    }

    /// The catalog after `edits`; the error says which one does not fit.
    pub fn apply(&self, edits: &[Edit]) -> Result<Catalog, String> {
        let mut next = self.clone();
        for edit in edits {
            next.apply_one(edit)?;
        }
        Ok(next)
    }

    fn apply_one(&mut self, edit: &Edit) -> Result<(), String> {
        match edit {
            Edit::CreateTable { id, account, name, created_ticks } => {
                let twin = |t: &&Arc<Table>| t.account == *account && t.name.eq_ignore_ascii_case(name);
                if *id < self.next_table_id || self.tables.values().any(|table| twin(&table)) {
                    return Err(format!("table {name} ({id}) is created twice"));
                }
                self.next_table_id = id + 1;
                let table = Table {
                    id: *id,
                    account: account.clone(),
                    name: name.clone(),
                    created_ticks: *created_ticks,
                    columns: Vec::new(),
                    schema_version: 0,
                    manifest: Manifest::default(),
                };
                self.tables.insert(*id, Arc::new(table));
            }
            Edit::DropTable { id } => {
                self.tables.remove(id).ok_or_else(|| format!("table {id} is dropped and does not exist"))?;
            }
            Edit::SetColumns { table, columns } => {
                let table = self.table_mut(*table)?;
                let kept =
                    table.columns.len() <= columns.len()
                        && table.columns.iter().zip(columns).all(|(old, new)| {
                            old.name == new.name && old.types.iter().all(|edm| new.types.contains(edm))
                        });
                if !kept {
                    return Err(format!("table {} loses columns", table.name));
                }
                table.columns = columns.clone();
                table.schema_version += 1;
            }
            Edit::ReplaceRanges { table, from, to, ranges } => {
                let newest = ranges.iter().flat_map(|range| &range.files).map(|file| file.id + 1).max();
                let table = self.table_mut(*table)?;
                table.manifest = table
                    .manifest
                    .with_ranges_replaced(*from, *to, ranges)
                    .ok_or_else(|| format!("range partitions {from}..{to} of table {} do not fit", table.name))?;
                self.next_file_id = self.next_file_id.max(newest.unwrap_or(0));
            }
            Edit::MaskRows { table, file } => {
                let table = self.table_mut(*table)?;
                table.manifest = table
                    .manifest
                    .with_mask(file.id, file.mask.clone())
                    .ok_or_else(|| format!("file {} of table {} does not exist", file.id, table.name))?;
            }
        }
        Ok(())
    }

    fn table_mut(&mut self, id: u64) -> Result<&mut Table, String> {
        self.tables.get_mut(&id).map(Arc::make_mut).ok_or_else(|| format!("table {id} does not exist"))
    }
}
