//! Calls, operators and constructs over literals in quotes and NULLs, which have no type until one is
//! found for them; and over parameters, which have none either.

use rowkey_base::testing::Dice;

const LITERALS: &[&str] = &["'1'", "'2'", "NULL", "'{1,2}'", "'a'"];

/// Over `{u}`, a literal without a type.
const USES: &[&str] = &[
    "json_agg({u})",
    "jsonb_agg({u})",
    "array_agg({u})",
    "to_json({u})",
    "to_jsonb({u})",
    "min({u})",
    "max({u})",
    "sum({u})",
    "avg({u})",
    "count({u})",
    "bit_and({u})",
    "string_agg({u}, ',')",
    "mode() WITHIN GROUP (ORDER BY {u})",
    "percentile_disc(0.5) WITHIN GROUP (ORDER BY {u})",
    "array_length({u}, 1)",
    "array_ndims({u})",
    "array_dims({u})",
    "array_lower({u}, 1)",
    "array_upper({u}, 1)",
    "cardinality({u})",
    "array_to_string({u}, ',')",
    "array_to_json({u})",
    "trim_array({u}, 1)",
    "array_fill({u}, '{2}')",
    "unnest({u})",
    "generate_subscripts({u}, 1)",
    "generate_series({u}, {u})",
    "date_trunc('year', {u})",
    "date_part('year', {u})",
    "extract(year FROM {u})",
    "to_char({u}, '9')",
    "isfinite({u})",
    "mod({u}, {u})",
    "gcd({u}, {u})",
    "to_hex({u})",
    "age({u})",
    "{u} + {u}",
    "{u} - {u}",
    "{u} * {u}",
    "{u} / {u}",
    "{u} % {u}",
    "{u} & {u}",
    "{u} | {u}",
    "{u} && {u}",
    "{u} @> {u}",
    "{u} || {u}",
    "{u} = {u}",
    "{u} IS DISTINCT FROM {u}",
    "date '2020-01-01' IS DISTINCT FROM {u}",
    "{u} IS NOT DISTINCT FROM interval '1 day'",
    "ARRAY[1, 2] IS DISTINCT FROM {u}",
    "{u} IS NOT DISTINCT FROM 1.5",
    "true IS DISTINCT FROM {u}",
    "width_bucket(5, {u})",
    "width_bucket({u}, ARRAY[1, 5])",
    "width_bucket({u}, {u})",
    "scale({u})",
    "- {u}",
    "coalesce({u}, {u})",
    "greatest({u}, {u})",
    "nullif({u}, {u})",
    "CASE WHEN true THEN {u} ELSE {u} END",
    "concat({u}, {u})",
    "first_value({u}) OVER ()",
    "lag({u}) OVER ()",
    "date '2020-01-01' + {u}",
];

pub(crate) fn question(dice: &mut Dice) -> String {
    let mut question = format!("SELECT {}", dice.pick(USES));
    while question.contains("{u}") {
        question = question.replacen("{u}", dice.pick(LITERALS), 1);
    }
    question
}

/// What is asked as it stands.
pub(crate) const QUESTIONS: &[&str] = &[
    "SELECT bool_and('t'), bool_or(NULL), every('f'), stddev('1'), variance(NULL)",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY '1')",
    "SELECT NOT 't', 't' AND 'f', NULL AND NULL, NOT NULL, + '1', NULL || NULL, 'a' || NULL",
    "SELECT NOT 'x'",
    "SELECT substr('abc', '2'), substr('abc', '2', '1'), substring('abc', '2'), overlay('abc' PLACING 'x' FROM '2')",
    "SELECT age('2020-01-01', '2019-01-01'), date '2020-01-02' - '2020-01-01', timestamp '2020-01-01' + '1 day'",
    "SELECT * FROM unnest('{a,b}')",
    "SELECT trunc('1.567', 1), round('1.567', 1), scale('1.50'), div('7', 2), div('7.5', '2.5')",
    "SELECT count(*) AS c FROM parts GROUP BY ((flag, small)) ORDER BY 1",
    "(SELECT small FROM parts ORDER BY 1 LIMIT 4) OFFSET 1",
    "SELECT interval '10:20:30 5 ms'",
    "SELECT interval '1.5 s 3 us'",
    "SELECT interval '10:20 3 hours'",
    "SELECT -1 IN (1.5, '999.9'), 2 IN ('2.00', 1.5), 2 IN (1, '2.5')",
];

/// Parameters without a type, whose type is that of what stands beside them.
pub(crate) const WITH_PARAMETERS: &[(&str, &[&str])] = &[
    ("VALUES ($1), (2)", &["1"]),
    ("VALUES (2), ($1)", &["1"]),
    ("VALUES ($1), (2), (3000000000)", &["1"]),
    ("VALUES ($1, 'a'), (2, $2)", &["1", "b"]),
    ("VALUES ($1), ($2)", &["1", "b"]),
    ("VALUES ($1), ('2020-01-01'::date)", &["2021-01-01"]),
    ("VALUES ($1::int8), (2)", &["1"]),
    ("SELECT x + 1 FROM (VALUES ($1), (2)) AS v(x)", &["1"]),
    ("SELECT $1 UNION ALL SELECT 2 ORDER BY 1", &["1"]),
    ("SELECT 'a' AS x UNION ALL SELECT $1 ORDER BY 1", &["b"]),
    ("SELECT ARRAY[$1, 2]", &["1"]),
    ("SELECT ARRAY[now(), $1] IS NULL", &["now"]),
    ("SELECT generate_series(1, $1) * 2", &["3"]),
    ("SELECT $1::timestamptz <= now(), $2::date = current_date", &["now", "today"]),
    ("SELECT 'abc' LIKE ANY ($1), 'abc' ~ ANY ($2)", &["{a%,b}", "{x,^a}"]),
    // Their place says their type.
    ("SELECT left('abc', $1), right('abc', $1), repeat('x', $1), lpad('a', $2, $3)", &["2", "4", "-"]),
    ("SELECT split_part('a,b', $1, $2), round($3, 1), round($4)", &[",", "2", "1.25", "2.5"]),
    ("SELECT make_date($1, $2, $3), to_timestamp($4), abs($5)", &["2024", "1", "2", "0", "-2"]),
    ("SELECT overlay('abcdef' placing $1 from $2), (ARRAY['a', 'b'])[$3]", &["x", "2", "2"]),
    ("SELECT 7 % $1, 7 / $1, $1 > 1, 1 + $1", &["2"]),
    ("SELECT interval '1 day' * $1, $2 * interval '1 day'", &["2", "2.5"]),
    ("SELECT mod(7, $1), $2 BETWEEN 1 AND 3", &["2", "1"]),
    ("SELECT CASE WHEN $1 THEN 1 ELSE 2 END, NOT $2, $1 OR $2, $2 IS TRUE", &["t", "f"]),
    ("SELECT count(*), count(*) FILTER (WHERE $1) FROM parts WHERE $2 AND small > 0", &["f", "t"]),
    ("SELECT count(*) FROM parts WHERE small BETWEEN $1 AND $2", &["1", "5"]),
    ("SELECT count(*) FROM parts WHERE small > $1 + 1 AND small + $2 > 4", &["1", "2"]),
    (
        "SELECT small, ntile($1) OVER (ORDER BY \"PartitionKey\", \"RowKey\") FROM parts ORDER BY \"PartitionKey\", \"RowKey\"",
        &["3"],
    ),
    (
        "SELECT lag(small, $1) OVER w, lead(small, $2, 7) OVER w FROM parts WINDOW w AS (ORDER BY \"PartitionKey\", \"RowKey\") ORDER BY \"PartitionKey\", \"RowKey\"",
        &["1", "2"],
    ),
    (
        "SELECT percentile_cont($1) WITHIN GROUP (ORDER BY small), percentile_disc($2) WITHIN GROUP (ORDER BY small) FROM parts",
        &["0.5", "0.25"],
    ),
    ("SELECT count(*) FROM parts WHERE now() > $1 AND now() < $1 + interval '1000 years'", &["2024-01-01"]),
    ("SELECT jsonb_array_length($1), width_bucket(3, 0, 10, $2)", &["[1, 2]", "5"]),
];
