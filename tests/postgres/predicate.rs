//! Generated predicates, in the words that PostgreSQL and Rowkey share.

use rowkey::model::{EdmType, Value};

use crate::postgres::table::{Column, Table, plain};
use rowkey_base::testing::Dice;

const COMPARISONS: &[&str] = &["=", "=", "<>", "<", "<=", ">", ">="];

/// A piece of a statement: values may become parameters.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Text(String),
    Value { literal: String, value: Value },
}

/// A statement, or a part of one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sql(Vec<Piece>);

impl Sql {
    pub(crate) fn text(mut self, text: impl Into<String>) -> Self {
        self.0.push(Piece::Text(text.into()));
        self
    }

    pub(crate) fn then(mut self, other: Sql) -> Self {
        self.0.extend(other.0);
        self
    }

    fn value(mut self, literal: String, value: &Value) -> Self {
        self.0.push(Piece::Value { literal, value: value.clone() });
        self
    }

    /// With literals.
    pub(crate) fn literal(&self) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Value { literal, .. } => literal.as_str(),
        });
        pieces.collect()
    }

    /// With `$1`, `$2` and so on, and their values.
    pub(crate) fn parameters(&self) -> (String, Vec<Value>) {
        let (mut text, mut values) = (String::new(), Vec::new());
        for piece in &self.0 {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Value { value, .. } => {
                    values.push(value.clone());
                    text.push_str(&format!("${}", values.len()));
                }
            }
        }
        (text, values)
    }
}

fn sql(text: impl Into<String>) -> Sql {
    Sql::default().text(text)
}

/// A predicate over the columns of a table, nested up to `depth`.
pub(crate) fn predicate(table: &Table, dice: &mut Dice, depth: usize) -> Sql {
    if depth == 0 || dice.chance(4) {
        return leaf(table, dice);
    }
    let first = predicate(table, dice, depth - 1);
    let joined = |word: &str, first: Sql, second: Sql| sql("(").then(first).text(word).then(second).text(")");
    match dice.below(9) {
        0 | 1 => sql("NOT (").then(first).text(")"),
        2..=4 => joined(" AND ", first, predicate(table, dice, depth - 1)),
        5..=7 => joined(" OR ", first, predicate(table, dice, depth - 1)),
        _ => sql("(").then(first).text(dice.pick(&[
            ") IS TRUE",
            ") IS NOT TRUE",
            ") IS FALSE",
            ") IS NOT FALSE",
            ") IS UNKNOWN",
        ])),
    }
}

fn leaf(table: &Table, dice: &mut Dice) -> Sql {
    // Keys more often than properties: the access path comes from them.
    let column = match dice.below(5) {
        0..=2 => &table.columns[dice.below(2)],
        _ => &table.columns[dice.below(table.columns.len())],
    };
    let operator = dice.pick(COMPARISONS);
    match dice.below(12) {
        0 => sql(format!("{} IS {}NULL", column.sql(), dice.pick(&["", "NOT "]))),
        1 => between(column, dice),
        2 | 3 => in_list(column, dice),
        4 | 5 => row_comparison(table, dice),
        6 | 7 => of_type(table, column, dice),
        8 => literal(column, dice).text(format!(" {operator} {}", column.sql())),
        9 => sql(format!("({} IS {}DISTINCT FROM ", column.sql(), dice.pick(&["", "NOT "])))
            .then(literal(column, dice))
            .text(")"),
        _ => sql(format!("{} {operator} ", column.sql())).then(literal(column, dice)),
    }
}

/// A value that the column may hold, written without a cast.
fn bare(column: &Column, dice: &mut Dice) -> Sql {
    let value = &column.pool[dice.below(column.pool.len())];
    Sql::default().value(plain(value), value)
}

/// The same, written in one of the ways there are.
fn literal(column: &Column, dice: &mut Dice) -> Sql {
    let value = &column.pool[dice.below(column.pool.len())];
    let plain = plain(value);
    // Some casts are refused, and spoil what they stand in.
    let way = if matches!(value, Value::Guid(_) | Value::DateTime(_)) { dice.below(24) } else { dice.below(4) };
    let written = match (value, way) {
        (Value::Guid(guid), 0) => format!("'{}'::uuid", guid.to_string().to_uppercase()),
        (Value::Guid(_), 1) => format!("CAST({plain} AS uuid)"),
        (Value::DateTime(_), 0) => format!("timestamptz {plain}"),
        (Value::DateTime(_), 1) => format!("{plain}::timestamptz"),
        (Value::DateTime(_), 2) => plain.replace('T', " ").replace("Z'", "+00'"),
        (Value::Int32(_), 0) => format!("'{plain}'::int4"),
        (Value::Int64(_), 0) => format!("'{plain}'::int8"),
        (Value::Int32(_) | Value::Int64(_), 1) => format!("'{plain}'"),
        (Value::Boolean(_), 0) => format!("'{plain}'::boolean"),
        (Value::Double(double), 0) if double.is_finite() => format!("'{double:?}'::float8"),
        (Value::String(_), 0) => format!("{plain}::text"),
        (Value::String(_), 1) => format!("CAST({plain} AS text)"),
        _ => plain,
    };
    Sql::default().value(written, value)
}

fn between(column: &Column, dice: &mut Dice) -> Sql {
    let not = dice.pick(&["", "NOT "]);
    sql(format!("{} {not}BETWEEN ", column.sql())).then(literal(column, dice)).text(" AND ").then(literal(column, dice))
}

fn in_list(column: &Column, dice: &mut Dice) -> Sql {
    let mut list = sql(format!("{} {}IN (", column.sql(), dice.pick(&["", "NOT "])));
    for at in 0..1 + dice.below(6) {
        list = list.text(if at == 0 { "" } else { ", " }).then(literal(column, dice));
    }
    list.text(")")
}

/// Rows of columns that are never NULL.
fn row_comparison(table: &Table, dice: &mut Dice) -> Sql {
    let columns = match dice.below(4) {
        0 if dice.chance(4) => vec![&table.columns[0], &table.columns[1], &table.columns[2]],
        1 => vec![&table.columns[1], &table.columns[0]],
        _ => vec![&table.columns[0], &table.columns[1]],
    };
    let row = |dice: &mut Dice| {
        let mut row = sql("(");
        for (at, column) in columns.iter().enumerate() {
            row = row.text(if at == 0 { "" } else { ", " }).then(bare(column, dice));
        }
        row.text(")")
    };
    let names: Vec<String> = columns.iter().map(|column| column.sql()).collect();
    let names = format!("({})", names.join(", "));
    match dice.below(5) {
        0 if columns.len() == 2 => sql(format!("{names} {}IN (", dice.pick(&["", "NOT "])))
            .then(row(dice))
            .text(", ")
            .then(row(dice))
            .text(")"),
        1 => row(dice).text(format!(" {} {names}", dice.pick(COMPARISONS))),
        _ => sql(format!("{names} {} ", dice.pick(COMPARISONS))).then(row(dice)),
    }
}

/// What only columns of one type take.
fn of_type(table: &Table, column: &Column, dice: &mut Dice) -> Sql {
    let name = column.sql();
    match column.kind.shown() {
        EdmType::String => text(table, column, dice),
        EdmType::Boolean => {
            sql(name
                + dice.pick(&["", " IS TRUE", " IS NOT TRUE", " IS FALSE", " IS NOT FALSE", " IS UNKNOWN", " = true"]))
        }
        EdmType::Int32 => sql(match dice.below(6) {
            0 => format!(
                "{name} < {}",
                dice.pick(&["9007199254740993", "-9007199254740993", "2147483648", "-2147483649"])
            ),
            1 => format!("{name}::int8 + 1 > {}", dice.below(20)),
            2 => format!("{name}::text LIKE '{}%'", dice.pick(&["1", "-", "2"])),
            3 => format!("{name} % 5 = {}", dice.pick(&["0", "2", "-2"])),
            4 => format!("CAST({name} AS float8) > {}.5", dice.below(20)),
            _ => format!("{name} > {}.5", dice.below(20)),
        }),
        EdmType::Int64 => sql(match dice.below(4) {
            0 => format!("{name}::text {} '{}'", dice.pick(COMPARISONS), dice.pick(&["9007199254740993", "1", "-1"])),
            1 => format!("{name} {} 9007199254740992 + 1", dice.pick(COMPARISONS)),
            2 => format!("{name} {} {}", dice.pick(COMPARISONS), dice.pick(&["'9007199254740993'::int8", "3::int4"])),
            _ => format!("{name} % 2 = 0"),
        }),
        EdmType::Double => sql(match dice.below(3) {
            0 => format!("{name} {} {}", dice.pick(COMPARISONS), dice.below(9)),
            1 => format!("{name} * 2 > {}", dice.below(20)),
            _ => format!("abs({name}) < {}.5", dice.below(20)),
        }),
        EdmType::DateTime => sql(match dice.below(2) {
            0 => format!(
                "extract(year FROM {name}) {} {}",
                dice.pick(COMPARISONS),
                dice.pick(&["1601", "1970", "2024", "9999"])
            ),
            _ => format!("{name} {} '2024-03-01'", dice.pick(COMPARISONS)),
        }),
        EdmType::Guid => {
            sql(format!("{name}::text LIKE '{}%'", dice.pick(&["0", "8", "f", "00000000-0000-0000-0000-00000000000"])))
        }
        EdmType::Binary if dice.chance(8) => {
            sql(format!("octet_length({name}) {} {}", dice.pick(COMPARISONS), dice.below(3)))
        }
        EdmType::Binary => sql(format!("{name} {} ", dice.pick(COMPARISONS))).then(bare(column, dice)),
    }
}

fn text(table: &Table, column: &Column, dice: &mut Dice) -> Sql {
    let name = column.sql();
    let Value::String(known) = &column.pool[dice.below(column.pool.len())] else { return sql("true") };
    // A beginning of a text that occurs, often in the middle of what many share.
    let characters: Vec<char> = known.chars().collect();
    let beginning: String = characters[..dice.below(characters.len() + 1)].iter().collect();
    let escaped = |text: &str| text.replace('%', "\\%").replace('_', "\\_");
    let pattern = match dice.below(8) {
        0 | 1 => format!("{}%", escaped(&beginning)),
        2 => format!("{beginning}%"),
        3 => format!("%{}", escaped(&characters[characters.len() / 2..].iter().collect::<String>())),
        4 => format!("{}_", escaped(&beginning)),
        5 => escaped(known),
        6 => format!("{}%_", escaped(&beginning)),
        _ => dice.pick(&["%", "", "_", "__%", "%0%", "a\\%b%", "%\\_"]).to_owned(),
    };
    let value = |text: String| {
        let value = Value::String(text);
        Sql::default().value(plain(&value), &value)
    };
    match dice.below(8) {
        0..=2 => sql(format!("{name} {}LIKE ", dice.pick(&["", "NOT "]))).then(value(pattern)),
        3 | 4 => sql(format!("starts_with({name}, ")).then(value(beginning)).text(")"),
        5 => {
            let other: Vec<&Column> = table.columns.iter().filter(|other| other.kind == column.kind).collect();
            sql(format!("{name} {} {}", dice.pick(COMPARISONS), dice.pick(&other).sql()))
        }
        6 => sql(format!("length({name}) {} {}", dice.pick(COMPARISONS), dice.below(6))),
        _ => sql(format!("{name} || 'x' {} ", dice.pick(COMPARISONS))).then(value(format!("{known}x"))),
    }
}
