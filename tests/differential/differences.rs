//! Where answers are known to differ from PostgreSQL's; `sql/differences.md` is made from it.

/// A construct that is answered otherwise.
#[derive(Debug)]
pub(crate) struct Difference {
    /// A question that shows it. When both answer alike, the entry is to go. Empty where only
    /// parameters show it.
    pub example: &'static str,
    /// Questions that hold all of these pieces are not compared.
    pub pieces: &'static [&'static str],
    pub reason: &'static str,
}

const fn construct(example: &'static str, pieces: &'static [&'static str], reason: &'static str) -> Difference {
    Difference { example, pieces, reason }
}

pub(crate) const DIFFERENCES: &[Difference] = &[
    construct(
        "SELECT 'NaN'::float8::numeric",
        &["num::numeric"],
        "numerics have 38 digits, and neither NaN nor infinities",
    ),
    construct("SELECT pg_typeof(1)", &["SELECT pg_typeof("], "names of types and other objects go out as text"),
    construct(
        "SELECT 1, pg_typeof(now())",
        &["SELECT", ", pg_typeof("],
        "names of types and other objects go out as text",
    ),
    construct("SELECT (~-9007199254740993)", &["(~-"], "an operator of its own to PostgreSQL"),
    construct("SELECT exp(100.00)", &["exp(100.00)"], "numerics have 38 digits, and neither NaN nor infinities"),
    construct("SELECT 0.1::float8 AS e, cbrt(0.1::float8)", &["cbrt("], "the last digit of cube roots"),
    construct("SELECT ARRAY[1.5, 2]::text", &["ARRAY[", ":text"], "numerics of an array have one scale"),
    construct(
        "SELECT sum(x / 7.0) FROM (VALUES (2147483647), (-2147483646), (1)) v(x)",
        &["(small / 7.0)"],
        "quotients of a column have one scale",
    ),
    construct(
        "SELECT (CASE WHEN x > 1 THEN 100.00 ELSE x END)::text AS e FROM (VALUES (1), (2)) v(x)",
        &["CASE WHEN flag THEN ", "ELSE small END", ":text"],
        "numerics of a column have one scale",
    ),
];

/// What is refused by its name wherever it stands.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// A question that shows it.
    pub example: &'static str,
    /// What the message of every such refusal holds.
    pub words: &'static str,
    pub reason: &'static str,
}

pub(crate) const REFUSALS: &[Refusal] = &[
    Refusal {
        example: "SELECT now() AT TIME ZONE 'k0'",
        words: "time zone \"",
        reason: "zones in PostgreSQL's own notation",
    },
    Refusal {
        example: "SELECT y.c FROM (VALUES (1)) x(a), LATERAL (SELECT count(*) c FROM (VALUES (1)) z(b) WHERE b = a GROUP BY ROLLUP (b)) y",
        words: "GROUPING SETS in a subquery that refers to a query around it",
        reason: "GROUPING SETS in a subquery that refers to a query around it",
    },
    Refusal {
        example: "SELECT sum(x) OVER (ORDER BY x RANGE BETWEEN 1 PRECEDING AND 2 PRECEDING) FROM (VALUES (1)) v(x)",
        words: "a RANGE frame that ends before it starts",
        reason: "a RANGE frame that ends before it starts",
    },
];

/// Single questions, and what differs.
pub(crate) const QUESTIONS: &[(&str, &str)] = &[
    (
        "SELECT (1 / (small - small)) % (~NULL::int8) AS e FROM parts",
        "an expression with a NULL known beforehand is computed, and may fail",
    ),
    (
        r#"SELECT (coalesce(date_trunc('week', at), to_timestamp(num)) + interval '1 day') AS e FROM parts ORDER BY "PartitionKey", "RowKey""#,
        "infinite times are refused",
    ),
    (r#"SELECT $$dollar$$, E'a\nb', U&'\0061', 'it''s', B'101' IS NULL"#, "refused, where PostgreSQL answers"),
    ("TABLE parts", "rows in another order"),
    ("SELECT", "refused, where PostgreSQL answers"),
    (
        "SELECT 7 / 2, -7 / 2, 7 % -3, -7 % 3, 7.0 / 2, 1 / 3.0, 2 ^ 10, 2 ^ 0.5, |/ 16.0, ||/ 27.0, @ -5, 5 & 3, 5 | 3, 5 # 3, ~5, 1 << 4, -16 >> 2",
        "other rows",
    ),
    (
        "SELECT 1e15::float8, 1e16::float8, 123456789012345678::float8, 1e-5::float8, 0.0001::float8, 1.1::float4, 1e10::float4, '1e400'::numeric > 1",
        "refused, where PostgreSQL answers",
    ),
    (
        "SELECT 'NaN'::float8 = 'NaN'::float8, 'NaN'::float8 > 'Infinity'::float8, '-0'::float8 = 0::float8, 'NaN'::numeric, 'Infinity'::numeric",
        "refused, where PostgreSQL answers",
    ),
    ("SELECT 'infinity'::timestamptz > now(), '-infinity'::date", "refused, where PostgreSQL answers"),
    (r#"SELECT "abc"#, "other words or another place"),
    ("SELECT * FROM items GROUP small", "other words or another place"),
    ("SELECT * FROM items ORDER small", "other words or another place"),
    ("SELECT length('a', 'b')", "another SQLSTATE"),
    ("SELECT (SELECT small, big FROM items)", "another SQLSTATE"),
    ("SELECT * FROM items a JOIN parts b USING (nope)", "other words or another place"),
    ("SELECT * FROM items a JOIN parts b", "other words or another place"),
    ("SELECT * FROM (SELECT 1)", "answered, where PostgreSQL refuses"),
    (r#"SELECT right('ABC', small) AS e FROM items ORDER BY "PartitionKey", "RowKey""#, "other rows"),
    ("SELECT raw AS g, count(*), sum(small), min(num), max(num) FROM items GROUP BY 1", "other rows"),
    (r#"SELECT right(txt, small) AS e FROM parts ORDER BY "PartitionKey", "RowKey""#, "other rows"),
    (
        r#"SELECT a."RowKey", b."RowKey", date(b.at) FROM items a JOIN parts b ON a."PartitionKey" = b."PartitionKey" AND a."RowKey" = b."RowKey""#,
        "refused, where PostgreSQL answers",
    ),
];

/// Single questions with parameters.
pub(crate) const WITH_PARAMETERS: &[(&str, &str)] = &[
    ("SELECT $1 + 1", "another type"),
    ("SELECT count(*) FROM items WHERE small = ANY ($1)", "refused, where PostgreSQL answers"),
    (
        r#"SELECT "RowKey" FROM items WHERE "PartitionKey" = $1 AND "RowKey" >= $2 ORDER BY 1 LIMIT $3 OFFSET $4"#,
        "refused, where PostgreSQL answers",
    ),
    ("SELECT coalesce($1, small) FROM items ORDER BY 1 LIMIT 2", "refused, where PostgreSQL answers"),
    ("SELECT CASE WHEN $1 THEN 'a' ELSE 'b' END", "another type"),
    (
        r#"SELECT at + $1 FROM items WHERE "RowKey" = 'k0' AND "PartitionKey" = 'p0'"#,
        "refused, where PostgreSQL answers",
    ),
    ("SELECT $2::int4", "answered, where PostgreSQL refuses"),
    ("SELECT count(*) FROM items WHERE small = $1 + $2", "another SQLSTATE"),
    ("SELECT $1 IS NULL", "answered, where PostgreSQL refuses"),
    ("SELECT 1 LIMIT $1", "another SQLSTATE"),
    ("SELECT nope($1)", "another SQLSTATE"),
];
