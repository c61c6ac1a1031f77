//! Tables, views, and everything durable that is known of them: one immutable [`Catalog`] per
//! sequence number of the log.

mod comment;
mod service_settings;
mod view;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::manifest::{Manifest, RangePartition};
pub use comment::CommentObject;
use comment::Comments;
use rowkey_model::rows::PropertyNames;
use rowkey_model::{AccessPolicy, AccountName, EdmType, TableName};
use service_settings::ServiceSettings;
pub use view::{LiteralSettings, View, ViewColumn};

/// Most properties of a table that have columns of their own; the rest share the `(other)` column.
pub const COLUMNS_MAX: usize = 500;

/// A property with a column of its own, in every type that was ever stored: types only widen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropertyColumn {
    pub name: Arc<str>,
    pub types: Vec<EdmType>,
    /// The type that the column of this name has for ever, if it was declared; it is among the
    /// types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<EdmType>,
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
    /// Entity writes up to this sequence number are in run files, or gone with what they were
    /// written to.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub folded_sequence: u64,
}

/// Whether columns are those that there were before, with at least their types, and maybe more
/// behind them.
fn begin_with(columns: &[PropertyColumn], before: &[PropertyColumn]) -> bool {
    before.len() <= columns.len()
        && before
            .iter()
            .zip(columns)
            .all(|(old, new)| old.name == new.name && old.types.iter().all(|edm| new.types.contains(edm)))
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Table {
    /// Whether the columns are these still, with at least their types; there may be more behind
    /// them.
    pub fn keeps_columns(&self, before: &[PropertyColumn]) -> bool {
        let declared =
            |(old, new): (&PropertyColumn, &PropertyColumn)| old.declared.is_none() || old.declared == new.declared;
        begin_with(&self.columns, before) && before.iter().zip(&self.columns).all(declared)
    }

    /// Whether properties have the columns that they had in `before`, in their places, and no other
    /// has one of their names but for its case, by which SQL could mean either.
    pub fn keeps_columns_of<'n>(&self, before: &Self, mut properties: impl Iterator<Item = &'n str>) -> bool {
        properties.all(|property| {
            let place = before.columns.iter().position(|column| *column.name == *property);
            place.is_some_and(|place| self.columns.get(place) == before.columns.get(place))
                && !self
                    .columns
                    .iter()
                    .any(|other| *other.name != *property && other.name.eq_ignore_ascii_case(property))
        })
    }

    /// Whether entities may have properties in the `(other)` column.
    pub fn has_other(&self) -> bool {
        self.columns.len() >= COLUMNS_MAX || self.manifest.files().any(|file| file.other)
    }

    /// By property number: the place of its column, or none where it has none.
    pub fn column_ranks(&self, names: &PropertyNames) -> Vec<Option<u32>> {
        let mut ranks = Vec::new();
        for (rank, column) in self.columns.iter().enumerate() {
            let id = names.intern(&column.name).index();
            if ranks.len() <= id {
                ranks.resize(id + 1, None);
            }
            ranks[id] = Some(rank as u32);
        }
        ranks
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
    /// All columns of a table: those it had, in their order and with at least their types, and new
    /// ones behind them.
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
    /// Which rows of a file are no longer live (base64 of a portable roaring bitmap in the file's
    /// description).
    MaskRows {
        table: u64,
        file: Box<super::run::RunFile>,
    },
    /// A property has no column any more. The record that says so takes it from every entity.
    DropColumn {
        table: u64,
        name: Arc<str>,
    },
    /// The column of a property is that of another one, which had none. The record that says so
    /// renames it in every entity.
    RenameColumn {
        table: u64,
        from: Arc<str>,
        to: Arc<str>,
    },
    RenameTable {
        id: u64,
        name: String,
    },
    /// Entity writes up to this sequence number are in the run files that this record names.
    SetFolded {
        table: u64,
        sequence: u64,
    },
    /// All entities go, those of writes up to this sequence number as well.
    TruncateTable {
        table: u64,
        sequence: u64,
    },
    /// `reads` are the ids of the tables and views that the query names. With `replaces`, the view
    /// `id` takes this form.
    CreateView {
        id: u64,
        account: String,
        name: String,
        sql: String,
        columns: Vec<ViewColumn>,
        reads: Vec<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        literals: Option<LiteralSettings>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        replaces: bool,
    },
    DropView {
        id: u64,
    },
    /// Without a text, the comment is taken away.
    SetComment {
        account: String,
        object: CommentObject,
        text: Option<String>,
    },
    /// All stored access policies of a table.
    SetAccessPolicies {
        table: u64,
        policies: Vec<AccessPolicy>,
    },
    /// The properties of the Table service for an account, in the form of the door that sets them.
    SetServiceProperties {
        account: String,
        text: String,
    },
    /// All keys of an account, in base64.
    SetAccountKeys {
        account: String,
        keys: Vec<String>,
    },
}

impl Edit {
    /// Whether it says what has become of entity writes. Programs that know no such writes do not
    /// read these.
    pub(super) fn concerns_writes(&self) -> bool {
        matches!(
            self,
            Edit::SetFolded { .. } | Edit::TruncateTable { .. } | Edit::DropColumn { .. } | Edit::RenameColumn { .. }
        )
    }

    /// Whether it is about tables alone. Programs that know no views read these, and no others.
    pub(super) fn is_of_tables(&self) -> bool {
        !matches!(self, Edit::CreateView { .. } | Edit::DropView { .. } | Edit::SetComment { .. })
            && !self.is_of_service()
    }

    /// Whether it is about what the Table service keeps beside entities. Programs that know nothing
    /// of it do not read these.
    pub(super) fn is_of_service(&self) -> bool {
        matches!(self, Edit::SetAccessPolicies { .. } | Edit::SetServiceProperties { .. } | Edit::SetAccountKeys { .. })
    }
}

/// Everything the log says up to one sequence number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    tables: BTreeMap<u64, Arc<Table>>,
    /// Of tables and views alike.
    next_table_id: u64,
    next_file_id: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    views: BTreeMap<u64, Arc<View>>,
    #[serde(default, skip_serializing_if = "Comments::is_empty")]
    comments: Comments,
    #[serde(default, skip_serializing_if = "ServiceSettings::is_empty")]
    service_settings: ServiceSettings,
}

impl Catalog {
    /// The tables of all accounts, by ascending id.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.values()
    }

    /// The table of an account by its name, whatever the case.
    pub fn table(&self, account: &AccountName, name: &TableName) -> Option<&Arc<Table>> {
        self.tables
            .values()
            .find(|table| table.account == account.as_str() && table.name.eq_ignore_ascii_case(name.as_str()))
    }

    /// Whether there are views, of any account.
    pub fn has_views(&self) -> bool {
        !self.views.is_empty()
    }

    /// The table of an id.
    pub fn table_by_id(&self, id: u64) -> Option<&Arc<Table>> {
        self.tables.get(&id)
    }

    /// Never given out before: the id of the next table or view.
    pub fn next_table_id(&self) -> u64 {
        self.next_table_id.max(1)
    }

    /// Greater than the number of any file named so far.
    pub fn next_file_id(&self) -> u64 {
        self.next_file_id.max(1)
    }

    /// Whether there are tables alone.
    #[cfg(test)]
    pub(super) fn is_of_tables(&self) -> bool {
        self.views.is_empty() && self.comments.is_empty() && self.service_settings.is_empty()
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
                if *id < self.next_table_id {
                    return Err(format!("table {name} ({id}) is created twice"));
                }
                if self.name_is_taken(account, name) {
                    return Err(format!("relation \"{name}\" already exists"));
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
                    folded_sequence: 0,
                };
                self.tables.insert(*id, Arc::new(table));
            }
            Edit::DropTable { id } => {
                self.refuse_if_read(*id)?;
                self.comments.forget(*id);
                self.service_settings.forget(*id);
                self.tables.remove(id).ok_or_else(|| format!("table {id} is dropped and does not exist"))?;
            }
            Edit::SetColumns { table, columns } => {
                let table = self.table_mut(*table)?;
                if !begin_with(columns, &table.columns) {
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
            Edit::DropColumn { table, name } => {
                let place = self.column_place(*table, name)?;
                self.comments.forget_column(*table, name);
                let table = self.table_mut(*table)?;
                table.columns.remove(place);
                table.schema_version += 1;
            }
            Edit::RenameColumn { table, from, to } => {
                let place = self.column_place(*table, from)?;
                if self.column_place(*table, to).is_ok() {
                    return Err(format!("column {from} of table {table} is renamed to {to}, which exists"));
                }
                self.comments.rename_column(*table, from, to);
                let table = self.table_mut(*table)?;
                table.columns[place].name = Arc::clone(to);
                table.schema_version += 1;
            }
            Edit::RenameTable { id, name } => {
                let account = self.table_mut(*id)?.account.clone();
                let own = self.table_by_id(*id).is_some_and(|table| table.name.eq_ignore_ascii_case(name));
                if !own && self.name_is_taken(&account, name) {
                    return Err(format!("relation \"{name}\" already exists"));
                }
                self.table_mut(*id)?.name.clone_from(name);
            }
            Edit::SetFolded { table, sequence } => {
                let table = self.table_mut(*table)?;
                table.folded_sequence = table.folded_sequence.max(*sequence);
            }
            Edit::TruncateTable { table, sequence } => {
                let table = self.table_mut(*table)?;
                table.manifest = Manifest::default();
                table.folded_sequence = table.folded_sequence.max(*sequence);
            }
            Edit::CreateView { id, account, name, sql, columns, reads, literals, replaces } => {
                let view = View {
                    id: *id,
                    account: account.clone(),
                    name: name.clone(),
                    sql: sql.clone(),
                    columns: columns.clone(),
                    reads: reads.clone(),
                    literals: literals.clone(),
                };
                self.create_view(view, *replaces)?;
            }
            Edit::DropView { id } => self.drop_view(*id)?,
            Edit::SetComment { account, object, text } => self.set_comment(account, object, text.as_deref())?,
            Edit::SetAccessPolicies { table, policies } => self.set_access_policies(*table, policies)?,
            Edit::SetServiceProperties { account, text } => self.set_service_properties(account, text),
            Edit::SetAccountKeys { account, keys } => self.set_account_keys(account, keys),
        }
        Ok(())
    }

    fn column_place(&self, table: u64, name: &str) -> Result<usize, String> {
        let found = self.tables.get(&table).and_then(|table| table.columns.iter().position(|at| *at.name == *name));
        found.ok_or_else(|| format!("column {name} of table {table} does not exist"))
    }

    fn table_mut(&mut self, id: u64) -> Result<&mut Table, String> {
        self.tables.get_mut(&id).map(Arc::make_mut).ok_or_else(|| format!("table {id} does not exist"))
    }
}

#[cfg(test)]
mod tests;
