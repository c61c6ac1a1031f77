//! The types of columns, as `pg_attribute` describes them, and how Arrow holds the catalog's own.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::oid;
use super::recorded::ColumnDefinition;
use rowkey_postgres::types::{PostgresType, type_by_name, typed_field};

/// Columns that relations of `pg_catalog` have and `*` does not show; they stand behind the others.
pub(super) const HIDDEN: &[&str] = &["xmin", "tableoid"];

/// A domain of `information_schema`.
#[derive(Debug)]
pub(super) struct Domain {
    pub oid: u32,
    pub array_oid: u32,
    pub name: &'static str,
    pub base: &'static str,
    pub modifier: i32,
    pub collation: u32,
}

/// As PostgreSQL has them.
pub(super) static DOMAINS: [Domain; 5] = [
    Domain { oid: 13_221, array_oid: 13_220, name: "cardinal_number", base: "int4", modifier: -1, collation: 0 },
    Domain { oid: 13_224, array_oid: 13_223, name: "character_data", base: "varchar", modifier: -1, collation: 950 },
    Domain { oid: 13_226, array_oid: 13_225, name: "sql_identifier", base: "name", modifier: -1, collation: 950 },
    Domain { oid: 13_232, array_oid: 13_231, name: "time_stamp", base: "timestamptz", modifier: 2, collation: 0 },
    Domain { oid: 13_234, array_oid: 13_233, name: "yes_or_no", base: "varchar", modifier: 7, collation: 950 },
];

pub(super) fn domain(name: &str) -> Option<&'static Domain> {
    DOMAINS.iter().find(|domain| domain.name == name)
}

/// A column's type. A domain has the properties of its base type.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnType {
    /// `atttypid`: the domain's, if it is one.
    pub oid: u32,
    pub domain: Option<&'static Domain>,
    pub base: &'static PostgresType,
    pub collation: u32,
    pub modifier: i32,
}

impl ColumnType {
    pub(super) fn of(base: &'static PostgresType) -> Self {
        Self { oid: base.oid, domain: None, base, collation: base.collation, modifier: -1 }
    }

    /// Whether values are arrays; vectors are not called so.
    pub(super) fn is_array(&self) -> bool {
        self.base.category == 'A' && !self.base.is_vector()
    }

    /// By the name in `pg_type`. Rows of statistics, which no column here has values of, pass for
    /// records.
    pub(super) fn named(name: &str) -> Option<Self> {
        if let Some(domain) = domain(name) {
            let base = type_by_name(domain.base)?;
            // The domain's modifier is the type's, not the column's.
            return Some(Self {
                oid: domain.oid,
                domain: Some(domain),
                base,
                collation: domain.collation,
                modifier: -1,
            });
        }
        type_by_name(if name == "_pg_statistic" { "_record" } else { name }).map(Self::of)
    }
}

/// The Arrow schema of a relation that every database has.
pub(super) fn system_schema(schema: &str, kind: char, columns: &[ColumnDefinition]) -> Option<SchemaRef> {
    let mut fields =
        columns.iter().map(|c| system_field(c.name, c.type_name, !c.not_null)).collect::<Option<Vec<_>>>()?;
    if has_hidden(schema, kind) {
        for (name, type_name) in HIDDEN.iter().zip(["xid", "oid"]) {
            fields.push(system_field(name, type_name, false)?);
        }
    }
    Some(Arc::new(Schema::new(fields)))
}

pub(super) fn has_hidden(schema: &str, kind: char) -> bool {
    schema == "pg_catalog" && kind == 'r'
}

/// A field of a type's name in the catalog; domains are held as their base types, and types of
/// which there are no values here as text.
fn system_field(name: &str, type_name: &str, nullable: bool) -> Option<Field> {
    let base = domain(type_name).map_or(type_name, |domain| domain.base);
    let field = type_by_name(base).and_then(|ty| typed_field(name, ty, nullable));
    Some(field.unwrap_or_else(|| Field::new(name, DataType::Utf8View, nullable)))
}

/// The schema that a namespace's oid stands for.
pub(super) fn namespace_of(schema: &str) -> Option<u32> {
    match schema {
        "pg_catalog" => Some(oid::PG_CATALOG),
        "information_schema" => Some(oid::INFORMATION_SCHEMA),
        "public" => Some(oid::PUBLIC),
        "rowkey" => Some(oid::ROWKEY),
        _ => None,
    }
}
