//! `CREATE TABLE` and `TRUNCATE`.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    ColumnDef, ColumnOption, CreateTable, DataType, Expr, Ident, IndexColumn, TableConstraint, TimezoneInfo, Truncate,
};

use super::Definition;
use super::relation_name::{Relation, existing, identifiers, name_in_public};
use crate::planner::StatementPlanner;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::{DateTime, EdmType, TableName, validate_property_name};
use rowkey_storage::run::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use rowkey_storage::{Edit, PropertyColumn};

pub(super) fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
}

/// The edits that make a table. The columns declared are hints of type: a property that has another
/// type in some entity is seen in a column beside the declared one. PartitionKey, RowKey and
/// Timestamp are there whether they are written or not.
pub(super) fn create_table(create: CreateTable, now: DateTime, planner: &StatementPlanner) -> Result<Definition> {
    refuse_options(&create)?;
    let name = name_in_public(&identifiers(&create.name)?, planner)?.value.clone();
    let name = TableName::parse(&name)?;
    if let Some(found) = Relation::named(planner.catalog(), planner.account(), name.as_str()) {
        if create.if_not_exists {
            let notice = format!("relation \"{}\" already exists, skipping", found.name());
            return Ok(Definition { notices: vec![notice.into()], ..Definition::default() });
        }
        return Err(Error::new(SqlState::DUPLICATE_TABLE, format!("relation \"{}\" already exists", found.name())));
    }
    create.constraints.iter().try_for_each(check_constraint)?;
    let mut columns: Vec<PropertyColumn> = Vec::new();
    let mut named: Vec<String> = Vec::new();
    for definition in &create.columns {
        let column = declared(definition)?;
        let written = column.as_ref().map_or_else(|| key_column(&definition.name), |column| Some(&*column.name));
        let written = written.unwrap_or(&definition.name.value).to_owned();
        if named.contains(&written) {
            let message = format!("column \"{written}\" specified more than once");
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
        }
        named.push(written);
        columns.extend(column);
    }
    let id = planner.catalog().next_table_id();
    let account = planner.account().as_str().to_owned();
    let created = Edit::CreateTable { id, account, name: name.as_str().to_owned(), created_ticks: now.ticks() };
    let mut edits = vec![created];
    if !columns.is_empty() {
        edits.push(Edit::SetColumns { table: id, columns });
    }
    Ok(Definition { edits, ..Definition::default() })
}

fn refuse_options(create: &CreateTable) -> Result<()> {
    if create.temporary {
        return Err(unsupported("CREATE TEMPORARY TABLE"));
    }
    if create.query.is_some() {
        return Err(unsupported("CREATE TABLE AS").with_hint("CREATE TABLE, then INSERT INTO ... SELECT"));
    }
    if create.like.is_some() || create.inherits.is_some() || create.partition_of.is_some() {
        return Err(unsupported("CREATE TABLE with LIKE, INHERITS or PARTITION OF"));
    }
    if create.partition_by.is_some() {
        return Err(unsupported("PARTITION BY").with_hint("a table is partitioned by \"PartitionKey\""));
    }
    let plain = CreateTable {
        name: create.name.clone(),
        columns: Vec::new(),
        constraints: Vec::new(),
        if_not_exists: create.if_not_exists,
        ..create.clone()
    };
    // What the parser writes for a table of nothing tells whether there is anything else.
    let rest = plain.to_string();
    let expected = |exists: &str| format!("CREATE TABLE {exists}{}", create.name);
    let bare = if create.if_not_exists { expected("IF NOT EXISTS ") } else { expected("") };
    let rest = rest.strip_prefix(&bare).map_or(rest.as_str(), |rest| rest.trim());
    if rest.is_empty() || rest == "()" { Ok(()) } else { Err(unsupported(format!("CREATE TABLE ... {rest}"))) }
}

/// PartitionKey, RowKey or Timestamp, if an identifier means one of them.
pub(super) fn key_column(name: &Ident) -> Option<&'static str> {
    [PARTITION_KEY, ROW_KEY, TIMESTAMP]
        .into_iter()
        .find(|key| *key == name.value || (name.quote_style.is_none() && key.eq_ignore_ascii_case(&name.value)))
}

/// The property that a definition declares; None for the keys and Timestamp, which are always
/// there.
pub(super) fn declared(definition: &ColumnDef) -> Result<Option<PropertyColumn>> {
    let name = &definition.name;
    let edm = property_type(&definition.data_type).ok_or_else(|| no_such_type(&definition.data_type, &name.value))?;
    let key = key_column(name);
    for option in &definition.options {
        match &option.option {
            ColumnOption::Null => {}
            ColumnOption::NotNull if key.is_some() => {}
            ColumnOption::NotNull => {
                let message = format!("NOT NULL of column \"{}\" is not supported", name.value);
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .with_hint("entities of a table need not have the same properties"));
            }
            ColumnOption::PrimaryKey(_) => return Err(primary_key()),
            other => return Err(unsupported(format!("{other} of column \"{}\"", name.value))),
        }
    }
    if let Some(key) = key {
        let wanted = if key == TIMESTAMP { EdmType::DateTime } else { EdmType::String };
        if edm != wanted {
            let ty = if key == TIMESTAMP { "timestamp with time zone" } else { "text" };
            let message = format!("column \"{key}\" is of type {ty}");
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        }
        return Ok(None);
    }
    validate_property_name(&name.value)?;
    Ok(Some(PropertyColumn { name: Arc::from(name.value.as_str()), types: vec![edm], declared: Some(edm) }))
}

fn primary_key() -> Error {
    let message = "the primary key of a table is (\"PartitionKey\", \"RowKey\")";
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .with_hint("PRIMARY KEY (\"PartitionKey\", \"RowKey\") may be written, or left out")
}

fn check_constraint(constraint: &TableConstraint) -> Result<()> {
    let TableConstraint::PrimaryKey(key) = constraint else {
        return Err(unsupported(format!("the constraint {constraint}")));
    };
    let name = |column: &IndexColumn| match &column.column.expr {
        Expr::Identifier(ident) => key_column(ident),
        _ => None,
    };
    let columns: Vec<_> = key.columns.iter().map(name).collect();
    if columns == [Some(PARTITION_KEY), Some(ROW_KEY)] { Ok(()) } else { Err(primary_key()) }
}

/// The type of property that holds values of an SQL type.
fn property_type(data_type: &DataType) -> Option<EdmType> {
    Some(match data_type {
        // A length, or a narrower type, would be a promise that properties do not keep.
        DataType::Text | DataType::Varchar(None) | DataType::CharacterVarying(None) | DataType::String(None) => {
            EdmType::String
        }
        DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) => EdmType::Int32,
        DataType::BigInt(_) | DataType::Int8(_) => EdmType::Int64,
        DataType::DoublePrecision | DataType::Float8 | DataType::Float(_) | DataType::Double(_) => EdmType::Double,
        DataType::Boolean | DataType::Bool => EdmType::Boolean,
        DataType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => EdmType::DateTime,
        DataType::Uuid => EdmType::Guid,
        DataType::Bytea => EdmType::Binary,
        DataType::Custom(name, arguments) if arguments.is_empty() => {
            match name.to_string().to_ascii_lowercase().as_str() {
                "timestamptz" => EdmType::DateTime,
                "text" => EdmType::String,
                "int8" => EdmType::Int64,
                "int4" => EdmType::Int32,
                "float8" => EdmType::Double,
                _ => return None,
            }
        }
        _ => return None,
    })
}

fn no_such_type(data_type: &DataType, column: &str) -> Error {
    let message = format!("column \"{column}\" cannot be of type {data_type}");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(
        "properties are text, integer, bigint, double precision, boolean, timestamp with time zone, uuid or bytea",
    )
}

/// The edits of TRUNCATE. Up to which write they reach is known when they are committed.
pub(super) fn truncate(truncate: &Truncate, planner: &StatementPlanner) -> Result<Definition> {
    if truncate.partitions.is_some() || truncate.on_cluster.is_some() {
        return Err(unsupported("an option of this TRUNCATE, which PostgreSQL does not have,"));
    }
    let mut definition = Definition::default();
    for target in &truncate.table_names {
        match existing(&identifiers(&target.name)?, planner) {
            Ok(Relation::Table(table)) => {
                let edit = Edit::TruncateTable { table: table.id, sequence: 0 };
                if !definition.edits.contains(&edit) {
                    definition.edits.push(edit);
                }
            }
            Ok(Relation::View(view)) => {
                return Err(Error::new(SqlState::INVALID_STATEMENT, format!("\"{}\" is not a table", view.name)));
            }
            Err(error) if truncate.if_exists && error.sqlstate() == SqlState::UNDEFINED_TABLE => {
                definition.notices.push(format!("{error}, skipping").into());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(definition)
}
