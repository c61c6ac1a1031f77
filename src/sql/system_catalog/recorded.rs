//! What PostgreSQL 15 has in every database: its catalog's relations with their columns, functions,
//! operators, casts, operator classes and time zones, recorded from one.

use std::collections::HashMap;
use std::sync::LazyLock;

use arrow::datatypes::SchemaRef;

use super::column_types::system_schema;
use super::oid;
use super::rowkey_schema::{self, ROWKEY_SCHEMA};

/// A relation of `pg_catalog` or `information_schema`, or of another schema that every database
/// has.
#[derive(Debug)]
pub(super) struct Definition {
    pub schema: &'static str,
    pub name: &'static str,
    pub oid: u32,
    pub row_type: u32,
    /// 0 where there is none.
    pub array_type: u32,
    /// `r` or `v`.
    pub kind: char,
    pub columns: Vec<ColumnDefinition>,
    /// The columns, and behind them those that `*` does not show.
    pub arrow: SchemaRef,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ColumnDefinition {
    pub name: &'static str,
    /// As in `pg_type`.
    pub type_name: &'static str,
    pub not_null: bool,
}

/// Rows, whose fields are in a line as they are here.
macro_rules! rows {
    ($(#[$about:meta] $row:ident { $($field:ident: $of:ty),+ $(,)? })+) => {$(
        #[$about]
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub(super) struct $row {
            $(pub $field: $of,)+
        }

        impl $row {
            fn of_line(line: &'static str) -> Option<Self> {
                let mut fields = line.split_ascii_whitespace();
                Some(Self { $($field: Field::of(fields.next()?)?,)+ })
            }
        }
    )+};
}

rows! {
    /// A row of `pg_proc`.
    Function {
        oid: u32, name: &'static str, kind: char, result: u32, returns_set: bool, volatility: char, strict: bool,
        variadic: u32, defaults: i16, arguments: Vec<u32>,
    }

    /// A row of `pg_operator`.
    Operator {
        oid: u32, name: &'static str, kind: char, can_merge: bool, can_hash: bool, left: u32, right: u32, result: u32,
        commutator: u32, negator: u32, function: u32, restriction: u32, join: u32,
    }

    /// A row of `pg_cast`.
    Cast { oid: u32, source: u32, target: u32, function: u32, context: char, method: char }

    /// A row of `pg_opclass`.
    OperatorClass {
        oid: u32, method: u32, name: &'static str, family: u32, input: u32, default: bool, key: u32,
        family_name: &'static str,
    }
}

pub(super) static RELATIONS: LazyLock<Vec<Definition>> =
    LazyLock::new(|| relation_lines().filter_map(relation).collect());

/// Those of PostgreSQL, and behind them those of its extension `pg_stat_statements` 1.10.
fn relation_lines() -> impl Iterator<Item = &'static str> {
    include_str!("recorded/relations.txt").lines().chain(include_str!("recorded/extensions.txt").lines())
}

/// The relations of schema `rowkey`, each with three oids behind that of the schema.
pub(super) static ROWKEY_RELATIONS: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    type Columns = Vec<(&'static str, &'static str, bool)>;
    let definition = |(first, (name, columns)): (u32, (&'static str, Columns))| {
        let column = |(name, type_name, not_null)| ColumnDefinition { name, type_name, not_null };
        let columns: Vec<ColumnDefinition> = columns.into_iter().map(column).collect();
        let (schema, kind) = (ROWKEY_SCHEMA, 'v');
        let arrow = system_schema(schema, kind, &columns)?;
        Some(Definition { schema, name, oid: first, row_type: first + 1, array_type: first + 2, kind, columns, arrow })
    };
    let oids = (1..).map(|place| oid::ROWKEY + 3 * place);
    oids.zip(rowkey_schema::relations()).filter_map(definition).collect()
});

/// By oid, ascending.
pub(super) static FUNCTIONS: LazyLock<Vec<Function>> =
    LazyLock::new(|| include_str!("recorded/functions.txt").lines().filter_map(Function::of_line).collect());

/// The functions of a name, as places in [`FUNCTIONS`].
pub(super) static FUNCTIONS_BY_NAME: LazyLock<HashMap<&'static str, Vec<usize>>> = LazyLock::new(|| {
    let mut by_name: HashMap<&'static str, Vec<usize>> = HashMap::new();
    for (place, function) in FUNCTIONS.iter().enumerate() {
        by_name.entry(function.name).or_default().push(place);
    }
    by_name
});

pub(super) static OPERATORS: LazyLock<Vec<Operator>> =
    LazyLock::new(|| include_str!("recorded/operators.txt").lines().filter_map(Operator::of_line).collect());

pub(super) static CASTS: LazyLock<Vec<Cast>> =
    LazyLock::new(|| include_str!("recorded/casts.txt").lines().filter_map(Cast::of_line).collect());

pub(super) static OPERATOR_CLASSES: LazyLock<Vec<OperatorClass>> = LazyLock::new(|| {
    include_str!("recorded/operator_classes.txt").lines().filter_map(OperatorClass::of_line).collect()
});

/// Names of time zones, in order.
pub(super) fn time_zones() -> impl Iterator<Item = &'static str> {
    include_str!("recorded/time_zones.txt").lines()
}

pub(super) fn function_by_oid(oid: u32) -> Option<&'static Function> {
    FUNCTIONS.binary_search_by_key(&oid, |function| function.oid).ok().and_then(|place| FUNCTIONS.get(place))
}

/// The oid of the only, or the first, function of a name; 0 for none, as in `pg_type.typreceive`.
pub(super) fn function_oid(name: &str) -> u32 {
    let place = FUNCTIONS_BY_NAME.get(name).and_then(|places| places.first());
    place.and_then(|place| FUNCTIONS.get(*place)).map_or(0, |function| function.oid)
}

/// One field of a line, which blanks separate.
trait Field: Sized {
    fn of(text: &'static str) -> Option<Self>;
}

impl Field for &'static str {
    fn of(text: &'static str) -> Option<Self> {
        Some(text)
    }
}

impl Field for u32 {
    fn of(text: &'static str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Field for i16 {
    fn of(text: &'static str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Field for char {
    fn of(text: &'static str) -> Option<Self> {
        text.chars().next()
    }
}

impl Field for bool {
    fn of(text: &'static str) -> Option<Self> {
        Some(text.starts_with('t'))
    }
}

impl Field for Vec<u32> {
    fn of(text: &'static str) -> Option<Self> {
        if text == "-" { Some(Vec::new()) } else { text.split(',').map(Field::of).collect() }
    }
}

/// `schema.name oid row-type array-type kind column:type ...`, with `!` behind a type for NOT NULL.
fn relation(line: &'static str) -> Option<Definition> {
    let mut fields = line.split_ascii_whitespace();
    let (schema, name) = fields.next()?.split_once('.')?;
    let [oid, row_type, array_type] = [u32::of(fields.next()?)?, u32::of(fields.next()?)?, u32::of(fields.next()?)?];
    let kind = char::of(fields.next()?)?;
    let column = |field: &'static str| {
        let (name, type_name) = field.split_once(':')?;
        let not_null = type_name.ends_with('!');
        Some(ColumnDefinition { name, type_name: type_name.trim_end_matches('!'), not_null })
    };
    let columns = fields.map(column).collect::<Option<Vec<_>>>()?;
    let arrow = system_schema(schema, kind, &columns)?;
    Some(Definition { schema, name, oid, row_type, array_type, kind, columns, arrow })
}

#[test]
fn every_recorded_line_is_understood() {
    let lines = |text: &str| text.lines().count();
    assert_eq!(RELATIONS.len(), relation_lines().count());
    assert_eq!(FUNCTIONS.len(), lines(include_str!("recorded/functions.txt")));
    assert_eq!(OPERATORS.len(), lines(include_str!("recorded/operators.txt")));
    assert_eq!(CASTS.len(), lines(include_str!("recorded/casts.txt")));
    assert_eq!(OPERATOR_CLASSES.len(), lines(include_str!("recorded/operator_classes.txt")));
    assert!(RELATIONS.len() > 200 && FUNCTIONS.len() > 1000 && CASTS.len() > 100);
    assert!(FUNCTIONS.is_sorted_by(|a, b| a.oid < b.oid));
    assert_eq!((function_oid("int4in"), function_oid("no such")), (42, 0));
}
