//! Generated arrays, with NULLs and without items, under every function and operator of arrays.

use rowkey_base::testing::Dice;

/// Types of items, each with texts of items as they stand in an array literal.
const ITEMS: &[(&str, &[&str])] = &[
    ("int", &["1", "2", "3", "1", "2", "-7", "NULL", "NULL"]),
    ("bigint", &["1", "2", "9007199254740993", "NULL"]),
    ("text", &["a", "b", "a", "\"\"", "\"a,b\"", "é", "\"NULL\"", "NULL", "\"a\nb\""]),
    ("float8", &["0", "-0", "1.5", "NaN", "NULL"]),
    ("bool", &["t", "f", "NULL"]),
    ("date", &["2020-01-01", "2021-02-03", "NULL"]),
    ("interval", &["1 mon", "30 days", "29 days", "31 days", "720:00:00", "NULL"]),
];

/// An array as a constant.
fn array(sql_type: &str, items: &[&str], dice: &mut Dice) -> String {
    match dice.below(10) {
        0 => format!("NULL::{sql_type}[]"),
        1 => format!("'{{}}'::{sql_type}[]"),
        _ => {
            let items: Vec<&str> = (0..1 + dice.below(5)).map(|_| dice.pick(items)).collect();
            format!("'{{{}}}'::{sql_type}[]", items.join(","))
        }
    }
}

/// An item as a constant.
fn item(sql_type: &str, items: &[&str], dice: &mut Dice) -> String {
    match dice.pick(items) {
        "NULL" => format!("NULL::{sql_type}"),
        text => format!("'{}'::{sql_type}", text.trim_matches('"')),
    }
}

/// Uses of the columns `a` and `b`, arrays, and `x` and `y`, items of theirs.
const USES: &[&str] = &[
    "array_append(a, x)",
    "array_prepend(x, a)",
    "array_cat(a, b)",
    "a || b",
    "a || x",
    "x || a",
    "a || NULL",
    "array_remove(a, x)",
    "array_remove(a, NULL)",
    "array_replace(a, x, y)",
    "array_replace(a, NULL, y)",
    "array_replace(a, x, NULL)",
    "array_position(a, x)",
    "array_position(a, NULL)",
    "array_position(a, x, 2)",
    "array_positions(a, x)",
    "array_positions(a, NULL)",
    "array_length(a, 1)",
    "array_length(a, 2)",
    "array_lower(a, 1)",
    "array_upper(a, 1)",
    "array_ndims(a)",
    "array_dims(a)",
    "cardinality(a)",
    "trim_array(a, 0)::text",
    "trim_array(array_append(array_append(a, x), y), 2)::text",
    "array_to_string(a, '/')",
    "array_to_string(a, '/', '*')",
    "a[1]",
    "a[0]",
    "a[9]",
    "(a[1:2])::text",
    "(a[2:])::text",
    "(a[:2])::text",
    "(a[3:1])::text",
    "a @> b",
    "a <@ b",
    "a && b",
    "a = b",
    "a <> b",
    "a IS DISTINCT FROM b",
    "x = ANY (a)",
    "x <> ANY (a)",
    "x = ALL (a)",
    "x <> ALL (a)",
    "x < ANY (a)",
    "x >= ALL (a)",
    "x <= ANY (a)",
    "x > ALL (a)",
    "NOT x = ANY (a)",
    "(SELECT count(*) FROM unnest(a) AS u(i))",
    "(SELECT count(i) FROM unnest(a) AS u(i))",
    "(SELECT array_agg(i) FROM unnest(a) AS u(i) WHERE i IS NOT NULL)",
    "(SELECT string_agg(coalesce(i::text, '*') || coalesce(j::text, '*'), ';') FROM unnest(a, b) AS u(i, j))",
    "(SELECT max(n) FROM unnest(a) WITH ORDINALITY AS u(i, n))",
    "a::text",
    "coalesce(a, b)",
    "CASE WHEN x = y THEN a ELSE b END",
    "a < b",
    "a >= b",
    "a IS NOT DISTINCT FROM b",
    "a BETWEEN b AND trim_array(a, 0)",
    "b NOT BETWEEN a AND array_append(a, x)",
    "a IN (b, trim_array(b, 0), NULL)",
    "a NOT IN (b, trim_array(a, 0))",
    "CASE a WHEN b THEN 1 WHEN trim_array(a, 0) THEN 2 END",
    "nullif(a, b)",
    "greatest(a, b)",
    "least(b, a, NULL)",
    "rank() OVER (ORDER BY a)",
    "dense_rank() OVER (ORDER BY a DESC, b)",
    "count(*) OVER (PARTITION BY a)",
    "count(*) OVER (ORDER BY x)",
    "max(a) OVER (ORDER BY k)",
    "min(a) OVER (ORDER BY k ROWS 2 PRECEDING)",
    "(SELECT count(DISTINCT u) FROM (VALUES (a), (b), (trim_array(a, 0))) AS t(u))",
    "(SELECT count(*) FROM (SELECT DISTINCT u FROM (VALUES (a), (b)) AS t(u)) AS s)",
    // Of two that are alike and written otherwise, either may be the greatest.
    "(SELECT max(u) = greatest(a, b) FROM (VALUES (a), (b)) AS t(u))",
    "(SELECT mode() WITHIN GROUP (ORDER BY i) FROM unnest(a) AS u(i))",
];

/// A question for every use, over some arrays, in order.
pub(crate) fn questions(dice: &mut Dice) -> Vec<String> {
    let filled = |used: &&str| {
        let (sql_type, items) = dice.pick(ITEMS);
        let rows: Vec<String> = (0..12)
            .map(|row| {
                let arrays = [array(sql_type, items, dice), array(sql_type, items, dice)];
                let alone = [item(sql_type, items, dice), item(sql_type, items, dice)];
                format!("({row}, {}, {})", arrays.join(", "), alone.join(", "))
            })
            .collect();
        format!("SELECT {used} AS e FROM (VALUES {}) AS v(k, a, b, x, y) ORDER BY k", rows.join(", "))
    };
    USES.iter().map(filled).collect()
}

/// What is asked as it stands: literals without a type.
pub(crate) const QUESTIONS: &[&str] = &[
    "SELECT ARRAY[]",
    "SELECT ARRAY[]::int[]",
    "SELECT CAST((ARRAY[]) AS text[])",
    "SELECT cardinality(ARRAY[])",
    "SELECT array_append(ARRAY[], 1)",
    "SELECT 1 = ANY (ARRAY[])",
    "SELECT ARRAY[u, NULL], ARRAY[u, '00000000-0000-0000-0000-000000000002'] FROM (VALUES ('00000000-0000-0000-0000-000000000001'::uuid)) v(u)",
    "SELECT ARRAY[d, '2020-01-02'], ARRAY['2020-01-02', d], ARRAY[d, NULL], ARRAY[NULL, d] FROM (VALUES ('2020-01-01'::date)) v(d)",
    "SELECT ARRAY[d, '2020-01-02'], ARRAY[d, NULL] FROM (VALUES ('2020-01-01'::timestamptz)) v(d)",
    "SELECT ARRAY[d, '2020-01-02 10:00'::timestamp], ARRAY[d, '2020-01-03'] FROM (VALUES ('2020-01-01'::date)) v(d)",
    "SELECT ARRAY[1, 2::int8], ARRAY[1::int2, 2], ARRAY[1.5, 2::float8], ARRAY[1, '2'], ARRAY['2', 1]",
    "SELECT ARRAY[true, 'f'], ARRAY[NULL, true], ARRAY['a', NULL], ARRAY[NULL, NULL], ARRAY[NULL]",
    "SELECT ARRAY['1 day'::interval, '2 hours'], ARRAY['\\x01'::bytea, '\\x02'], ARRAY['10:00'::time, '11:00']",
    "SELECT ARRAY['{\"a\":1}'::jsonb, '{\"b\":2}'], ARRAY['{\"a\":1}'::jsonb, NULL], ARRAY[true, NULL, 'no']",
    "SELECT ARRAY[1, true]",
    "SELECT ARRAY[1, 'x']",
    "SELECT ARRAY['2020-01-01'::date, 1]",
    "SELECT array_fill(7, ARRAY[3]), array_fill('x'::text, ARRAY[2]), array_fill(1, '{0}'), array_fill(NULL::int, ARRAY[2])",
    "SELECT array_fill(7, NULL)",
    "SELECT array_fill(7, ARRAY[-1])",
    "SELECT array_fill(7, ARRAY[NULL::int])",
    "SELECT 'abc' ~ ANY (ARRAY['b', 'x']), 'abc' ~ ALL (ARRAY['b', 'x']), 'abc' !~ ANY (ARRAY['b', 'x']), 'abc' ~* ANY (ARRAY['B'])",
    "SELECT 'abc' !~* ALL (ARRAY['x', NULL]), 'abc' ~ ANY ('{}'::text[]), 'abc' ~~ ANY (ARRAY['a%']), 'abc' !~~* ALL (ARRAY['B%'])",
    "SELECT x ~ ANY (ARRAY[x, NULL]), x ~ ANY ('{b$,^c}'), x LIKE ANY ('{a%,%c}') FROM (VALUES ('abc'), ('xyz'), (NULL)) v(x)",
    "SELECT jsonb_object('{{a,1},{b,2}}'), json_object('{{a,1},{b,NULL}}'), json_object('{a,1,b,2}'), jsonb_object('{}')",
    "SELECT json_object('{{a,1,3},{b,2,4}}')",
    "SELECT json_object('{{a},{b}}')",
    "SELECT json_object('{{{a,1},{b,2}}}')",
    "SELECT array_append(ARRAY[1, 2], 3), array_append(NULL::int[], 3), array_append('{}'::int[], NULL)",
    "SELECT array_prepend('a', ARRAY['b']), array_prepend(NULL, ARRAY[1])",
    "SELECT array_cat(NULL::int[], NULL::int[]), array_cat(ARRAY[1], NULL), ARRAY[1] || '{2,3}', 0 || ARRAY[1, 2]",
    "SELECT array_remove(ARRAY[1, 2, 1, NULL], 1), array_replace(ARRAY[1, 2, 1, NULL], 1, 9)",
    "SELECT array_remove(ARRAY['a', NULL, 'b', NULL], NULL), array_replace(ARRAY['a', NULL], NULL, 'z')",
    "SELECT array_position(ARRAY['sun', 'mon'], 'mon'), array_positions(ARRAY['A', 'A', 'B'], 'A')",
    "SELECT trim_array(ARRAY[1, 2, 3], 2), trim_array(ARRAY[1], 1)",
    "SELECT trim_array(ARRAY[1, 2, 3], 4)",
    "SELECT trim_array(ARRAY[1, 2, 3], -1)",
    "SELECT array_position(ARRAY[1], 1, NULL)",
    "SELECT 1 = ANY ('{1,2}'), 3 = ANY ('{1,NULL}'), 3 <> ALL ('{1,2}'), 'a' = ANY ('{a,b}')",
    "SELECT 1 = ANY (ARRAY[]::int[]), 1 = ALL ('{}'::int[]), NULL = ANY (ARRAY[1]), 1 = ANY (NULL::int[])",
    "SELECT 'abc' LIKE ANY (ARRAY['x%', 'a%']), 'abc' LIKE ALL (ARRAY['a%', '%b']), 'abc' NOT LIKE ALL (ARRAY['x%', NULL])",
    "SELECT 'abc' ILIKE ANY (ARRAY['X%', 'A%']), 'abc' ILIKE ALL (ARRAY['A%', NULL]), 'abc' LIKE ANY (NULL::text[])",
    "SELECT 'abc' LIKE ANY ('{x%,a%}'), 'abc' ILIKE ALL ('{A%,%C}'::text[])",
    "SELECT ARRAY[1, 2] @> ARRAY[1], ARRAY[1, NULL] @> ARRAY[NULL]::int[], ARRAY[1] <@ ARRAY[1, 2], ARRAY[1, NULL] && ARRAY[NULL]::int[]",
    "SELECT ARRAY[1, 2] @> '{}', '{1}' <@ ARRAY[1, 2], ARRAY[1, 2] && '{2}'",
    "SELECT ARRAY[1, NULL] = ARRAY[1, NULL], ARRAY[1, 2] < ARRAY[1, 3], ARRAY[1] < ARRAY[1, 0], ARRAY[]::int[] < ARRAY[1]",
    "SELECT ARRAY[1, 2.5], ARRAY[1, NULL], ARRAY['a', NULL], ARRAY[]::text[]",
    "SELECT (ARRAY[1, 2, 3])[2], (ARRAY[1, 2, 3])[2:3], ('{1,2}'::int[])[NULL], (ARRAY[1, 2])[-1]",
    "SELECT * FROM unnest(ARRAY[1, 2], ARRAY['a', 'b', NULL]) AS u(n, t)",
    "SELECT * FROM unnest(ARRAY[1, NULL], NULL::text[], '{}'::int[]) AS u(a, b, c)",
    "SELECT array_dims(ARRAY[1, 2]), array_dims('{}'::int[]), cardinality(NULL::int[]), array_ndims('{}'::text[])",
];
