//! Columns and their types, as `information_schema` describes them.

use std::sync::Arc;

use super::super::cell::{Rows, rows};
use super::super::column_types::{ColumnType, DOMAINS};
use super::super::contents::{Column, Contents, Relation};
#[cfg(test)]
use super::super::oid;
use super::super::wanted::Wanted;
use super::information_schema::yes;

/// Most bytes of a text, as PostgreSQL tells it.
const TEXT_BYTES_MAX: i32 = 1 << 30;
/// Bytes of the longest character.
const CHARACTER_BYTES_MAX: i32 = 4;
/// What a modifier of a length is larger by.
const LENGTH_MODIFIER_BASE: i32 = 4;
const C_COLLATION: u32 = 950;

/// The standard's description of a type.
pub(super) struct Described {
    pub data_type: &'static str,
    pub character_length: Option<i32>,
    pub octet_length: Option<i32>,
    pub precision: Option<i32>,
    pub radix: Option<i32>,
    pub scale: Option<i32>,
    pub time_precision: Option<i32>,
    /// The collation, where it is not the database's.
    pub collation: Option<&'static str>,
    pub udt_name: &'static str,
}

pub(super) fn describe(ty: &ColumnType) -> Described {
    let name = ty.base.name;
    let modifier = ty.domain.map_or(ty.modifier, |domain| domain.modifier);
    let is_array = ty.base.element_oid != 0 && ty.base.len == -1;
    let length = (modifier > 0).then(|| modifier - LENGTH_MODIFIER_BASE);
    let (precision, radix, scale) = match name {
        "int2" => (Some(16), Some(2), Some(0)),
        "int4" => (Some(32), Some(2), Some(0)),
        "int8" => (Some(64), Some(2), Some(0)),
        "float4" => (Some(24), Some(2), None),
        "float8" => (Some(53), Some(2), None),
        "numeric" => (None, Some(10), None),
        _ => (None, None, None),
    };
    Described {
        data_type: if is_array { "ARRAY" } else { ty.base.sql_name },
        character_length: matches!(name, "varchar" | "bpchar").then_some(length).flatten(),
        octet_length: matches!(name, "text" | "varchar" | "bpchar")
            .then(|| length.map_or(TEXT_BYTES_MAX, |length| length * CHARACTER_BYTES_MAX)),
        precision,
        radix,
        scale,
        time_precision: match name {
            "date" => Some(0),
            "time" | "timetz" | "timestamp" | "timestamptz" | "interval" if modifier < 0 => Some(6),
            "time" | "timetz" | "timestamp" | "timestamptz" => Some(modifier),
            _ => None,
        },
        collation: (ty.collation == C_COLLATION).then_some("C"),
        udt_name: name,
    }
}

fn all(contents: &Contents, wanted: &Wanted) -> impl Iterator<Item = (Relation, Column, Described)> + Send + use<> {
    contents.tables_and_views(wanted).flat_map(|relation| {
        let columns = relation.columns().into_iter();
        columns.map(move |column| {
            let described = describe(&column.ty);
            (relation.clone(), column, described)
        })
    })
}

pub(super) fn columns(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    let database = contents.database();
    rows!(all(contents, wanted), |(relation, column, is)| {
        table_catalog: database.clone(), table_schema: relation.schema, table_name: Arc::clone(&relation.name),
        column_name: Arc::clone(&column.name), ordinal_position: i32::from(column.number),
        column_default: column.default, is_nullable: yes(!column.not_null), data_type: is.data_type,
        character_maximum_length: is.character_length, character_octet_length: is.octet_length,
        numeric_precision: is.precision, numeric_precision_radix: is.radix, numeric_scale: is.scale,
        datetime_precision: is.time_precision, collation_catalog: is.collation.map(|_| database.clone()),
        collation_schema: is.collation.map(|_| "pg_catalog"), collation_name: is.collation,
        domain_catalog: column.ty.domain.map(|_| database.clone()),
        domain_schema: column.ty.domain.map(|_| "information_schema"),
        domain_name: column.ty.domain.map(|domain| domain.name), udt_catalog: database.clone(),
        udt_schema: "pg_catalog", udt_name: is.udt_name, dtd_identifier: column.number.to_string(),
        is_self_referencing: "NO", is_identity: "NO", identity_cycle: "NO", is_generated: "NEVER",
        is_updatable: yes(relation.user_table().is_some()),
    })
}

pub(super) fn element_types(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    let database = contents.database();
    let arrays = all(contents, wanted).filter_map(|(relation, column, _)| {
        let element = column.ty.base.element().map(|element| describe(&ColumnType::of(element)))?;
        Some((relation, column, element))
    });
    rows!(arrays, |(relation, column, is)| {
        object_catalog: database.clone(), object_schema: relation.schema, object_name: relation.name,
        object_type: if relation.kind == 'v' { "VIEW" } else { "TABLE" },
        collection_type_identifier: column.number.to_string(), data_type: is.data_type, udt_catalog: database.clone(),
        udt_schema: "pg_catalog", udt_name: is.udt_name, dtd_identifier: format!("a{}", column.number),
    })
}

pub(super) fn column_udt_usage(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    let database = contents.database();
    rows!(all(contents, wanted), |(relation, column, is)| {
        udt_catalog: database.clone(), udt_schema: "pg_catalog", udt_name: is.udt_name, table_catalog: database.clone(),
        table_schema: relation.schema, table_name: relation.name, column_name: column.name,
    })
}

pub(super) fn domains(contents: &Arc<Contents>) -> Rows {
    let database = contents.database();
    let domains = DOMAINS.iter().filter_map(|domain| Some((domain.name, describe(&ColumnType::named(domain.name)?))));
    rows!(domains, |(name, is)| {
        domain_catalog: database.clone(), domain_schema: "information_schema", domain_name: name,
        data_type: is.data_type, character_maximum_length: is.character_length,
        character_octet_length: is.octet_length, collation_catalog: is.collation.map(|_| database.clone()),
        collation_schema: is.collation.map(|_| "pg_catalog"), collation_name: is.collation,
        numeric_precision: is.precision, numeric_precision_radix: is.radix, numeric_scale: is.scale,
        datetime_precision: is.time_precision, udt_catalog: database.clone(), udt_schema: "pg_catalog",
        udt_name: is.udt_name, dtd_identifier: "1",
    })
}

#[test]
fn types_are_described_as_postgresql_does() {
    let of = |name: &str| describe(&ColumnType::named(name).unwrap());
    assert_eq!((of("int8").precision, of("float8").precision, of("float8").scale), (Some(64), Some(53), None));
    assert_eq!((of("timestamptz").data_type, of("timestamptz").time_precision), ("timestamp with time zone", Some(6)));
    assert_eq!((of("yes_or_no").character_length, of("yes_or_no").octet_length), (Some(3), Some(12)));
    assert_eq!((of("_aclitem").data_type, of("name").collation), ("ARRAY", Some("C")));
    assert_eq!(of("time_stamp").time_precision, Some(2));
    assert_eq!(ColumnType::named("text").unwrap().collation, oid::COLLATION);
}
