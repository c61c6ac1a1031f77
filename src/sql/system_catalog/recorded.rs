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

/// A row of `pg_proc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Function {
    pub oid: u32,
    pub name: &'static str,
    pub kind: char,
    pub result: u32,
    pub returns_set: bool,
    pub volatility: char,
    pub strict: bool,
    pub variadic: u32,
    pub defaults: i16,
    pub arguments: Vec<u32>,
}

#[derive(Debug)]
pub(super) struct Operator {
    pub oid: u32,
    pub name: &'static str,
    pub kind: char,
    pub can_merge: bool,
    pub can_hash: bool,
    pub left: u32,
    pub right: u32,
    pub result: u32,
    pub commutator: u32,
    pub negator: u32,
    pub function: u32,
    pub restriction: u32,
    pub join: u32,
}

#[derive(Debug)]
pub(super) struct Cast {
    pub oid: u32,
    pub source: u32,
    pub target: u32,
    pub function: u32,
    pub context: char,
    pub method: char,
}

#[derive(Debug)]
pub(super) struct OperatorClass {
    pub oid: u32,
    pub method: u32,
    pub name: &'static str,
    pub family: u32,
    pub input: u32,
    pub default: bool,
    pub key: u32,
    pub family_name: &'static str,
}

pub(super) static RELATIONS: LazyLock<Vec<Definition>> =
    LazyLock::new(|| include_str!("recorded/relations.txt").lines().filter_map(relation).collect());

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
    LazyLock::new(|| include_str!("recorded/functions.txt").lines().filter_map(function).collect());

/// The functions of a name, as places in [`FUNCTIONS`].
pub(super) static FUNCTIONS_BY_NAME: LazyLock<HashMap<&'static str, Vec<usize>>> = LazyLock::new(|| {
    let mut by_name: HashMap<&'static str, Vec<usize>> = HashMap::new();
    for (place, function) in FUNCTIONS.iter().enumerate() {
        by_name.entry(function.name).or_default().push(place);
    }
    by_name
});

pub(super) static OPERATORS: LazyLock<Vec<Operator>> =
    LazyLock::new(|| include_str!("recorded/operators.txt").lines().filter_map(operator).collect());

pub(super) static CASTS: LazyLock<Vec<Cast>> =
    LazyLock::new(|| include_str!("recorded/casts.txt").lines().filter_map(cast).collect());

pub(super) static OPERATOR_CLASSES: LazyLock<Vec<OperatorClass>> =
    LazyLock::new(|| include_str!("recorded/operator_classes.txt").lines().filter_map(operator_class).collect());

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

/// The fields of a line, which blanks separate.
struct Fields(std::str::SplitAsciiWhitespace<'static>);

impl Fields {
    fn text(&mut self) -> Option<&'static str> {
        self.0.next()
    }

    fn number<T: std::str::FromStr>(&mut self) -> Option<T> {
        self.0.next()?.parse().ok()
    }

    fn char(&mut self) -> Option<char> {
        self.0.next()?.chars().next()
    }

    fn bool(&mut self) -> Option<bool> {
        Some(self.char()? == 't')
    }
}

/// `schema.name oid row-type array-type kind column:type ...`, with `!` behind a type for NOT NULL.
fn relation(line: &'static str) -> Option<Definition> {
    let mut fields = Fields(line.split_ascii_whitespace());
    let (schema, name) = fields.text()?.split_once('.')?;
    let (oid, row_type, array_type, kind) = (fields.number()?, fields.number()?, fields.number()?, fields.char()?);
    let column = |field: &'static str| {
        let (name, type_name) = field.split_once(':')?;
        let not_null = type_name.ends_with('!');
        Some(ColumnDefinition { name, type_name: type_name.trim_end_matches('!'), not_null })
    };
    let columns = fields.0.map(column).collect::<Option<Vec<_>>>()?;
    let arrow = system_schema(schema, kind, &columns)?;
    Some(Definition { schema, name, oid, row_type, array_type, kind, columns, arrow })
}

fn function(line: &'static str) -> Option<Function> {
    let mut fields = Fields(line.split_ascii_whitespace());
    Some(Function {
        oid: fields.number()?,
        name: fields.text()?,
        kind: fields.char()?,
        result: fields.number()?,
        returns_set: fields.bool()?,
        volatility: fields.char()?,
        strict: fields.bool()?,
        variadic: fields.number()?,
        defaults: fields.number()?,
        arguments: match fields.text()? {
            "-" => Vec::new(),
            oids => oids.split(',').map(|oid| oid.parse().ok()).collect::<Option<_>>()?,
        },
    })
}

fn operator(line: &'static str) -> Option<Operator> {
    let mut fields = Fields(line.split_ascii_whitespace());
    Some(Operator {
        oid: fields.number()?,
        name: fields.text()?,
        kind: fields.char()?,
        can_merge: fields.bool()?,
        can_hash: fields.bool()?,
        left: fields.number()?,
        right: fields.number()?,
        result: fields.number()?,
        commutator: fields.number()?,
        negator: fields.number()?,
        function: fields.number()?,
        restriction: fields.number()?,
        join: fields.number()?,
    })
}

fn cast(line: &'static str) -> Option<Cast> {
    let mut fields = Fields(line.split_ascii_whitespace());
    Some(Cast {
        oid: fields.number()?,
        source: fields.number()?,
        target: fields.number()?,
        function: fields.number()?,
        context: fields.char()?,
        method: fields.char()?,
    })
}

fn operator_class(line: &'static str) -> Option<OperatorClass> {
    let mut fields = Fields(line.split_ascii_whitespace());
    Some(OperatorClass {
        oid: fields.number()?,
        method: fields.number()?,
        name: fields.text()?,
        family: fields.number()?,
        input: fields.number()?,
        default: fields.bool()?,
        key: fields.number()?,
        family_name: fields.text()?,
    })
}

#[test]
fn every_recorded_line_is_understood() {
    let lines = |text: &str| text.lines().count();
    assert_eq!(RELATIONS.len(), lines(include_str!("recorded/relations.txt")));
    assert_eq!(FUNCTIONS.len(), lines(include_str!("recorded/functions.txt")));
    assert_eq!(OPERATORS.len(), lines(include_str!("recorded/operators.txt")));
    assert_eq!(CASTS.len(), lines(include_str!("recorded/casts.txt")));
    assert_eq!(OPERATOR_CLASSES.len(), lines(include_str!("recorded/operator_classes.txt")));
    assert!(RELATIONS.len() > 200 && FUNCTIONS.len() > 1000 && CASTS.len() > 100);
    assert!(FUNCTIONS.is_sorted_by(|a, b| a.oid < b.oid));
    assert_eq!((function_oid("int4in"), function_oid("no such")), (42, 0));
}
