//! Parameters and literals whose types the expressions beside them decide, functions in FROM with
//! ordinality, and GROUP BY the key of a table.

use rowkey_base::testing::Dice;

use super::data::{COLUMNS, Column};
use super::query::K;

/// A statement, and values for its parameters.
pub(crate) type Question = (String, Vec<Option<String>>);

/// `$1` and `$2` are parameters, `{c}` is a column, `{l}` a literal in quotes that it could hold.
const PARAMETERS: &[&str] = &[
    "coalesce($1, {c})",
    "coalesce({c}, $1)",
    "coalesce(NULL, $1, {c}, $2)",
    "coalesce({c}, {l})",
    "CASE WHEN flag THEN $1 ELSE {c} END",
    "CASE WHEN flag THEN {c} WHEN small > 1 THEN $1 ELSE $2 END",
    "CASE {c} WHEN $1 THEN 1 ELSE 2 END",
    "{c} IN ($1, $2)",
    "nullif({c}, $1)",
    "nullif({c}, {l})",
];

/// For types that have an order.
const ORDERED: &[&str] =
    &["greatest($1, {c})", "least({c}, $1, {l})", "greatest({c}, {l}, $1)", "{c} BETWEEN $1 AND $2"];

/// Whole queries; `{t}` is the type of the column.
const QUERIES: &[&str] = &[
    "SELECT * FROM (VALUES ({l}::{t}), ({l}), (NULL)) v(x) ORDER BY 1",
    "SELECT * FROM (VALUES ({l}), ({l}::{t})) v(x) WHERE x = {l} ORDER BY 1",
    "SELECT i.{k}, v.x FROM items i, LATERAL (VALUES ({c}), ({l}), (NULL)) v(x) ORDER BY {K}, v.x::text",
    "SELECT {K}, {c}, count(*) FROM items GROUP BY {K} ORDER BY {K}",
    "SELECT i.{c}, count(p.small) FROM items i LEFT JOIN parts p ON i.small = p.small \
        GROUP BY i.\"PartitionKey\", i.\"RowKey\" HAVING i.{c} IS NOT NULL ORDER BY i.\"PartitionKey\", i.\"RowKey\"",
    "SELECT i.{k}, u.* FROM items i, unnest(ARRAY[i.{c}, i.{c}]) WITH ORDINALITY u(x, o) ORDER BY {K}, o",
    "SELECT i.{k}, u.* FROM items i, coalesce(i.{c}, {l}) WITH ORDINALITY u(x, o) ORDER BY {K}",
    "SELECT * FROM unnest(ARRAY[{l}::{t}], ARRAY['a', 'b', 'c']) WITH ORDINALITY",
    "SELECT g.*, {k}, {c} FROM generate_series(1, 4) WITH ORDINALITY AS g(v, o) JOIN items ON small = v ORDER BY {K}",
];

/// Each template once, with a column of each type.
pub(crate) fn questions(dice: &mut Dice) -> Vec<Question> {
    let mut questions = Vec::new();
    for column in COLUMNS {
        let is_ordered = !["boolean", "bytea", "uuid"].contains(&column.sql_type);
        let ordered = if is_ordered { ORDERED } else { &[] };
        for template in PARAMETERS.iter().chain(ordered) {
            let expression = filled(template, column, dice);
            let parameters = (1..=2).filter(|number| expression.contains(&format!("${number}")));
            let parameters = parameters.map(|_| (!dice.chance(3)).then(|| value(column, dice))).collect();
            questions.push((format!("SELECT {expression} AS e FROM items ORDER BY {K}"), parameters));
        }
        questions.extend(QUERIES.iter().map(|template| (filled(template, column, dice), Vec::new())));
    }
    questions
}

fn filled(template: &str, column: &Column, dice: &mut Dice) -> String {
    let mut text = template.replace("{K}", K).replace("{t}", column.sql_type);
    text = text.replace("{k}", "\"RowKey\"").replace("{c}", column.name);
    while let Some(place) = text.find("{l}") {
        text.replace_range(place..place + 3, &format!("'{}'", value(column, dice).replace('\'', "''")));
    }
    text
}

fn value(column: &Column, dice: &mut Dice) -> String {
    let value = dice.pick(column.pool);
    if column.sql_type == "bytea" { format!("\\x{value}") } else { value.to_owned() }
}
