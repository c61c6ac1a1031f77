//! Aggregates, window functions and sets in every place of a statement: most take some of them.

use rowkey_base::testing::Dice;

const CALLS: &[&str] =
    &["count(*)", "sum(n)", "max(n) OVER ()", "row_number() OVER ()", "generate_series(1, 2)", "unnest(ARRAY[1, 2])"];

/// What a call stands in.
const AROUND: &[&str] = &[
    "{c}",
    "{c} + 1",
    "abs({c}::int)",
    "CASE WHEN 1 > 0 THEN {c} ELSE 0 END",
    "CASE WHEN {c} = 1 THEN 1 END",
    "CASE {c} WHEN 1 THEN 2 END",
    "coalesce({c}, 1)",
    "greatest({c}, 1)",
    "nullif({c}, 1)",
    "({c} = 1)::int",
    "({c} = 1 AND 1 > 0)::int",
    "(1 < 0 OR {c} = 1)::int",
    "(NOT {c} = 1)::int",
    "(({c} = 1) IS TRUE)::int",
    "(({c} = 1) IS NOT UNKNOWN)::int",
    "({c} BETWEEN 1 AND 2)::int",
    "({c} NOT BETWEEN 1 AND 2)::int",
    "({c} IN (1))::int",
    "({c} NOT IN (1, 2))::int",
    "({c} IS NULL)::int",
    "({c} IS DISTINCT FROM 1)::int",
    "array_length(ARRAY[{c}, 1], 1)",
    "({c} = ANY (ARRAY[1, 2]))::int",
];

/// Calls around others, of which the select list alone has both.
const CALLS_AROUND: &[&str] = &["sum({c})", "sum({c}) OVER ()", "count({c}) FILTER (WHERE 1 > 0)"];

const PLACES: &[&str] = &[
    "SELECT {e} AS r FROM {v}",
    "SELECT 1 FROM {v} WHERE {e} = 1",
    "SELECT count(*) FROM {v} GROUP BY {e}",
    "SELECT count(*) FROM {v} HAVING {e} = 1",
    "SELECT 1 FROM {v} JOIN (VALUES (1)) AS w(m) ON {e} = m",
    "SELECT 1 FROM {v} LIMIT {e}",
    "SELECT 1 FROM {v} OFFSET {e}",
    "SELECT 1 FROM {v}, generate_series(1, {e}) AS g",
    "SELECT count(*) FILTER (WHERE {e} = 1) FROM {v}",
    "SELECT 1 FROM {v} WHERE EXISTS (SELECT {e} FROM {v} LIMIT 1)",
];

pub(crate) fn question(dice: &mut Dice) -> String {
    let place = dice.pick(PLACES);
    let call = loop {
        let call = dice.pick(CALLS);
        // LIMIT knows no columns.
        if !place.ends_with("T {e}") || !call.contains("(n)") {
            break call;
        }
    };
    let around = match dice.below(6) {
        0 if place.starts_with("SELECT {e}") => dice.pick(CALLS_AROUND),
        _ => dice.pick(AROUND),
    };
    place.replace("{e}", &around.replace("{c}", call)).replace("{v}", "(VALUES (1), (2)) AS v(n)")
}

/// What is asked as it stands.
pub(crate) const QUESTIONS: &[&str] = &[
    "VALUES (count(*))",
    "VALUES (count(*) OVER ())",
    "VALUES (generate_series(1, 3))",
    "SELECT row_number() OVER (ORDER BY row_number() OVER ()) FROM (VALUES (1)) AS v(n)",
    "SELECT sum(n) OVER w FROM (VALUES (1)) AS v(n) WINDOW w AS (ORDER BY count(*) OVER ())",
    "SELECT sum(count(*)) OVER () FROM (VALUES (1), (2)) AS v(n)",
    "SELECT n FROM (VALUES (1), (2)) AS v(n) ORDER BY count(*) OVER (), n",
    "SELECT CASE WHEN EXISTS (SELECT generate_series(1, 2)) THEN 1 END, CASE WHEN 1 IN (SELECT unnest(ARRAY[1])) THEN 2 END",
    "SELECT a.small, sum(b.small) OVER (PARTITION BY b.small ORDER BY a.small) FROM items a JOIN items b ON a.small = b.small ORDER BY 1, 2",
    "SELECT a.small, count(*) OVER (PARTITION BY a.small, b.small ORDER BY b.\"RowKey\"), max(b.small) OVER (PARTITION BY b.\"RowKey\") FROM items a JOIN parts b ON a.small = b.small ORDER BY 1, 2, 3",
    "SELECT x, (SELECT sum(z) OVER (PARTITION BY y) FROM (VALUES (1, 3), (2, 4)) AS w(y, z) WHERE y = x) FROM (VALUES (1), (2)) AS v(x) ORDER BY 1",
    "SELECT y, rank() OVER (PARTITION BY x ORDER BY y) FROM (VALUES (1), (2)) AS w(y) JOIN (VALUES (1), (2)) AS v(x) ON x = y ORDER BY 1",
    "SELECT 1 FOR UPDATE",
    "SELECT 1, 'a' WHERE 1 > 0 FOR SHARE NOWAIT",
    "SELECT (SELECT 1 FOR UPDATE SKIP LOCKED)",
    "SELECT interval(1) '1.25 s', interval(0) '1.5 s', interval(2) '1.255 s', interval (1) '-1.35s', '1.25 s'::interval(1)",
    "SELECT json_agg(x), array_agg(x::text), json_agg(x::int8), jsonb_agg(x::text) FROM (VALUES (1), (2)) AS v(x)",
    "SELECT json_object_agg(x, x::text), jsonb_object_agg(x, x) FROM (VALUES (1), (2)) AS v(x)",
    "SELECT sum(x + 1), sum(x::numeric + 1), max(abs(x)), max(abs(x::numeric)), min(x) FROM (VALUES (1), (2)) AS v(x)",
    "SELECT array_agg(x::text || 'a'), array_agg(x || 'a'), count(x), count((x)::text) FROM (VALUES (1), (2)) AS v(x)",
];
