//! The table that a statement writes to, and what its columns take.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};

use crate::export_files::EXPORTS;
use crate::planner::PUBLIC;
use crate::planner::StatementPlanner;
use crate::provider::{ColumnSource, TableColumns};
use rowkey_base::{Error, Result, SqlState, Violated};
use rowkey_model::EdmType;
use rowkey_postgres::types::{PostgresType, oid, type_by_oid, type_of};
use rowkey_storage::run::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use rowkey_storage::{Table, TableSnapshot};

/// A table to write to, as a statement sees it.
#[derive(Debug, Clone)]
pub struct Target {
    pub snapshot: TableSnapshot,
    /// All columns, in the order in which SQL shows them.
    pub columns: Arc<[TargetColumn]>,
    /// The hidden columns, which are read of rows and never written.
    pub hidden: Arc<[TargetColumn]>,
}

/// A column that values are assigned to.
#[derive(Debug, Clone)]
pub struct TargetColumn {
    pub name: String,
    pub field: FieldRef,
    pub ty: &'static PostgresType,
    pub takes: Takes,
}

/// What becomes of a value that is assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Takes {
    PartitionKey,
    RowKey,
    /// Nothing: the server sets it.
    Timestamp,
    /// Nothing: the Timestamp in another form.
    Etag,
    /// Nothing: a DateTime, or the Timestamp, in another form.
    Ticks {
        property: Arc<str>,
    },
    /// A property in one type; narrower numbers are shown as well, unless `beside` is set: then the
    /// name of the type is part of the column's.
    Typed {
        property: Arc<str>,
        edm: EdmType,
        beside: bool,
    },
    /// A property in the type of the value.
    Widened {
        property: Arc<str>,
    },
    /// Nothing: properties without a column cannot be named.
    Other,
}

impl Takes {
    /// The property that is written.
    pub fn property(&self) -> Option<&Arc<str>> {
        match self {
            Takes::Typed { property, .. } | Takes::Widened { property } => Some(property),
            Takes::PartitionKey
            | Takes::RowKey
            | Takes::Timestamp
            | Takes::Etag
            | Takes::Ticks { .. }
            | Takes::Other => None,
        }
    }
}

impl Target {
    /// The table of a resolved name.
    pub(crate) fn of(planner: &StatementPlanner, schema: &str, name: &str, verb: &str) -> Result<Self> {
        if schema == EXPORTS {
            let message = format!("cannot change file \"{name}\": exports are only read");
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        if schema != PUBLIC {
            let message = format!("permission denied: \"{schema}.{name}\" is a system catalog");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let snapshot = planner.snapshot();
        let found =
            rowkey_model::TableName::parse(name).ok().and_then(|name| snapshot.catalog.table(planner.account(), &name));
        let Some(table) = found else {
            let message = format!("cannot {verb} view \"{name}\"");
            return Err(
                Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint("write to the tables that it reads")
            );
        };
        Self::new(snapshot.table_snapshot(table))
    }

    pub fn new(snapshot: TableSnapshot) -> Result<Self> {
        let columns_of_table = TableColumns::of(&snapshot.table);
        let mut columns = Vec::with_capacity(columns_of_table.visible().len());
        let column = |field: &FieldRef, takes: Takes| {
            let ty = type_of(field).or_else(|| type_by_oid(oid::TEXT)).ok_or_else(|| {
                Error::new(SqlState::INTERNAL_ERROR, format!("column \"{}\" has no type", field.name()))
            })?;
            Ok::<_, Error>(TargetColumn { name: field.name().clone(), field: Arc::clone(field), ty, takes })
        };
        for field in columns_of_table.visible() {
            let takes = match (field.name().as_str(), columns_of_table.source(field.name())) {
                (PARTITION_KEY, _) => Takes::PartitionKey,
                (ROW_KEY, _) => Takes::RowKey,
                (TIMESTAMP, _) => Takes::Timestamp,
                (name, Some(ColumnSource::Typed { property, edm })) => {
                    Takes::Typed { property: Arc::clone(property), edm: *edm, beside: name != &**property }
                }
                (_, Some(ColumnSource::Widened { property, to, is_declared: true, .. })) => {
                    Takes::Typed { property: Arc::clone(property), edm: to.edm(), beside: false }
                }
                (_, Some(ColumnSource::Widened { property, .. })) => Takes::Widened { property: Arc::clone(property) },
                (_, Some(_) | None) => Takes::Other,
            };
            columns.push(column(field, takes)?);
        }
        let mut hidden = Vec::new();
        for field in columns_of_table.hidden() {
            match columns_of_table.source(field.name()) {
                Some(ColumnSource::Etag) => hidden.push(column(field, Takes::Etag)?),
                Some(ColumnSource::Ticks { property }) => {
                    hidden.push(column(field, Takes::Ticks { property: Arc::clone(property) })?);
                }
                _ => {}
            }
        }
        Ok(Self { snapshot, columns: columns.into(), hidden: hidden.into() })
    }

    pub fn table(&self) -> &Arc<Table> {
        &self.snapshot.table
    }

    pub fn name(&self) -> &str {
        &self.snapshot.table.name
    }

    /// The place of a column by its exact name.
    pub fn place(&self, column: &str) -> Result<usize> {
        self.columns.iter().position(|found| found.name == column).ok_or_else(|| {
            let message = format!("column \"{column}\" of relation \"{}\" does not exist", self.name());
            Error::new(SqlState::UNDEFINED_COLUMN, message)
        })
    }

    /// A column of rows that are read back, by its exact name.
    pub(super) fn read(&self, column: &str) -> Result<&TargetColumn> {
        match self.hidden.iter().find(|hidden| hidden.name == column) {
            Some(hidden) => Ok(hidden),
            None => Ok(&self.columns[self.place(column)?]),
        }
    }

    /// The hidden columns that are the Timestamp in another form.
    pub(super) fn forms_of_timestamp(&self) -> impl Iterator<Item = &TargetColumn> {
        self.hidden.iter().filter(|column| match &column.takes {
            Takes::Etag => true,
            Takes::Ticks { property } => **property == *TIMESTAMP,
            _ => false,
        })
    }

    /// What INSERT and COPY mean without a list of columns: keys and properties, each once. Not
    /// Timestamp, which the server sets, nor the columns beside a property for each of its types.
    pub fn implied(&self) -> Vec<usize> {
        let implied = |column: &TargetColumn| match &column.takes {
            Takes::PartitionKey | Takes::RowKey | Takes::Widened { .. } => true,
            Takes::Typed { beside, .. } => !beside,
            Takes::Timestamp | Takes::Etag | Takes::Ticks { .. } | Takes::Other => false,
        };
        (0..self.columns.len()).filter(|place| implied(&self.columns[*place])).collect()
    }
}

impl TargetColumn {
    /// Refuses columns that take no value.
    pub fn check_written(&self, update: bool) -> Result<()> {
        match &self.takes {
            Takes::Timestamp | Takes::Etag | Takes::Ticks { .. } => {
                let name = &self.name;
                let error = match update {
                    false => format!("cannot insert a non-DEFAULT value into column \"{name}\""),
                    true => format!("column \"{name}\" can only be updated to DEFAULT"),
                };
                let detail = format!("Column \"{name}\" is kept by the server: it is the time of the last write.");
                Err(Error::new(SqlState::GENERATED_ALWAYS, error).with_detail(detail))
            }
            Takes::Other => {
                let message =
                    format!("column \"{}\" cannot be written: it holds properties without columns", self.name);
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .with_hint("ALTER TABLE ... ADD COLUMN gives a property one"))
            }
            Takes::PartitionKey | Takes::RowKey | Takes::Typed { .. } | Takes::Widened { .. } => Ok(()),
        }
    }

    /// The type of property that a value of an SQL type becomes here, and the Arrow type that it is
    /// read in. `None` where PostgreSQL has no assignment cast.
    pub fn taken(&self, from: &PostgresType) -> Option<(EdmType, DataType)> {
        let edm = match &self.takes {
            Takes::PartitionKey | Takes::RowKey => EdmType::String,
            Takes::Typed { edm, .. } => *edm,
            Takes::Widened { .. } => natural(from),
            Takes::Timestamp => EdmType::DateTime,
            Takes::Etag | Takes::Ticks { .. } | Takes::Other => return None,
        };
        assignable(from, edm).then(|| (edm, arrow_type(edm)))
    }
}

/// The type of property that an SQL type becomes where the column leaves it open.
fn natural(from: &PostgresType) -> EdmType {
    match from.oid {
        oid::BOOL => EdmType::Boolean,
        oid::INT2 | oid::INT4 => EdmType::Int32,
        oid::INT8 => EdmType::Int64,
        oid::FLOAT4 | oid::FLOAT8 | oid::NUMERIC => EdmType::Double,
        oid::TIMESTAMPTZ | oid::TIMESTAMP | oid::DATE => EdmType::DateTime,
        oid::UUID => EdmType::Guid,
        oid::BYTEA => EdmType::Binary,
        _ => EdmType::String,
    }
}

/// Whether PostgreSQL has a cast in assignments (`pg_cast.castcontext` a or i; to text there always
/// is one).
fn assignable(from: &PostgresType, to: EdmType) -> bool {
    let is_number = || matches!(from.oid, oid::INT2 | oid::INT4 | oid::INT8 | oid::NUMERIC | oid::FLOAT4 | oid::FLOAT8);
    match to {
        EdmType::String => true,
        EdmType::Int32 | EdmType::Int64 => is_number() || from.oid == oid::OID,
        EdmType::Double => is_number(),
        EdmType::Boolean => from.oid == oid::BOOL,
        EdmType::DateTime => matches!(from.oid, oid::TIMESTAMPTZ | oid::TIMESTAMP | oid::DATE),
        EdmType::Guid => from.oid == oid::UUID,
        EdmType::Binary => from.oid == oid::BYTEA,
    }
}

/// How Arrow holds a property's values where they are read one by one.
pub(super) fn arrow_type(edm: EdmType) -> DataType {
    match edm {
        EdmType::Binary => DataType::BinaryView,
        EdmType::Boolean => DataType::Boolean,
        EdmType::DateTime => rowkey_storage::run::utc_micros(),
        EdmType::Double => DataType::Float64,
        EdmType::Guid => DataType::FixedSizeBinary(16),
        EdmType::Int32 => DataType::Int32,
        EdmType::Int64 => DataType::Int64,
        EdmType::String => DataType::Utf8View,
    }
}

/// The error where PostgreSQL has no assignment cast.
pub(super) fn mismatch(column: &TargetColumn, from: &PostgresType) -> Error {
    let message = format!(
        "column \"{}\" is of type {} but expression is of type {}",
        column.name, column.ty.sql_name, from.sql_name
    );
    Error::new(SqlState::DATATYPE_MISMATCH, message).with_hint("You will need to rewrite or cast the expression.")
}

/// The table of a rule that is broken.
pub(super) fn violated(table: &str) -> Violated {
    Violated { schema: PUBLIC.to_owned(), table: table.to_owned(), ..Violated::default() }
}
