//! Generated documents, and statements over them: operators and functions of `json` and `jsonb`.
//!
//! In templates `{d}` is a `jsonb`, `{e}` a `json`, `{k}` a key, `{p}` an array of keys and places,
//! `{i}` a place, `{x}` a value of any type, `{b}` a truth value.

use rowkey_base::testing::Dice;

/// Expressions; `j` and `o` are a `jsonb` and a `json` of a row.
const EXPRESSIONS: &[&str] = &[
    "{d}",
    "{e}",
    "{e}::jsonb",
    "{d}::json",
    "{d}::text",
    "{e}::text",
    "{d} -> {k}",
    "{d} ->> {k}",
    "{d} -> {i}",
    "{d} ->> {i}",
    "{e} -> {k}",
    "{e} ->> {k}",
    "{e} -> {i}",
    "{e} ->> {i}",
    "{d} #> {p}",
    "{d} #>> {p}",
    "{e} #> {p}",
    "{e} #>> {p}",
    "{d} -> {k} -> {k}",
    "{d} -> {k} ->> {i}",
    "{d} @> {d}",
    "{d} <@ {d}",
    "{d} @> ({d} -> {k})",
    "({d} || {d}) @> {d}",
    "{d} ? {k}",
    "{d} ?| {p}",
    "{d} ?& {p}",
    "{d} || {d}",
    "{d} || {d} || {d}",
    "{d} - {k}",
    "{d} - {i}",
    "{d} - {p}",
    "{d} #- {p}",
    "{d} = {d}",
    "{d} <> {d}",
    "{d} < {d}",
    "{d} >= {d}",
    "{d} IS DISTINCT FROM {d}",
    "{d} BETWEEN {d} AND {d}",
    "{d} IN ({d}, {d}, NULL)",
    "CASE {d} WHEN {d} THEN 1 WHEN {d} THEN 2 END",
    "CASE WHEN {b} THEN {d} ELSE {d} END",
    "coalesce({d}, {d})",
    "nullif({d}, {d})",
    "{d} IS NULL",
    "jsonb_set({d}, {p}, {d})",
    "jsonb_set({d}, {p}, {d}, {b})",
    "jsonb_insert({d}, {p}, {d})",
    "jsonb_insert({d}, {p}, {d}, {b})",
    "jsonb_set_lax({d}, {p}, {d}, {b}, 'delete_key')",
    "jsonb_set_lax({d}, {p}, NULL, {b}, 'use_json_null')",
    "jsonb_strip_nulls({d})",
    "json_strip_nulls({e})",
    "jsonb_typeof({d})",
    "json_typeof({e})",
    "jsonb_typeof({d} -> {i})",
    "jsonb_array_length({d})",
    "json_array_length({e})",
    "jsonb_pretty({d})",
    "jsonb_extract_path({d}, {k}, {k})",
    "jsonb_extract_path_text({d}, {k})",
    "json_extract_path({e}, {k}, '0')",
    "json_extract_path_text({e}, {k})",
    "jsonb_build_object({k}, {d}, {k}, {x})",
    "json_build_object({k}, {e}, {k}, {x}, 'n', {d})",
    "jsonb_build_array({d}, {x}, {e})",
    "json_build_array({d}, {x}, {e}, NULL)",
    "to_json({x})",
    "to_jsonb({x})",
    "to_jsonb({e})",
    "to_json({d})",
    "to_jsonb(ARRAY[{d}, {d}])",
    "array_to_json(ARRAY[{s}, {s}])",
    "array_to_json(ARRAY[{x}])",
    "to_jsonb(ARRAY[{x}])",
    "row_to_json(ROW({x}, {d}))",
    "jsonb_object({p})",
    "json_object({p})",
    "jsonb_object({p}, {p})",
    "({d} -> {k})::int",
    "({d} -> {i})::float8",
    "({d} -> {k})::bool",
    "({d} -> {i})::int8",
    "({d} ->> {k}) || 'x'",
    "{d} || 'x'::text",
    "concat({d}, {e})",
    "ARRAY[{d}, {d}]",
    "(ARRAY[{d}, {e}::jsonb])[2]",
    "pg_typeof({d})::text || pg_typeof({e} -> {k})::text",
    "length({d}::text)",
    "({d})::jsonb::text = ({d})::text",
];

/// What PostgreSQL refuses for the types of its operands.
const REFUSED: &[&str] = &[
    "{e} = {e}",
    "{e} || {e}",
    "{d} || {e}",
    "{d} = 1",
    "{d} || 1",
    "lower({d})",
    "length({e})",
    "{d} LIKE 'a%'",
    "{d} ~ 'a'",
    "{d} + 1",
    "{e} @> {e}",
    "'a'::text -> {k}",
    "{e}::int",
    "1::jsonb",
];

/// Whole statements, and whether their rows are in order. `v` has a `jsonb` j, a `json` o and a
/// number id.
const STATEMENTS: &[(bool, &str)] = &[
    (true, "SELECT id, j, o FROM {v} ORDER BY j, id"),
    (true, "SELECT j FROM {v} ORDER BY j DESC NULLS LAST, id LIMIT 3"),
    (false, "SELECT j, count(*) FROM {v} GROUP BY j"),
    (false, "SELECT j -> {k} AS g, count(*), sum(id) FROM {v} GROUP BY 1 HAVING count(*) > 0"),
    (false, "SELECT DISTINCT j FROM {v}"),
    (false, "SELECT DISTINCT j -> {k}, id % 2 FROM {v}"),
    (true, "SELECT count(DISTINCT j), count(j), count(DISTINCT j -> {i}) FROM {v}"),
    // Which of equal values is shown, `0.0` or `-0.00`, is nowhere said.
    (false, "SELECT jsonb_typeof(j), count(*) FROM (SELECT j FROM {v} UNION SELECT {d}) u(j) GROUP BY 1"),
    (false, "SELECT j FROM {v} UNION ALL SELECT {d}"),
    (true, "SELECT count(*) FROM (SELECT j FROM {v} INTERSECT SELECT {d}) i"),
    (false, "SELECT j FROM {v} EXCEPT SELECT {d}"),
    (false, "SELECT a.id, b.id FROM {v} a JOIN {v} b ON a.j = b.j"),
    (false, "SELECT a.id, b.id FROM {v} a LEFT JOIN {v} b ON a.j @> b.j"),
    (false, "SELECT a.id FROM {v} a WHERE a.j IN (SELECT b.j FROM {v} b WHERE b.id > 1)"),
    (false, "SELECT a.id FROM {v} a WHERE EXISTS (SELECT 1 FROM {v} b WHERE b.j = a.j AND b.id <> a.id)"),
    (true, "SELECT DISTINCT ON (j) j, id FROM {v} ORDER BY j, id"),
    (true, "SELECT id, row_number() OVER (PARTITION BY j ORDER BY id), rank() OVER (ORDER BY j) FROM {v} ORDER BY id"),
    (true, "SELECT id, lag(j) OVER (ORDER BY id), first_value(o) OVER (ORDER BY id) FROM {v} ORDER BY id"),
    (
        true,
        "SELECT json_agg(j ORDER BY id), jsonb_agg(o ORDER BY id), json_agg(o ORDER BY id), jsonb_agg(j ORDER BY id) FROM {v}",
    ),
    (true, "SELECT json_agg({x} ORDER BY id), jsonb_agg({x} ORDER BY id) FILTER (WHERE id > 1) FROM {v}"),
    (true, "SELECT json_object_agg(id, j ORDER BY id), jsonb_object_agg(id % 2, o ORDER BY id) FROM {v}"),
    (true, "SELECT json_object_agg({x}, id) FROM {v} WHERE id = 1"),
    (true, "SELECT jsonb_object_agg({x}, id) FROM {v} WHERE id = 1"),
    (true, "SELECT id % 2, jsonb_agg(j ORDER BY id DESC) FROM {v} GROUP BY 1 ORDER BY 1"),
    (true, "SELECT array_agg(j ORDER BY id), array_agg(o ORDER BY id) FROM {v}"),
    (true, "SELECT jsonb_agg(j ORDER BY j, id) FROM {v}"),
    (false, "SELECT * FROM jsonb_array_elements({d})"),
    (false, "SELECT * FROM json_array_elements({e})"),
    (false, "SELECT * FROM jsonb_array_elements_text({d}) AS t(x)"),
    (false, "SELECT value FROM json_array_elements_text({e}) AS t"),
    (false, "SELECT key, value FROM jsonb_each({d})"),
    (false, "SELECT * FROM json_each({e})"),
    (false, "SELECT * FROM jsonb_each_text({d})"),
    (false, "SELECT e.key, e.value FROM json_each_text({e}) e"),
    (false, "SELECT * FROM jsonb_object_keys({d}) k"),
    (false, "SELECT * FROM json_object_keys({e})"),
    (false, "SELECT id, k.* FROM {v}, jsonb_each(j) k WHERE jsonb_typeof(j) = 'object'"),
    (
        false,
        "SELECT v.id, e FROM {v} v CROSS JOIN LATERAL jsonb_array_elements(v.j) e WHERE jsonb_typeof(v.j) = 'array'",
    ),
    (
        false,
        "SELECT id, e.value ->> {k} FROM {v} v LEFT JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(j) WHEN 'array' THEN j ELSE '[]' END) AS e(value) ON true",
    ),
    (false, "SELECT id, jsonb_object_keys(CASE WHEN jsonb_typeof(j) = 'object' THEN j ELSE '{}' END) FROM {v}"),
    (false, "SELECT id, jsonb_array_elements_text(CASE WHEN jsonb_typeof(j) = 'array' THEN j END) FROM {v}"),
    (false, "SELECT id, jsonb_array_elements(jsonb_build_array(j, o)) FROM {v}"),
    (false, "SELECT jsonb_each({d})"),
    (false, "SELECT (jsonb_each({d})).key"),
    (
        true,
        "WITH RECURSIVE r(n, x) AS (SELECT 1::int8, {d} UNION ALL SELECT n + 1, jsonb_build_array(x) FROM r WHERE n < 4) SELECT * FROM r ORDER BY n",
    ),
    (
        true,
        "SELECT id, (SELECT count(*) FROM jsonb_each(CASE WHEN jsonb_typeof(j) = 'object' THEN j ELSE '{}' END)) FROM {v} ORDER BY id",
    ),
    (true, "SELECT id FROM {v} WHERE j @> {d} OR j ? {k} ORDER BY id"),
    (true, "SELECT id FROM {v} WHERE j = {d} OR (j ->> {k}) IS NOT NULL ORDER BY id"),
    // Whole rows.
    (true, "SELECT row_to_json(v), to_jsonb(v) FROM {v} ORDER BY id"),
    (true, "SELECT json_agg(v ORDER BY id), jsonb_agg(v ORDER BY id DESC), count(v) FROM {v}"),
    (true, "SELECT row_to_json(v.*), json_build_object('r', v, 'x', {x}) FROM {v} ORDER BY id"),
    (true, "SELECT id, row_to_json((SELECT r FROM (SELECT id, j AS doc, {x} AS x) r)) FROM {v} ORDER BY id"),
    (true, "SELECT id, to_jsonb((SELECT r FROM (SELECT v.id, v.o -> {k} AS part) AS r)) - 'id' FROM {v} ORDER BY id"),
    (true, "SELECT array_to_json(array_agg(v ORDER BY id)) FROM {v}"),
    (true, "SELECT a.id, (SELECT json_agg(b ORDER BY b.id) FROM {v} b WHERE b.id > a.id) FROM {v} a ORDER BY a.id"),
    (true, "SELECT to_jsonb(v) -> 'j' -> {k}, to_jsonb(v) ->> 'id' FROM {v} ORDER BY id"),
    (true, "SELECT jsonb_object_agg(id, v) FROM {v}"),
    (true, "SELECT coalesce(json_agg(v ORDER BY id), '[]') FROM {v} WHERE id > 3"),
    (true, "SELECT id, coalesce(o, '{}'), coalesce(j, '[1,2]') FROM {v} ORDER BY id"),
    // Refused by both.
    (false, "SELECT o, count(*) FROM {v} GROUP BY o"),
    (false, "SELECT DISTINCT o FROM {v}"),
    (false, "SELECT o FROM {v} UNION SELECT o FROM {v}"),
    (false, "SELECT o FROM {v} ORDER BY o"),
    (false, "SELECT count(DISTINCT o) FROM {v}"),
    (false, "SELECT max(j) FROM {v}"),
    (false, "SELECT j FROM {v} UNION SELECT o FROM {v}"),
    (false, "SELECT string_agg(j, ',') FROM {v}"),
    (false, "SELECT sum(j) FROM {v}"),
];

const KEYS: &[&str] = &["a", "b", "aa", "é", "", "0", "a b", "null", "c"];
const STRINGS: &[&str] = &[
    "a",
    "",
    "é",
    "\\u00e9",
    "\\ud83d\\ude00",
    "x\\ty",
    "\\\"q\\\"",
    "\\\\",
    "\\/",
    "1",
    "null",
    "日本",
    "\\u0001",
    "\\b\\f\\n\\r",
    "a b",
    "\\u0041",
    "\\u007f",
];
const BROKEN_STRINGS: &[&str] = &["\\u0000", "\\ud800", "\\udc00", "\\x", "\\u12"];
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "1.0",
    "1.50",
    "1e5",
    "-0",
    "0.0",
    "-0.00",
    "1E-3",
    "12.5e1",
    "100",
    "1e2",
    "0.1",
    "2147483648",
    "1e20",
    "12345678901234567890.123",
    "-2.5",
    "3.5",
    "1e-7",
    "9007199254740993",
    "0e3",
    "1.5e+2",
];
const VALUES: &[&str] = &[
    "1",
    "1.50",
    "'a'::text",
    "NULL::text",
    "true",
    "2.5::float8",
    "'NaN'::float8",
    "1e20::float8",
    "0.1::float4",
    "date '2024-02-29'",
    "timestamp '2024-01-31 10:00:00.5'",
    "timestamptz '2024-02-29 12:30:45.5+00'",
    "time '10:30:00'",
    "interval '1 day 02:00:00'",
    "'\\x01ff'::bytea",
    "'01234567-89ab-cdef-0123-456789abcdef'::uuid",
    "ARRAY[1, NULL, 3]",
    "ARRAY['a', 'b\"c']",
    "3000000000",
    "7::int2",
    "NULL::int",
    "E'a\\n\"\\\\b'::text",
    "12::oid",
    "'abc'::varchar",
    "'x'::name",
];

/// A document: few keys and values, so that two have something in common.
fn document(dice: &mut Dice, depth: usize, broken: bool) -> String {
    let blank = |dice: &mut Dice| if dice.chance(6) { " " } else { "" };
    match dice.below(if depth == 0 { 4 } else { 9 }) {
        0 => dice.pick(NUMBERS).to_owned(),
        1 if broken && dice.chance(8) => format!("\"{}\"", dice.pick(BROKEN_STRINGS)),
        1 => format!("\"{}\"", dice.pick(STRINGS)),
        2 => dice.pick(&["true", "false", "null"]).to_owned(),
        3 => dice.pick(&["1", "2", "1.0", "\"a\"", "\"b\"", "null", "[]", "{}"]).to_owned(),
        4..=5 => {
            let parts: Vec<String> =
                (0..dice.below(4)).map(|_| format!("{}{}", blank(dice), document(dice, depth - 1, broken))).collect();
            format!("[{}{}]", parts.join(","), blank(dice))
        }
        _ => {
            let parts: Vec<String> = (0..dice.below(4))
                .map(|_| {
                    let key = if dice.chance(12) { dice.pick(STRINGS) } else { dice.pick(KEYS) };
                    let (before, behind) = (blank(dice), blank(dice));
                    format!("{before}\"{key}\"{behind}:{before}{}", document(dice, depth - 1, broken))
                })
                .collect();
            format!("{{{}{}}}", parts.join(","), blank(dice))
        }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn literal(dice: &mut Dice, broken: bool) -> String {
    if broken && dice.chance(40) {
        return quoted(
            dice.pick(&["", "{a}", "[1,]", "{\"a\"}", "01", "1.", "tru", "[1 2]", "nulla", "\"a", "{,}", "--1"]),
        );
    }
    quoted(&document(dice, 3, broken))
}

fn path(dice: &mut Dice) -> String {
    let steps: Vec<String> = (0..dice.below(4))
        .map(|_| match dice.below(6) {
            0 => "NULL".to_owned(),
            1..=2 => dice.pick(&["0", "1", "-1", "5", "-9", "\" 1\"", "+0", "1x"]).to_owned(),
            _ => format!("\"{}\"", dice.pick(KEYS)),
        })
        .collect();
    format!("'{{{}}}'::text[]", steps.join(","))
}

/// Three or more rows.
fn rows(dice: &mut Dice) -> String {
    let rows: Vec<String> = (1..=3 + dice.below(4))
        .map(|id| {
            let document = |dice: &mut Dice, name: &str| match dice.below(8) {
                0 => format!("NULL::{name}"),
                _ => format!("{}::{name}", literal(dice, false)),
            };
            format!("({id}, {}, {})", document(dice, "jsonb"), document(dice, "json"))
        })
        .collect();
    format!("(VALUES {}) ", rows.join(", "))
}

fn filled(template: &str, columns: bool, broken: bool, dice: &mut Dice) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('{') {
        out.push_str(before);
        let placeholder = behind.get(..2).filter(|placeholder| placeholder.ends_with('}'));
        let Some(placeholder) = placeholder else {
            out.push('{');
            rest = behind;
            continue;
        };
        let null = dice.chance(25);
        match placeholder {
            "d}" if columns && dice.chance(2) => out.push('j'),
            "e}" if columns && dice.chance(2) => out.push('o'),
            "d}" if null => out.push_str("NULL::jsonb"),
            "e}" if null => out.push_str("NULL::json"),
            "d}" => out.push_str(&(literal(dice, broken) + "::jsonb")),
            "e}" => out.push_str(&(literal(dice, broken) + "::json")),
            "k}" if null => out.push_str("NULL::text"),
            "k}" => out.push_str(&quoted(dice.pick(KEYS))),
            "p}" => out.push_str(&path(dice)),
            "i}" => out.push_str(dice.pick(&["0", "1", "2", "-1", "-2", "7", "NULL::int"])),
            "x}" => out.push_str(dice.pick(VALUES)),
            "s}" => out.push_str(dice.pick(&["'a'::text", "NULL::text", "'b\"c'", "''"])),
            "b}" => out.push_str(dice.pick(&["true", "false", "NULL::bool"])),
            other => {
                out.push('{');
                out.push_str(other);
            }
        }
        rest = &behind[2..];
    }
    out.push_str(rest);
    out
}

/// Statements of all templates, each with whether its rows are in order.
pub(crate) fn statements(dice: &mut Dice) -> Vec<(bool, String)> {
    let mut all = Vec::new();
    for template in EXPRESSIONS {
        all.push((true, format!("SELECT {}", filled(template, false, true, dice))));
        let (expression, rows) = (filled(template, true, false, dice), rows(dice));
        all.push((true, format!("SELECT id, {expression} AS e FROM {rows} v(id, j, o) ORDER BY id")));
    }
    for template in REFUSED {
        all.push((true, format!("SELECT {}", filled(template, false, false, dice))));
    }
    for (ordered, template) in STATEMENTS {
        let table = rows(dice);
        let statement = filled(template, false, false, dice);
        let columns = "v(id, j, o)";
        let mut out = String::new();
        let mut rest = statement.as_str();
        // A query in the place of each table, under its own alias.
        while let Some((before, behind)) = rest.split_once("{v}") {
            out.push_str(before);
            out.push_str(&format!("(SELECT * FROM {table} {columns})"));
            let aliased = [" a", " b", " v"].iter().any(|alias| {
                behind.strip_prefix(alias).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
            });
            if !aliased {
                out.push_str(" v");
            }
            rest = behind;
        }
        out.push_str(rest);
        all.push((*ordered, out));
    }
    // Arrays of arrays are refused.
    all.retain(|(_, question)| !question.contains("ARRAY[ARRAY["));
    all
}
