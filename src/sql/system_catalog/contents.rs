//! What the catalog tells of: the relations of one snapshot, seen from one session.

use std::sync::{Arc, OnceLock};

use super::column_types::{ColumnType, namespace_of};
use super::oid::{self, Part};
use super::recorded::{Definition, RELATIONS, ROWKEY_RELATIONS};
use super::rowkey_schema::ROWKEY_SCHEMA;
use super::rows::Functions;
use super::session_info::SessionInfo;
use super::wanted::Wanted;
use crate::provider::TableColumns;
use rowkey_model::AccountName;
use rowkey_postgres::types::{type_by_name, type_of};
use rowkey_storage::run::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use rowkey_storage::{Snapshot, Table, View};

/// Longest identifier in PostgreSQL, in bytes.
const NAME_BYTES_MAX: usize = 63;
/// Bytes of a page, in which PostgreSQL counts sizes.
const PAGE_BYTES: u64 = 8192;

/// Everything that catalog relations are made from.
#[derive(Debug)]
pub(super) struct Contents {
    pub snapshot: Snapshot,
    pub account: AccountName,
    pub session: Arc<dyn SessionInfo>,
    /// Made when they are first asked for: functions of the catalog ask for each row.
    pub functions: Arc<OnceLock<Functions>>,
}

/// Where a relation comes from.
#[derive(Debug, Clone)]
pub(super) enum Body {
    System(&'static Definition),
    Table(Arc<Table>),
    /// The primary key of a table.
    KeyIndex(Arc<Table>),
    View(Arc<View>),
}

/// A relation: a row of `pg_class`.
#[derive(Debug, Clone)]
pub(super) struct Relation {
    pub oid: u32,
    pub schema: &'static str,
    pub name: Arc<str>,
    /// `relkind`: r, v or i.
    pub kind: char,
    pub body: Body,
}

/// A column of a relation: a row of `pg_attribute`.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub name: Arc<str>,
    /// From 1.
    pub number: i16,
    pub ty: ColumnType,
    pub not_null: bool,
    /// The expression in SQL.
    pub default: Option<&'static str>,
}

impl Contents {
    pub(super) fn functions(&self) -> &Functions {
        self.functions.get_or_init(|| Functions::of(self))
    }

    /// The tables of the account.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.snapshot.catalog.tables().filter(|table| table.account == self.account.as_str())
    }

    /// The views of the account.
    pub(super) fn views(&self) -> impl Iterator<Item = &Arc<View>> {
        self.snapshot.catalog.views().filter(|view| view.account == self.account.as_str())
    }

    /// All relations, or fewer, but at least those that are wanted.
    pub(super) fn relations(&self, wanted: &Wanted) -> impl Iterator<Item = Relation> + Send + use<> {
        let tables: Vec<Arc<Table>> = self.tables().cloned().collect();
        let views: Vec<Arc<View>> = self.views().cloned().collect();
        let wanted = wanted.clone();
        let system = definitions().filter_map(Relation::system);
        let own = tables.into_iter().flat_map(|table| {
            let relation = Relation::table(&table);
            [relation, Relation::key_index(&table)].into_iter().flatten()
        });
        let views = views.into_iter().filter_map(|view| Relation::view(&view));
        system.chain(own).chain(views).filter(move |relation| wanted.has(relation.oid, &relation.name, relation.schema))
    }

    /// Relations with rows of their own: tables and views, no indexes.
    pub(super) fn tables_and_views(&self, wanted: &Wanted) -> impl Iterator<Item = Relation> + Send + use<> {
        self.relations(wanted).filter(|relation| relation.kind != 'i')
    }

    /// The relation of an oid.
    pub(super) fn relation(&self, oid: u32) -> Option<Relation> {
        let Some((id, part)) = oid::part_of(oid) else {
            return definitions().find(|definition| definition.oid == oid).and_then(Relation::system);
        };
        if let Some(view) = self.snapshot.catalog.view_by_id(id) {
            let is_it = part == Part::Relation && view.account == self.account.as_str();
            return is_it.then(|| Relation::view(view)).flatten();
        }
        let table = self.snapshot.table(id).filter(|table| table.account == self.account.as_str())?;
        match part {
            Part::Relation => Relation::table(table),
            Part::KeyIndex => Relation::key_index(table),
            _ => None,
        }
    }

    /// The session's database.
    pub(super) fn database(&self) -> String {
        self.session.database().to_owned()
    }

    pub(super) fn user(&self) -> String {
        self.session.user().to_owned()
    }

    /// What stands for the last change of anything in the data folder.
    pub(super) fn transaction(&self) -> u32 {
        // Transactions below 3 are special, and 32 bits wrap.
        (self.snapshot.sequence % (u64::from(u32::MAX) - 3)) as u32 + 3
    }
}

/// The relations that every database has.
pub(super) fn definitions() -> impl Iterator<Item = &'static Definition> {
    RELATIONS.iter().chain(ROWKEY_RELATIONS.iter())
}

/// The schemas of every database.
pub(super) fn schemas() -> impl Iterator<Item = &'static str> {
    ["pg_catalog", "public", "information_schema", ROWKEY_SCHEMA].into_iter()
}

/// The relation of a name among those that every database has. Case is ignored, as of tables.
pub(super) fn definition(schema: &str, name: &str) -> Option<&'static Definition> {
    definitions().find(|definition| definition.schema == schema && definition.name.eq_ignore_ascii_case(name))
}

impl Relation {
    fn system(definition: &'static Definition) -> Option<Self> {
        let (oid, kind) = (definition.oid, definition.kind);
        Some(Self {
            oid,
            schema: definition.schema,
            name: definition.name.into(),
            kind,
            body: Body::System(definition),
        })
    }

    fn table(table: &Arc<Table>) -> Option<Self> {
        let oid = oid::of(table.id, Part::Relation)?;
        let name = table.name.as_str().into();
        Some(Self { oid, schema: "public", name, kind: 'r', body: Body::Table(Arc::clone(table)) })
    }

    fn key_index(table: &Arc<Table>) -> Option<Self> {
        let oid = oid::of(table.id, Part::KeyIndex)?;
        let name = key_name(table).into();
        Some(Self { oid, schema: "public", name, kind: 'i', body: Body::KeyIndex(Arc::clone(table)) })
    }

    fn view(view: &Arc<View>) -> Option<Self> {
        let oid = oid::of(view.id, Part::Relation)?;
        let name = view.name.as_str().into();
        Some(Self { oid, schema: "public", name, kind: 'v', body: Body::View(Arc::clone(view)) })
    }

    pub(super) fn namespace(&self) -> u32 {
        namespace_of(self.schema).unwrap_or(oid::PUBLIC)
    }

    /// Its row type and the array of it; 0 where there is none.
    pub(super) fn types(&self) -> (u32, u32) {
        match &self.body {
            Body::System(definition) => (definition.row_type, definition.array_type),
            Body::Table(table) => row_types(table.id),
            Body::View(view) => row_types(view.id),
            Body::KeyIndex(_) => (0, 0),
        }
    }

    /// The table of the data folder that this is, or is the index of.
    pub(super) fn stored(&self) -> Option<&Arc<Table>> {
        match &self.body {
            Body::Table(table) | Body::KeyIndex(table) => Some(table),
            Body::System(_) | Body::View(_) => None,
        }
    }

    /// Whether it belongs to the data folder.
    pub(super) fn is_own(&self) -> bool {
        !matches!(self.body, Body::System(_))
    }

    /// The table, if this is one of the data folder.
    pub(super) fn user_table(&self) -> Option<&Arc<Table>> {
        match &self.body {
            Body::Table(table) => Some(table),
            Body::System(_) | Body::KeyIndex(_) | Body::View(_) => None,
        }
    }

    pub(super) fn live_rows(&self) -> u64 {
        self.stored().map_or(0, |table| table.manifest.live_rows())
    }

    /// Bytes of its files. The key needs none beside the table's.
    pub(super) fn bytes(&self) -> u64 {
        self.user_table().map_or(0, |table| table.manifest.files().map(|file| file.bytes).sum())
    }

    /// The query of a view. What `pg_catalog` and `information_schema` call views are no queries
    /// here.
    pub(super) fn view_definition(&self) -> Option<String> {
        match &self.body {
            Body::View(view) => Some(view.sql.clone()),
            _ => None,
        }
    }

    pub(super) fn pages(&self) -> i32 {
        i32::try_from(self.bytes().div_ceil(PAGE_BYTES)).unwrap_or(i32::MAX)
    }

    /// How many columns it has, without making them all.
    pub(super) fn column_count(&self) -> usize {
        match &self.body {
            Body::System(definition) => definition.columns.len(),
            Body::KeyIndex(_) => KEY_COLUMNS.len(),
            Body::View(view) => view.columns.len(),
            Body::Table(table) => {
                // A property of several types has a column for each beside the one that shows them
                // all.
                let of_property = |types: usize| if types > 1 { types + 1 } else { types };
                let properties: usize = table.columns.iter().map(|column| of_property(column.types.len())).sum();
                FIXED_COLUMNS + properties + usize::from(table.has_other())
            }
        }
    }

    pub(super) fn columns(&self) -> Vec<Column> {
        match &self.body {
            Body::System(definition) => system_columns(definition),
            Body::Table(table) => table_columns(table),
            Body::View(view) => view_columns(view),
            Body::KeyIndex(table) => {
                let keys = table_columns(table).into_iter().take(KEY_COLUMNS.len());
                keys.map(|column| Column { not_null: false, ..column }).collect()
            }
        }
    }
}

/// The columns of a table's primary key, by name; their numbers are 1 and 2.
pub(super) const KEY_COLUMNS: [&str; 2] = [PARTITION_KEY, ROW_KEY];
/// Columns that every table has: the keys and Timestamp.
const FIXED_COLUMNS: usize = 3;
/// The number of the column that has a default, and the default.
pub(super) const TIMESTAMP_NUMBER: i16 = 3;
pub(super) const TIMESTAMP_DEFAULT: &str = "now()";

/// The name of a table's primary key and of its index, cut as PostgreSQL cuts it.
pub(super) fn key_name(table: &Table) -> String {
    const SUFFIX: &str = "_pkey";
    // Table names are ASCII.
    let stem: String = table.name.chars().take(NAME_BYTES_MAX - SUFFIX.len()).collect();
    format!("{stem}{SUFFIX}")
}

fn table_columns(table: &Table) -> Vec<Column> {
    let columns = TableColumns::of(table);
    let column = |(place, field): (usize, &Arc<arrow::datatypes::Field>)| {
        let timestamp = field.name() == TIMESTAMP;
        Some(Column {
            name: field.name().as_str().into(),
            number: i16::try_from(place + 1).ok()?,
            ty: ColumnType::of(type_of(field)?),
            not_null: !field.is_nullable(),
            default: timestamp.then_some(TIMESTAMP_DEFAULT),
        })
    };
    columns.visible().iter().enumerate().filter_map(column).collect()
}

fn view_columns(view: &View) -> Vec<Column> {
    let column = |(place, column): (usize, &rowkey_storage::ViewColumn)| {
        Some(Column {
            name: column.name.as_str().into(),
            number: i16::try_from(place + 1).ok()?,
            ty: ColumnType::of(type_by_name(&column.postgres_type)?),
            not_null: false,
            default: None,
        })
    };
    view.columns.iter().enumerate().filter_map(column).collect()
}

/// The oids of a relation's row type and of its array.
fn row_types(id: u64) -> (u32, u32) {
    let of = |part| oid::of(id, part).unwrap_or(0);
    (of(Part::RowType), of(Part::ArrayType))
}

fn system_columns(definition: &'static Definition) -> Vec<Column> {
    let column = |(place, column): (usize, &super::recorded::ColumnDefinition)| {
        Some(Column {
            name: column.name.into(),
            number: i16::try_from(place + 1).ok()?,
            ty: ColumnType::named(column.type_name)?,
            not_null: column.not_null,
            default: None,
        })
    };
    definition.columns.iter().enumerate().filter_map(column).collect()
}
