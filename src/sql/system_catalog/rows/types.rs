//! Types: the built-in ones, the domains, and the row types of relations with their arrays.

use std::sync::Arc;

use super::super::cell::{Rows, rows};
use super::super::column_types::{DOMAINS, Domain};
use super::super::contents::{Contents, Relation};
use super::super::oid;
use super::super::recorded::function_oid;
use super::super::wanted::Wanted;
use rowkey_postgres::types::{PostgresType, TYPES, type_by_name};

/// A row of `pg_type`.
#[derive(Debug, Clone)]
pub(crate) struct Type {
    pub oid: u32,
    pub name: Arc<str>,
    pub namespace: u32,
    /// The built-in type that it is, or is stored and written like.
    like: &'static PostgresType,
    kind: char,
    category: char,
    /// The relation whose rows it has.
    relation: u32,
    element: u32,
    array: u32,
    domain: Option<&'static Domain>,
}

/// All types.
pub(crate) fn types(contents: &Arc<Contents>) -> impl Iterator<Item = Type> + Send + use<> {
    let built_in = TYPES.iter().map(Type::built_in);
    let domains = DOMAINS.iter().filter_map(Type::domain).flatten();
    let rows = contents.tables_and_views(&Wanted::default()).filter_map(|relation| Type::rows_of(&relation)).flatten();
    built_in.chain(domains).chain(rows)
}

impl Type {
    fn built_in(like: &'static PostgresType) -> Self {
        Self {
            oid: like.oid,
            name: like.name.into(),
            namespace: oid::PG_CATALOG,
            like,
            kind: like.kind,
            category: like.category,
            relation: 0,
            element: like.element_oid,
            array: like.array_oid,
            domain: None,
        }
    }

    fn domain(domain: &'static Domain) -> Option<[Self; 2]> {
        let base = type_by_name(domain.base)?;
        let itself = Self {
            oid: domain.oid,
            name: domain.name.into(),
            namespace: oid::INFORMATION_SCHEMA,
            kind: 'd',
            // Only a type of its own is subscripted.
            element: 0,
            array: domain.array_oid,
            domain: Some(domain),
            ..Self::built_in(base)
        };
        let array = itself.array_of(base.array()?);
        Some([itself, array])
    }

    fn rows_of(relation: &Relation) -> Option<[Self; 2]> {
        let (row_type, array_type) = relation.types();
        let record = type_by_name("record")?;
        let itself = Self {
            oid: row_type,
            name: Arc::clone(&relation.name),
            namespace: relation.namespace(),
            kind: 'c',
            category: 'C',
            relation: relation.oid,
            array: array_type,
            ..Self::built_in(record)
        };
        let array = itself.array_of(record.array()?);
        Some([itself, array])
    }

    /// The array type over this one, written like `like`.
    fn array_of(&self, like: &'static PostgresType) -> Self {
        Self {
            oid: self.array,
            name: format!("_{}", self.name).into(),
            namespace: self.namespace,
            kind: 'b',
            category: 'A',
            element: self.oid,
            array: 0,
            ..Self::built_in(like)
        }
    }

    fn collation(&self) -> u32 {
        self.domain.map_or(self.like.collation, |domain| domain.collation)
    }

    /// As `format_type` writes it, without its schema; none for those that go by their own name,
    /// which may need quotes.
    pub(crate) fn sql_name(&self) -> Option<&'static str> {
        (self.oid == self.like.oid).then_some(self.like.sql_name)
    }

    /// The type of its elements, if it is an array; else 0.
    pub(crate) fn array_element(&self) -> u32 {
        if self.category == 'A' { self.element } else { 0 }
    }

    fn input(&self) -> &'static str {
        if self.kind == 'd' { "domain_in" } else { self.like.input }
    }

    fn receive(&self) -> &'static str {
        if self.kind == 'd' { "domain_recv" } else { self.like.receive }
    }

    fn analyze(&self) -> &'static str {
        match (self.category, self.kind) {
            _ if self.like.is_vector() => "",
            ('A', _) => "array_typanalyze",
            (_, 'r') => "range_typanalyze",
            (_, 'm') => "multirange_typanalyze",
            _ if self.like.name == "tsvector" => "ts_typanalyze",
            _ => "",
        }
    }

    /// What a domain takes from nowhere else than itself.
    fn unless_domain(&self, function: &str) -> u32 {
        if self.kind == 'd' { 0 } else { function_oid(function) }
    }
}

pub(super) fn pg_type(contents: &Arc<Contents>) -> Rows {
    rows!(types(contents), |each| {
        oid: each.oid, typname: Arc::clone(&each.name), typnamespace: each.namespace, typowner: oid::ROLE,
        typlen: each.like.len, typbyval: each.like.by_value, typtype: each.kind, typcategory: each.category,
        typispreferred: each.like.preferred && each.kind == each.like.kind, typisdefined: true,
        typdelim: each.like.delimiter, typrelid: each.relation, typsubscript: each.unless_domain(each.like.subscript),
        typelem: each.element, typarray: each.array, typinput: function_oid(each.input()),
        typoutput: function_oid(each.like.output), typreceive: function_oid(each.receive()),
        typsend: function_oid(each.like.send), typmodin: each.unless_domain(each.like.typmod_input),
        typmodout: each.unless_domain(&each.like.typmod_output()), typanalyze: function_oid(each.analyze()),
        typalign: each.like.alignment, typstorage: each.like.storage, typnotnull: false,
        typbasetype: each.domain.map_or(0, |_| each.like.oid),
        typtypmod: each.domain.map_or(-1, |domain| domain.modifier), typndims: 0, typcollation: each.collation(),
    })
}

/// Range types: itself, what it ranges over, its multirange, the operator class, the canonical form
/// and the difference.
const RANGES: [(u32, u32, u32, u32, &str, &str); 6] = [
    (3904, 23, 4451, 1978, "int4range_canonical", "int4range_subdiff"),
    (3906, 1700, 4532, 3125, "", "numrange_subdiff"),
    (3908, 1114, 4533, 3128, "", "tsrange_subdiff"),
    (3910, 1184, 4534, 3127, "", "tstzrange_subdiff"),
    (3912, 1082, 4535, 3122, "daterange_canonical", "daterange_subdiff"),
    (3926, 20, 4536, 3124, "int8range_canonical", "int8range_subdiff"),
];

pub(super) fn pg_range() -> Rows {
    rows!(RANGES, |(oid, subtype, multirange, class, canonical, difference)| {
        rngtypid: oid, rngsubtype: subtype, rngmultitypid: multirange, rngcollation: 0_u32, rngsubopc: class,
        rngcanonical: function_oid(canonical), rngsubdiff: function_oid(difference),
    })
}
