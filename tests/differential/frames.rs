//! Questions about frames that move, over doubles with NaN, infinities, both zeros and values that
//! swallow others; about numerics near 38 digits, `char(n)`, and values of several types in one
//! column.

use rowkey_base::testing::Dice;

const DOUBLES: &[&str] = &[
    "1e16",
    "1",
    "1",
    "-1e16",
    "0.1",
    "'NaN'",
    "'Infinity'",
    "'-Infinity'",
    "'-0'",
    "0",
    "NULL",
    "2.5",
    "3",
    "-7.25",
    "1e300",
];
const NUMERICS: &[&str] =
    &["1.5", "-2.25", "0", "NULL", "12345678901234567890.5", "0.0001", "7", "-100000000000", "1e-9", "3.1250"];
const LONG_NUMERICS: &[&str] = &[
    "99999999999999999999999999999999999999",
    "-99999999999999999999999999999999999998",
    "100000000000000000000",
    "1",
    "0",
    "NULL",
    "7",
];
const INTEGERS: &[&str] = &["1", "2", "NULL", "-3", "7", "2147483647", "-2147483648", "100", "0"];
const TEXTS: &[&str] = &["'a'", "'b'", "''", "NULL", "'a '", "'ab'", "'x,y'"];
const CHARS: &[&str] = &["'a'", "'a '", "'a  '", "'ab'", "'abcd'", "''", "NULL", "'b'"];

const FRAMES: &[&str] = &[
    "ROWS 1 PRECEDING",
    "ROWS 3 PRECEDING",
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING",
    "ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
    "ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN 2 PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING",
    "RANGE BETWEEN 2 FOLLOWING AND 4 FOLLOWING",
    "GROUPS 1 PRECEDING",
    "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
];

/// Where a frame begins or ends, if it may.
const BOUNDS: &[&str] = &[
    "UNBOUNDED PRECEDING",
    "UNBOUNDED FOLLOWING",
    "CURRENT ROW",
    "1 PRECEDING",
    "2 PRECEDING",
    "1 FOLLOWING",
    "3 FOLLOWING",
    "0 FOLLOWING",
];

/// Aggregates; `x` and `y` are doubles, `n` a numeric, `i` an integer, `t` a text, `b` a truth
/// value.
const AGGREGATES: &[&str] = &[
    "sum(x)",
    "avg(x)",
    "sum(nullif(x, 1e300)::real)",
    "avg(nullif(x, 1e300)::real)",
    "var_samp(x)",
    "var_pop(x)",
    "variance(x)",
    "stddev(x)",
    "stddev_pop(x)",
    "min(x)",
    "max(x)",
    "min(x - x)",
    "max(x - x)",
    "count(x)",
    "count(*)",
    "covar_pop(x, y)",
    "covar_samp(x, y)",
    "corr(x, y)",
    "regr_slope(x, y)",
    "regr_intercept(x, y)",
    "regr_r2(x, y)",
    "regr_count(x, y)",
    "regr_avgx(x, y)",
    "regr_avgy(x, y)",
    "regr_sxx(x, y)",
    "regr_syy(x, y)",
    "regr_sxy(x, y)",
    "sum(n)",
    "avg(n)",
    "min(n)",
    "max(n)",
    "sum(i)",
    "avg(i)",
    "stddev(i)",
    "var_pop(i)",
    "sum(i::int8)",
    "avg(i::int8)",
    "stddev_pop(i::int8)",
    "variance((i % 100)::int2)",
    "array_agg(x)",
    "array_agg(i)",
    "array_agg(t)",
    "string_agg(t, '-')",
    "json_agg(i)",
    "bool_and(b)",
    "bool_or(b)",
    "every(b)",
    "bit_and(i)",
    "bit_or(i)",
    "bit_xor(i)",
    "min(t)",
    "max(t)",
    "max(i * interval '1 day')",
    "min(i * interval '1 month')",
];

/// Functions of rows of the frame.
const VALUES_OF_FRAME: &[&str] =
    &["first_value(x)", "last_value(t)", "nth_value(i, 2)", "nth_value(n, 1)", "first_value(b)", "last_value(i)"];

const SHIFTS: &[&str] = &[
    "lag(i, 1, 0)",
    "lag(i, 1, 2.5)",
    "lead(i, 2, x)",
    "lag(i, 1, n)",
    "lead(x, 1, 0)",
    "lag(t, 1, 'none')",
    "lag(t, 2, upper(t))",
    "lead(n, 1, 7)",
    "lag(i::int8, 1, i)",
    "lead(i, 1, -1)",
    "lag(b, 1, true)",
    "lag(i, 0, 5)",
    "lead(i, -1, 5)",
    "lag(x, 1, 1.5)",
    "lag(x, abs(i) % 4)",
    "lead(t, i, 'none')",
    "lag(n, nullif(abs(i) % 3, 1), 7)",
];

/// Over the rows of `v`, in no order.
const EXPRESSIONS: &[&str] = &[
    "nullif(i, 2)",
    "nullif(i, 2.5) / 2",
    "nullif(i, n)",
    "nullif(i, x)",
    "nullif(n, i)",
    "nullif(n, x)",
    "nullif(i, i::int8)",
    "nullif(x, 'NaN')",
    "nullif(t, 'a')",
    "nullif(NULL, i)",
    "x - x",
    "x - x > 1",
    "x - x = 'NaN'",
    "greatest(x - x, 1)",
    "least(x - x, x)",
    "x IN (1, 'NaN')",
    "x BETWEEN 0 AND 'Infinity'",
    "CASE x - x WHEN 'NaN' THEN 1 ELSE 0 END",
    "n + 1",
    "n * 2",
    "n * n",
    "n - n",
    "n / 7",
    "n / 1e20",
    "n % 7",
    "n::numeric(38, 2)",
    "n::numeric(10, 1)",
    "round(n, 1)",
    "power(n, 2)",
    "power(n, 3)",
    "sqrt(abs(n))",
    "c",
    "c = 'a'",
    "c = 'a  '",
    "c <> 'ab '",
    "'a ' = c",
    "c IN ('a   ', 'b')",
    "length(c)",
    "c || '|'",
    "c || c",
    "upper(c)",
    "c::text",
    "c::varchar(2)",
    "c::char(5)",
    "c < 'ab'",
    "t::char(2)",
    "t::char(3) = c",
    "i::char(4)",
    "sum(n) OVER ()",
    "generate_series(1, i % 4)",
];

/// Of all rows, or by groups; `{a}` is an aggregate of doubles.
const GROUPED: &[&str] = &[
    "SELECT {a}, {a} FROM {v}",
    "SELECT k % 3, {a} FROM {v} GROUP BY 1",
    "SELECT x - x, count(*) FROM {v} GROUP BY 1",
    "SELECT DISTINCT x - x FROM {v}",
    "SELECT x FROM (SELECT x - x AS x FROM {v}) q WHERE x > 5",
    "SELECT x FROM (SELECT x - x AS x FROM {v}) q WHERE x <= 5 OR x <> 'NaN'",
    "SELECT count(*) FROM (SELECT x - x AS x FROM {v}) q JOIN (SELECT y - y AS y FROM {v}) r ON q.x = r.y",
    "SELECT c, count(*) FROM {v} GROUP BY c",
    "SELECT DISTINCT c FROM {v}",
    "SELECT count(*) FROM {v} JOIN (SELECT d::char(7) FROM (VALUES ('a'), ('ab')) u(d)) w ON c = d",
    "SELECT NULL UNION ALL SELECT x FROM {v}",
    "SELECT NULL, 'a' UNION SELECT i, t FROM {v}",
    "SELECT i FROM {v} UNION ALL SELECT n FROM {v}",
    "SELECT i FROM {v} UNION SELECT x FROM {v}",
    "SELECT 1 UNION ALL SELECT i FROM {v}",
    "SELECT 1.5 UNION ALL SELECT i FROM {v}",
    "SELECT i::int8 FROM {v} EXCEPT SELECT i FROM {v}",
    "SELECT * FROM (VALUES (1), (length('abc')), (NULL)) w(a)",
    "SELECT * FROM (VALUES (length('abc')), (7)) w(a)",
    "SELECT * FROM (VALUES (1, 2.5), (2::int8, 1)) w(a, b)",
    "SELECT * FROM (VALUES (NULL), (1.5), (2)) w(a)",
    "SELECT * FROM (VALUES (1), (2.5::float8)) w(a)",
    "SELECT a + 1 FROM (VALUES (length('abc')), (7)) w(a)",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r",
    "WITH RECURSIVE r(n, m) AS (SELECT 1, 2.5 UNION ALL SELECT n + 1, m FROM r WHERE n < 5) SELECT * FROM r",
    "WITH RECURSIVE r(n) AS (VALUES (1) UNION SELECT (n + i) % 7 FROM r, {v} WHERE i BETWEEN 0 AND 100) SELECT n, n / 2 FROM r",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1.5 FROM r WHERE n < 5) SELECT * FROM r",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT max(n) + 1 FROM r WHERE n < 5) SELECT * FROM r",
    "WITH RECURSIVE r(n, a) AS (SELECT 1, ARRAY[1] UNION ALL SELECT n + 1, a || (n + 1) FROM r WHERE n < 4) SELECT * FROM r",
    "SELECT sum(DISTINCT i) OVER () FROM {v}",
    "SELECT count(DISTINCT x) OVER (ORDER BY k) FROM {v}",
    "SELECT nth_value(i, 0) OVER (ORDER BY k) FROM {v}",
    "SELECT ntile(0) OVER (ORDER BY k) FROM {v}",
    "SELECT array_agg(i ORDER BY k) OVER () FROM {v}",
    "SELECT mode() WITHIN GROUP (ORDER BY i) OVER () FROM {v}",
];

/// A table of some rows as a derived one: `k` ascends, with ties if so wanted.
fn rows(ties: bool, dice: &mut Dice) -> String {
    let count = 2 + dice.below(9);
    let mut k = dice.below(3);
    let numerics = if dice.chance(4) { LONG_NUMERICS } else { NUMERICS };
    let values: Vec<String> = (0..count)
        .map(|_| {
            k += if ties { dice.below(3) } else { 1 + dice.below(3) };
            let [x, y, n, i, t, c] = [DOUBLES, DOUBLES, numerics, INTEGERS, TEXTS, CHARS].map(|pool| dice.pick(pool));
            // In quotes it would be a text beside texts.
            let double = |text: &str| if text.starts_with('\'') { format!("{text}::float8") } else { text.to_owned() };
            format!("({k}, {}, {}, {n}, {i}, {t}, {c})", double(x), double(y))
        })
        .collect();
    format!(
        "(SELECT k, x::float8, y::float8, n::numeric, i::int4, t, c::char(3), i::int4 > 1 AS b \
         FROM (VALUES {}) w(k, x, y, n, i, t, c)) v",
        values.join(", ")
    )
}

/// What is asked, and whether its order leaves no choice.
pub(crate) fn questions(dice: &mut Dice) -> Vec<(bool, String)> {
    let mut questions = Vec::new();
    for aggregate in AGGREGATES.iter().chain(VALUES_OF_FRAME) {
        let frame = dice.pick(FRAMES);
        let ties = dice.chance(3) && (frame.starts_with("RANGE") || frame.starts_with("GROUPS"));
        // What is collected from peers has their order.
        let ties =
            ties && !["array", "string", "json", "first", "last", "nth"].iter().any(|name| aggregate.starts_with(name));
        let descending = if dice.chance(3) { " DESC" } else { "" };
        let partition = if dice.chance(4) { "PARTITION BY k % 2 " } else { "" };
        let filter = match dice.chance(6) && !VALUES_OF_FRAME.contains(aggregate) {
            true => " FILTER (WHERE i > 0 OR i IS NULL)",
            false => "",
        };
        // Peers are added in any order, in which doubles make other sums.
        let ties = ties && !aggregate.contains('x');
        let rows = rows(ties, dice);
        questions.push((
            !ties,
            format!(
                "SELECT k, {aggregate}{filter} OVER ({partition}ORDER BY k{descending} {frame}) FROM {rows} ORDER BY k"
            ),
        ));
    }
    // Some of them are refused.
    for start in BOUNDS {
        let (units, keys) =
            (dice.pick(&["ROWS", "RANGE", "GROUPS"]), dice.pick(&["", "ORDER BY k ", "ORDER BY k, i "]));
        let frame = match dice.chance(4) {
            true => (*start).to_owned(),
            false => format!("BETWEEN {start} AND {}", dice.pick(BOUNDS)),
        };
        let rows = rows(false, dice);
        // Without keys every row may be the first one.
        let function = if keys.is_empty() { "count(*)" } else { "sum(i)" };
        questions.push((true, format!("SELECT k, {function} OVER ({keys}{units} {frame}) FROM {rows} ORDER BY 1, 2")));
    }
    for shift in SHIFTS {
        questions.push((true, format!("SELECT k, {shift} OVER (ORDER BY k) FROM {} ORDER BY k", rows(false, dice))));
    }
    for expression in EXPRESSIONS {
        questions.push((false, format!("SELECT {expression} FROM {}", rows(false, dice))));
    }
    for template in GROUPED {
        let mut question = (*template).to_owned();
        while let Some(at) = question.find("{a}") {
            question.replace_range(at..at + 3, dice.pick(&AGGREGATES[..39]));
        }
        while let Some(at) = question.find("{v}") {
            question.replace_range(at..at + 3, &rows(false, dice));
        }
        questions.push((false, question));
    }
    questions
}
