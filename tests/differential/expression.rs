//! Generated expressions. Each template makes a value of its type from others: `{i}` is an int4, `{x}` anything.
//!
//! b boolean, i int4, l int8, n numeric, f float8, t text, z timestamptz, s timestamp, d date, v interval, u uuid, y bytea.

use crate::dice::Dice;

const TYPES: &str = "bilnftzsdvuy";

/// Values without columns.
const LITERALS: &[(char, &[&str])] = &[
    ('b', &["true", "false", "NULL::boolean"]),
    ('i', &["0", "1", "2", "-3", "7", "100", "2147483647", "NULL::int4"]),
    ('l', &["0::int8", "3000000000", "-9007199254740993", "9223372036854775807", "7::int8", "NULL::int8"]),
    ('n', &["0.0", "1.5", "-2.25", "100.00", "0.333", "12345678901234567890.5", "NULL::numeric"]),
    (
        'f',
        &[
            "0.0::float8",
            "1.5::float8",
            "-0.1::float8",
            "'NaN'::float8",
            "'-Infinity'::float8",
            "'-0'::float8",
            "1e300::float8",
        ],
    ),
    ('t', &["''", "'a'", "'abc'", "'ABC'", "'%'", "'é'", "'日本'", "'12'", "' '", "NULL::text"]),
    (
        'z',
        &[
            "timestamptz '2024-02-29 12:30:45.5+00'",
            "'1601-01-01 00:00:00+00'::timestamptz",
            "timestamptz '9999-12-31 23:59:59.999999+00'",
        ],
    ),
    (
        's',
        &[
            "timestamp '2024-01-31 10:00:00'",
            "timestamp '1601-01-01'",
            "timestamp '9999-12-31 23:59:59.999999'",
            "'1969-12-31 23:59:59.25'::timestamp",
        ],
    ),
    ('d', &["date '2024-02-29'", "date '1601-01-01'", "date '9999-12-31'", "'1970-01-01'::date"]),
    (
        'v',
        &["interval '1 day'", "interval '1 month 2 days 03:04:05.5'", "interval '-1 year'", "'90 minutes'::interval"],
    ),
    (
        'u',
        &["'01234567-89ab-cdef-0123-456789abcdef'::uuid", "'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF'::uuid", "NULL::uuid"],
    ),
    ('y', &["'\\x6162'::bytea", "''::bytea", "'\\xff'::bytea"]),
];

const COLUMNS: &[(char, &[&str])] = &[
    ('b', &["flag"]),
    ('i', &["small"]),
    ('l', &["big"]),
    ('f', &["num"]),
    ('t', &["txt", "\"PartitionKey\"", "\"RowKey\""]),
    ('z', &["at"]),
    ('u', &["guid"]),
    ('y', &["raw"]),
];

/// What cannot fail.
const SAFE: &[(char, &[&str])] = &[
    (
        'b',
        &[
            "({i} = {i})",
            "({i} < {l})",
            "({l} >= {i})",
            "({f} > {f})",
            "({f} = {f})",
            "({n} <= {i})",
            "({f} < {n})",
            "({t} = {t})",
            "({t} < {t})",
            "({z} > {z})",
            "({d} <= {d})",
            "({z} >= {d})",
            "({s} < {s})",
            "({u} <> {u})",
            "({u} < {u})",
            "({y} = {y})",
            "({y} < {y})",
            "({v} > {v})",
            "({b} = {b})",
            "({b} AND {b})",
            "({b} OR {b})",
            "(NOT {b})",
            "({x} IS NULL)",
            "({x} IS NOT NULL)",
            "({i} IS DISTINCT FROM {i})",
            "({t} IS NOT DISTINCT FROM {t})",
            "({f} IS DISTINCT FROM {f})",
            "({u} IS DISTINCT FROM {u})",
            "({b} IS TRUE)",
            "({b} IS NOT FALSE)",
            "({b} IS UNKNOWN)",
            "({t} LIKE '%a%')",
            "({t} LIKE 'a\\%%')",
            "({t} NOT LIKE '_b%')",
            "({t} ILIKE 'aB%')",
            "({t} ~ '^[aA]')",
            "({t} ~* 'B$')",
            "({t} !~ '[0-9]+')",
            "({t} SIMILAR TO '(a|b)%')",
            "({i} BETWEEN 0 AND {i})",
            "({t} NOT BETWEEN 'a' AND {t})",
            "({i} IN (1, 2, 7))",
            "({i} NOT IN (1, NULL))",
            "({i} IN (1, {i}, NULL))",
            "({f} IN (0, 1.5, 'NaN'))",
            "({f} NOT IN (0, 3))",
            "({t} IN ('a', '', 'é'))",
            "({l} IN (1, 9007199254740993))",
            "({i} = ANY (ARRAY[1, 3, NULL]))",
            "({i} <> ALL (ARRAY[1, 3]))",
            "({t} = ANY ('{a,ab}'::text[]))",
            "(({i}, {t}) > (1, 'a'))",
            "(({t}, {i}) = ('a', {i}))",
            "starts_with({t}, 'a')",
            "coalesce({b}, {b})",
            "CASE WHEN {b} THEN {b} ELSE {b} END",
            "({z} IN ('1970-01-01 00:00:00+00', '2024-02-29 12:30:45.123456Z'))",
            "({z} < '2024-01-01')",
            "({u} = '01234567-89ab-cdef-0123-456789abcdef')",
            "({y} = '\\x61')",
            "(({t}, {t}) IN (('a', 'b'), ('', 'a')))",
            "({t} ^@ 'a')",
            "({z} BETWEEN SYMMETRIC {z} AND {z})",
            "isfinite({d})",
            "({i}::boolean)",
            "bool({i})",
        ],
    ),
    (
        'i',
        &[
            "length({t})",
            "char_length({t})",
            "octet_length({t})",
            "octet_length({y})",
            "length({y})",
            "position({t} IN {t})",
            "strpos({t}, {t})",
            "ascii({t})",
            "bit_length({t})",
            "coalesce({i}, {i})",
            "nullif({i}, {i})",
            "CASE WHEN {b} THEN {i} ELSE {i} END",
            "CASE {i} WHEN 1 THEN 10 WHEN 2 THEN {i} END",
            "greatest({i}, {i})",
            "least({i}, {i}, 3)",
            "({i} % 7)",
            "({i} / 3)",
            "({i} & 6)",
            "({i} | 1)",
            "({i} # 5)",
            "(~{i})",
            "{b}::int4",
            "(length({t}) * 3 - 2)",
            "({d} - date '2000-01-01')",
            "cardinality(string_to_array({t}, ','))",
            "array_length(ARRAY[{i}, 2], 1)",
            "(ARRAY[1, {i}, 3])[2]",
            "date_part('year', {z})::int4",
            "sign({i})::int4",
            "mod({i}, 5)",
            "({i} >> 2)",
            "width_bucket(5.0, 0, 10, 4)",
        ],
    ),
    (
        'l',
        &[
            "{i}::int8",
            "({i}::int8 * {i})",
            "({i}::int8 + {i})",
            "coalesce({l}, {i})",
            "nullif({l}, {i})",
            "greatest({i}, {l})",
            "({l} % 10)",
            "({l} / 3)",
            "CASE WHEN {b} THEN {l} ELSE {i} END",
            "(~{l})",
            "({l} & 255)",
        ],
    ),
    (
        'n',
        &[
            "{i}::numeric",
            "({i} * 1.5)",
            "({l} + 0.25)",
            "({i} / 7.0)",
            "({i} - {n})",
            "round({i} / 7.0, 2)",
            "round({n})",
            "trunc({i} / 3.0, 1)",
            "abs({n})",
            "ceil({n})",
            "floor({n})",
            "extract(year FROM {z})",
            "extract(epoch FROM {z})",
            "extract(dow FROM {d})",
            "extract(isoyear FROM {d})",
            "extract(week FROM {d})",
            "extract(second FROM {z})",
            "extract(microseconds FROM {s})",
            "extract(quarter FROM {s})",
            "extract(doy FROM {d})",
            "extract(hour FROM {v})",
            "extract(epoch FROM {v})",
            "extract(day FROM {v})",
            "extract(century FROM {d})",
            "extract(julian FROM {d})",
            "extract(timezone FROM {z})",
            "(-{n})",
            "sign({n})",
            "coalesce({n}, {i})",
            "CASE WHEN {b} THEN {n} ELSE {i} END",
            "greatest({n}, {i})",
            "({n} * {i})",
            "({n} + {n})",
            "nullif({n}, 1.5)",
            "{i}::numeric(12, 3)",
            "({i} % 2.5)",
            "mod({n}, 7)",
        ],
    ),
    (
        'f',
        &[
            "{i}::float8",
            "{l}::float8",
            "({f} * 2)",
            "({f} / 2)",
            "({f} + 1)",
            "({i} + 0.5::float8)",
            "({i} / 2::float8)",
            "abs({f})",
            "ceil({f})",
            "floor({f})",
            "round({f})",
            "trunc({f})",
            "sign({f})",
            "(-{f})",
            "coalesce({f}, {i})",
            "nullif({f}, 0)",
            "greatest({f}, {f})",
            "least({f}, 1)",
            "sqrt(abs({f}))",
            "cbrt({f})",
            "CASE WHEN {b} THEN {f} ELSE {i} END",
            "date_part('month', {s})",
            "date_part('epoch', {z})",
            "degrees({i})",
            "radians({i})",
            "atan({f})",
            "atan2({f}, 1)",
            "{n}::float8",
            "({f} * {n})",
            "({f} - {i})",
            "{f}::float4::float8",
            "sin({i})",
            "log10({i}::float8 ^ 2 + 1)",
            "pi()",
            "({i}::float8 ^ 2)",
            "tanh({i}::float8)",
        ],
    ),
    (
        't',
        &[
            "upper({t})",
            "lower({t})",
            "initcap({t})",
            "btrim({t})",
            "trim({t})",
            "ltrim({t}, 'a')",
            "rtrim({t}, 'b ')",
            "trim(BOTH 'a' FROM {t})",
            "trim(LEADING FROM {t})",
            "substr({t}, 2)",
            "substring({t}, 2, 1)",
            "substring({t} FROM 2 FOR 2)",
            "substring({t} FROM '[a-z]+')",
            "left({t}, 1)",
            "left({t}, -1)",
            "right({t}, 2)",
            "right({t}, -1)",
            "reverse({t})",
            "repeat({t}, 2)",
            "repeat({t}, -1)",
            "replace({t}, 'a', 'xy')",
            "replace({t}, '', 'z')",
            "lpad({t}, 4, 'xy')",
            "rpad({t}, 4)",
            "lpad({t}, 1)",
            "split_part({t}, ',', 2)",
            "split_part({t}, ',', -1)",
            "concat({x}, {t}, NULL, {i})",
            "concat_ws('-', {t}, {x}, {t})",
            "({t} || {t})",
            "({t} || {i})",
            "({b} || {t})",
            "{i}::text",
            "{l}::text",
            "{n}::text",
            "{f}::text",
            "{b}::text",
            "{z}::text",
            "{s}::text",
            "{d}::text",
            "{v}::text",
            "{u}::text",
            "{y}::text",
            "md5({t})",
            "to_hex({i})",
            "to_hex({l})",
            "translate({t}, 'ab', 'x')",
            "overlay({t} PLACING 'ZZ' FROM 1 FOR 1)",
            "quote_literal({t})",
            "quote_ident({t})",
            "quote_nullable({t})",
            "format('%s-%L', {t}, {i})",
            "format('%I', {t})",
            "to_char({z}, 'YYYY-MM-DD HH24:MI:SS.US')",
            "to_char({d}, 'Dy DD Mon YYYY')",
            "to_char({z}, 'IYYY-IW TZ Q DDD')",
            "to_char({i}, '999,999')",
            "to_char({n}, 'FM990.00')",
            "encode({y}, 'hex')",
            "encode({y}, 'base64')",
            "encode({y}, 'escape')",
            "md5({y})",
            "regexp_replace({t}, '[a-z]', '#', 'g')",
            "regexp_replace({t}, '(a)(b)', '\\2\\1')",
            "coalesce({t}, 'none')",
            "nullif({t}, '')",
            "greatest({t}, {t})",
            "least({t}, 'b')",
            "CASE WHEN {b} THEN {t} ELSE 'else' END",
            "CASE {t} WHEN 'a' THEN 'one' WHEN '' THEN 'empty' END",
            "{t}::varchar",
            "{t}::varchar(2)",
            "{t}::char(3)::text",
            "pg_typeof({x})::text",
            "array_to_string(ARRAY[{t}, 'q', NULL], '/', '*')",
            "(string_to_array({t}, ','))[1]",
            "{t} COLLATE \"C\"",
            "chr(64 + ascii({t}) % 26)",
            "regexp_match({t}, '(a)(.)')::text",
            "ARRAY[{i}, {i}]::text",
            "ARRAY[{t}, {t}]::text",
            "ARRAY[{f}]::text",
            "to_char({v}, 'HH24:MI')",
            "btrim({t}, ' a')",
            "unistr('\\0041')",
            "to_char({f}, '0.99EEEE')",
            "starts_with({t}, 'a')::text",
        ],
    ),
    (
        'z',
        &[
            "date_trunc('month', {z})",
            "date_trunc('week', {z})",
            "date_trunc('year', {z})",
            "date_trunc('day', {z})",
            "date_trunc('hour', {z})",
            "date_trunc('quarter', {z})",
            "date_trunc('decade', {z})",
            "date_trunc('day', {z}, 'America/New_York')",
            "({s} AT TIME ZONE 'Europe/Berlin')",
            "coalesce({z}, {z})",
            "CASE WHEN {b} THEN {z} ELSE {z} END",
            "{d}::timestamptz",
            "{s}::timestamptz",
            "({z} - interval '1 month')",
            "({z} - interval '25 hours')",
            "greatest({z}, {z})",
            "to_timestamp({i})",
            "({z} - {v})",
            "date_trunc('minute', {z})",
            "timezone('UTC', {s})",
            "{z}::timestamptz(0)",
        ],
    ),
    (
        's',
        &[
            "({z} AT TIME ZONE 'Europe/Berlin')",
            "({z} AT TIME ZONE 'UTC')",
            "({z} AT TIME ZONE 'America/New_York')",
            "({z} AT TIME ZONE '+02:00')",
            "({z} AT TIME ZONE interval '-3 hours')",
            "{d}::timestamp",
            "{z}::timestamp",
            "date_trunc('hour', {s})",
            "({s} - interval '1 month 1 day')",
            "({d} - interval '12 hours')",
            "least({s}, {s})",
            "date_bin('15 minutes', {s}, timestamp '2001-01-01')",
            "make_timestamp(2024, 2, 29, 1, 2, 3.5)",
            "({d} + time '10:00')",
        ],
    ),
    (
        'd',
        &[
            "{z}::date",
            "{s}::date",
            "({d} - 3)",
            "({d} + length({t}))",
            "coalesce({d}, {d})",
            "greatest({d}, {d})",
            "make_date(2024, 2, 29)",
            "to_date('2024-01-31', 'YYYY-MM-DD')",
            "CASE WHEN {b} THEN {d} END",
            "date({z})",
        ],
    ),
    (
        'v',
        &[
            "({z} - {z})",
            "({s} - {s})",
            "({v} * 2)",
            "({v} / 2)",
            "({v} + {v})",
            "(-{v})",
            "age({s}, {s})",
            "age({z}, {z})",
            "justify_days({v})",
            "justify_hours({v})",
            "justify_interval({v})",
            "make_interval(days => 3, hours => 5)",
            "coalesce({v}, {v})",
            "({v} * 1.5)",
            "date_trunc('hour', {v})",
            "({i} % 100 * interval '1 hour')",
        ],
    ),
    ('u', &["coalesce({u}, {u})", "nullif({u}, {u})", "{u}::text::uuid", "CASE WHEN {b} THEN {u} ELSE {u} END"]),
    (
        'y',
        &[
            "({y} || {y})",
            "coalesce({y}, {y})",
            "decode('6162', 'hex')",
            "substring({y} FROM 1 FOR 1)",
            "sha256({y})",
            "convert_to({t}, 'UTF8')",
            "nullif({y}, '\\x61')",
            "decode('YWI=', 'base64')",
        ],
    ),
];

/// What fails for some values.
const RISKY: &[(char, &[&str])] = &[
    ('b', &["{t}::boolean", "('a' ~ {t})", "({i} / {i} = 1)", "({t} LIKE {t})", "({t} ILIKE {t})", "({i} + {i} > 0)"]),
    (
        'i',
        &[
            "({i} + {i})",
            "({i} - {i})",
            "({i} * {i})",
            "({i} / {i})",
            "({i} % {i})",
            "abs({i})",
            "(-{i})",
            "{t}::int4",
            "{f}::int4",
            "{l}::int4",
            "{n}::int4",
            "mod({i}, {i})",
            "({i}::int2)",
            "CAST({t} AS integer)",
            "({i} << 3)",
            "(SELECT {i})",
            "round({f})::int4",
        ],
    ),
    (
        'l',
        &[
            "({l} + {l})",
            "({l} - {l})",
            "({l} * {l})",
            "({l} / {l})",
            "({l} % {l})",
            "abs({l})",
            "(-{l})",
            "{t}::int8",
            "{f}::int8",
            "{n}::int8",
            "({l} + {i})",
            "div({i}, {i})::int8",
            "gcd({l}, {i})",
        ],
    ),
    (
        'n',
        &[
            "{t}::numeric",
            "num::numeric",
            "({n} / {n})",
            "({n} / {i})",
            "({n} % {n})",
            "round(num::numeric, 2)",
            "{n}::numeric(4, 1)",
            "{l}::numeric(5, 2)",
            "power({n}, 2)",
            "sqrt({n})",
            "exp({n})",
            "ln({n})",
            "log(10, {n})",
        ],
    ),
    (
        'f',
        &[
            "({f} * {f})",
            "({f} / {f})",
            "({f} + {f})",
            "({f} - {f})",
            "{t}::float8",
            "exp({f})",
            "ln({f})",
            "sqrt({f})",
            "power({f}, {f})",
            "log({f})",
            "asin({f})",
            "({i} / {f})",
            "({f} ^ {i})",
            "{f}::float4",
            "{t}::float4::float8",
        ],
    ),
    (
        't',
        &[
            "chr({i})",
            "split_part({t}, ',', {i} % 3)",
            "substring({t}, {i} % 5, 2)",
            "substring({t}, 1, {i} % 5)",
            "left({t}, {i} % 5)",
            "to_char({z}, {t})",
            "lpad({t}, {i} % 9, {t})",
            "({t} || {x})",
            "encode({y}, {t})",
            "right({t}, {i} % 5)",
        ],
    ),
    (
        'z',
        &[
            "{t}::timestamptz",
            "({z} + {v})",
            "to_timestamp({f})",
            "({s} AT TIME ZONE {t})",
            "date_trunc({t}, {z})",
            "to_timestamp({t}, 'YYYY-MM-DD')",
            "make_timestamptz(2024, {i}, 1, 0, 0, 0)",
        ],
    ),
    ('s', &["{t}::timestamp", "({s} + {v})", "({d} + {v})", "make_timestamp(2024, {i}, 1, 0, 0, 0)"]),
    (
        'd',
        &[
            "{t}::date",
            "({d} + {i})",
            "make_date({i}, 1, 31)",
            "make_date(2024, {i}, 31)",
            "to_date({t}, 'YYYY-MM-DD')",
        ],
    ),
    ('v', &["{t}::interval", "({v} * {i})", "({v} / {i})", "({v} * {f})", "make_interval(days => {i})"]),
    ('u', &["{t}::uuid"]),
    ('y', &["{t}::bytea", "decode({t}, 'hex')", "decode({t}, 'base64')"]),
];

/// Whose columns expressions may name, and whether they may fail.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Names of tables in scope, `""` where columns are not qualified.
    pub tables: &'a [&'a str],
    pub risky: bool,
}

fn of(table: &'static [(char, &'static [&'static str])], kind: char) -> &'static [&'static str] {
    table.iter().find(|(found, _)| *found == kind).map_or(&[], |(_, of)| of)
}

fn leaf(kind: char, scope: Scope<'_>, dice: &mut Dice) -> String {
    let columns = of(COLUMNS, kind);
    if columns.is_empty() || scope.tables.is_empty() || dice.chance(4) {
        return dice.pick(of(LITERALS, kind)).to_owned();
    }
    match dice.pick(scope.tables) {
        "" => dice.pick(columns).to_owned(),
        table => format!("{table}.{}", dice.pick(columns)),
    }
}

/// An expression of the type, nested up to `depth`.
pub fn expression(kind: char, depth: usize, scope: Scope<'_>, dice: &mut Dice) -> String {
    if depth == 0 {
        return leaf(kind, scope, dice);
    }
    let risky = of(RISKY, kind);
    let template = match scope.risky && dice.chance(2) && !risky.is_empty() {
        true => dice.pick(risky),
        false => dice.pick(of(SAFE, kind)),
    };
    filled(template, depth - 1, scope, dice)
}

/// The template with expressions where it has letters in braces.
pub fn filled(template: &str, depth: usize, scope: Scope<'_>, dice: &mut Dice) -> String {
    let mut text = String::new();
    let mut left = template;
    while let Some(at) = left.find('{') {
        text.push_str(&left[..at]);
        let mut inside = left[at + 1..].chars();
        match (inside.next(), inside.next()) {
            (Some(kind), Some('}')) if kind == 'x' || TYPES.contains(kind) => {
                let kind = match kind {
                    'x' => TYPES.as_bytes()[dice.below(TYPES.len())] as char,
                    kind => kind,
                };
                let depth = if depth > 0 && dice.chance(2) { 0 } else { depth };
                text.push_str(&expression(kind, depth, scope, dice));
                left = &left[at + 3..];
            }
            _ => {
                text.push('{');
                left = &left[at + 1..];
            }
        }
    }
    text.push_str(left);
    text
}

pub fn any_kind(dice: &mut Dice) -> char {
    TYPES.as_bytes()[dice.below(TYPES.len())] as char
}

/// All templates, so that each is asked at least once with leaves.
pub fn templates() -> impl Iterator<Item = (bool, &'static str)> {
    let of = |risky: bool, table: &'static [(char, &'static [&'static str])]| {
        table.iter().flat_map(|(_, templates)| templates.iter()).map(move |template| (risky, *template))
    };
    of(false, SAFE).chain(of(true, RISKY))
}
