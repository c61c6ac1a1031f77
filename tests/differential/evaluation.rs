//! Templates about what is evaluated, how often and for which rows: WITH queries that are named
//! twice, derived tables with an order, HAVING over subqueries, labels that shadow columns, grouping
//! sets over constants, conditions that protect a division, intervals with fields, dates at the ends
//! of their range. Placeholders and orders as in `query`.

/// Expressions are of the table that stands alone.
pub(crate) const ONE_TABLE: &[(bool, &str)] = &[
    // WITH queries that are named twice.
    (true, "WITH u AS (SELECT gen_random_uuid() AS g FROM items) SELECT count(*) FROM u a JOIN u b ON a.g = b.g"),
    (
        true,
        "WITH u AS (SELECT random() AS r, small FROM items WHERE {b}) SELECT count(*) FROM u WHERE r IN (SELECT r FROM u)",
    ),
    (
        true,
        "WITH u AS MATERIALIZED (SELECT small AS s, {x} AS e FROM items WHERE {b}) SELECT count(*), count(a.e), min(b.s) FROM u a JOIN u b ON a.s = b.s",
    ),
    (
        false,
        "WITH u AS NOT MATERIALIZED (SELECT small AS s, {t} AS e FROM items) SELECT a.e, b.s FROM u a JOIN u b ON a.s < b.s WHERE a.s = 1",
    ),
    (
        true,
        "WITH u AS MATERIALIZED (SELECT {x} AS e, \"PartitionKey\" AS p, \"RowKey\" AS r FROM items WHERE {b}) SELECT e FROM u WHERE p >= 'p1' ORDER BY p, r",
    ),
    (
        true,
        "WITH u AS MATERIALIZED (SELECT {i} AS i, {t} AS t, {n} AS n, {z} AS z, \"PartitionKey\" AS p, \"RowKey\" AS r FROM items) SELECT a.i, b.t, a.n, b.z FROM u a JOIN u b ON a.p = b.p AND a.r = b.r ORDER BY a.p, a.r",
    ),
    (
        true,
        "WITH u AS (SELECT \"RowKey\" AS k, small AS s FROM items ORDER BY \"PartitionKey\", \"RowKey\" LIMIT 5) SELECT a.k, b.s FROM u a JOIN u b ON a.k >= b.k ORDER BY a.k, b.k, b.s, a.s",
    ),
    (
        true,
        "WITH a AS MATERIALIZED (SELECT small AS s FROM items WHERE {b}), b AS (SELECT s, count(*) AS c FROM a GROUP BY s) SELECT x.s, x.c, y.c FROM b x JOIN b y ON x.s = y.s ORDER BY 1",
    ),
    (
        true,
        "WITH u AS MATERIALIZED (SELECT small AS s FROM items WHERE {b}) SELECT (SELECT count(*) FROM u), (SELECT max(s) FROM u), count(*) FROM u",
    ),
    (
        false,
        "WITH u AS MATERIALIZED (SELECT small AS s FROM items) SELECT \"RowKey\", (SELECT count(*) FROM u WHERE u.s < parts.small) FROM parts WHERE EXISTS (SELECT 1 FROM u WHERE u.s = parts.small)",
    ),
    (
        true,
        "WITH u AS MATERIALIZED (SELECT small AS s FROM items ORDER BY small DESC NULLS LAST) SELECT array_agg(s) FROM u WHERE s > 0",
    ),
    (
        true,
        "WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 6), t AS (SELECT n FROM r) SELECT count(*), sum(a.n) FROM t a JOIN t b ON a.n <= b.n",
    ),
    (false, "WITH u AS MATERIALIZED (SELECT small AS s FROM items) SELECT s FROM u EXCEPT SELECT s + 1 FROM u"),
    (true, "SELECT count(*) FROM (SELECT random() AS r FROM items) s WHERE r >= 0.5 AND r < 0.5"),
    (true, "SELECT bool_and(a = b) FROM (SELECT r AS a, r AS b FROM (SELECT gen_random_uuid() AS r FROM items) s) t"),
    // Windows over groups, whose keys are unique, behind other columns.
    (
        true,
        "SELECT rank() OVER (ORDER BY count(*)) AS r, \"RowKey\" AS s FROM items WHERE {b} GROUP BY \"RowKey\" ORDER BY r, s LIMIT 7",
    ),
    (
        true,
        "SELECT n, count(*) OVER (PARTITION BY n) AS z, s FROM (SELECT \"RowKey\" AS s, count(*) AS n FROM items WHERE {b} GROUP BY \"RowKey\") q ORDER BY n, z, s",
    ),
    (
        true,
        "SELECT min(n) OVER (ORDER BY n) AS m, n, s FROM (SELECT {i} AS s, count(*) AS n FROM items GROUP BY 1) q ORDER BY m, n, s LIMIT 9",
    ),
    (
        true,
        "SELECT m, s FROM (SELECT dense_rank() OVER (ORDER BY max(small)) AS m, \"PartitionKey\" AS s FROM items GROUP BY CUBE (\"PartitionKey\") ORDER BY m, s LIMIT 3) q ORDER BY s",
    ),
    (
        true,
        "SELECT n, s FROM (SELECT count(*) AS n, count(*) AS s FROM items WHERE {b} GROUP BY ROLLUP (small)) q WHERE n = 1 AND s = 2",
    ),
    (
        true,
        "SELECT count(*) FROM items a, parts b, items c WHERE a.small = b.small AND b.\"RowKey\" = c.\"RowKey\" AND a.small = (SELECT min(x.small) FROM parts x, items y WHERE x.small = a.small AND x.\"RowKey\" = y.\"RowKey\")",
    ),
    // Derived tables with an order.
    (
        true,
        "SELECT array_agg(s) FROM (SELECT small AS s FROM items WHERE {b} ORDER BY \"PartitionKey\" DESC, \"RowKey\" DESC) q",
    ),
    (true, "SELECT e FROM (SELECT {x} AS e FROM items WHERE {b} ORDER BY \"PartitionKey\", \"RowKey\" LIMIT 9) q"),
    (
        true,
        "SELECT k, row_number() OVER () FROM (SELECT \"RowKey\" AS k FROM items ORDER BY \"RowKey\" DESC, \"PartitionKey\") q WHERE k > 'k1'",
    ),
    // HAVING over subqueries.
    (
        true,
        "SELECT \"PartitionKey\", count(*) FROM items WHERE {b} GROUP BY 1 HAVING count(*) > (SELECT min(small) FROM parts WHERE small > 0) ORDER BY 1",
    ),
    (
        true,
        "SELECT small, count(*) FROM items GROUP BY small HAVING small IN (SELECT small FROM parts WHERE {b}) ORDER BY 1",
    ),
    (
        true,
        "SELECT \"PartitionKey\", max(small) FROM items i GROUP BY \"PartitionKey\" HAVING EXISTS (SELECT 1 FROM parts p WHERE p.\"PartitionKey\" = i.\"PartitionKey\") ORDER BY 1",
    ),
    // Labels that shadow columns.
    (true, "SELECT -small AS small, \"PartitionKey\" FROM items ORDER BY small, \"PartitionKey\", \"RowKey\""),
    (true, "SELECT big % 3 AS small, count(*) FROM items GROUP BY small, big ORDER BY big, items.small"),
    (true, "SELECT txt AS flag, flag AS txt FROM items ORDER BY flag NULLS FIRST, txt NULLS FIRST"),
    (true, "SELECT small + 1 AS small FROM items WHERE small < 5 ORDER BY small DESC, items.small"),
    // Grouping sets over constants and equal columns.
    (
        true,
        "SELECT small, \"PartitionKey\", count(*) FROM items WHERE small = 1 GROUP BY ROLLUP (small, \"PartitionKey\") ORDER BY small, \"PartitionKey\"",
    ),
    (
        false,
        "SELECT small, \"PartitionKey\", count(*) FROM items WHERE small = 1 GROUP BY CUBE (small, \"PartitionKey\") ORDER BY small, \"PartitionKey\"",
    ),
    (
        false,
        "SELECT small, flag, count(*) FROM items WHERE small = 1 AND {b} GROUP BY GROUPING SETS ((small), (flag), (small, flag), ())",
    ),
    (
        false,
        "SELECT small, count(*), sum(c) FROM (SELECT small, flag, count(*) AS c FROM items WHERE small = 1 GROUP BY CUBE (small, flag)) q GROUP BY small",
    ),
    (
        true,
        "SELECT \"PartitionKey\", \"RowKey\", count(*) FROM items WHERE \"PartitionKey\" = 'p1' GROUP BY ROLLUP (\"PartitionKey\", \"RowKey\") ORDER BY 1, 2",
    ),
    (
        true,
        "SELECT DISTINCT small, flag FROM (SELECT small, flag FROM items WHERE small = 1 GROUP BY ROLLUP (small, flag)) q ORDER BY small, flag",
    ),
    (
        true,
        "SELECT i.\"RowKey\", p.small FROM items i LEFT JOIN (SELECT * FROM parts WHERE small = 1) p ON p.\"RowKey\" = i.\"RowKey\" AND p.\"PartitionKey\" = i.\"PartitionKey\" ORDER BY p.small, i.\"PartitionKey\", i.\"RowKey\"",
    ),
    (
        true,
        "SELECT s, k FROM (SELECT 1 AS s, \"RowKey\" AS k FROM items UNION ALL SELECT 2, \"RowKey\" FROM parts) q ORDER BY s DESC, k",
    ),
    // Conditions that protect a division.
    (
        true,
        "SELECT CASE WHEN small = 0 OR small IS NULL THEN {b} ELSE 7 / small > 1 END AS c FROM items ORDER BY \"PartitionKey\", \"RowKey\"",
    ),
    (
        true,
        "SELECT small = 0 OR 7 / small > 1 AS c, small <> 0 AND 7 / small > 1 AS d FROM items ORDER BY \"PartitionKey\", \"RowKey\"",
    ),
    (true, "SELECT NOT (small = 0 OR 7 / small > 1) AS c FROM items ORDER BY \"PartitionKey\", \"RowKey\""),
    (false, "SELECT \"RowKey\" FROM items WHERE small = 0 OR 7 / small > 1"),
    (false, "SELECT \"RowKey\" FROM items WHERE NOT (small = 0 OR 7 / small > 1)"),
    (false, "SELECT \"RowKey\" FROM items WHERE small <> 0 AND (7 / small > 1 OR 7 % small = 0)"),
    (false, "SELECT \"RowKey\" FROM items WHERE CASE WHEN small = 0 THEN {b} ELSE 7 / small > 1 END"),
    (
        true,
        "SELECT \"RowKey\" FROM items ORDER BY CASE WHEN small = 0 THEN true ELSE 7 / small > 1 END, \"PartitionKey\", \"RowKey\"",
    ),
    (
        true,
        "SELECT count(*) FILTER (WHERE small = 0 OR 7 / small > 1), sum(CASE WHEN small = 0 THEN 0 ELSE 7 / small END) FROM items",
    ),
    (
        true,
        "SELECT coalesce(nullif(small, 0), 1), coalesce(7 / nullif(small, 0), {i}) FROM items ORDER BY \"PartitionKey\", \"RowKey\"",
    ),
    (
        true,
        "SELECT row_number() OVER (ORDER BY small = 0 OR 7 / small > 1, \"PartitionKey\", \"RowKey\") FROM items ORDER BY \"PartitionKey\", \"RowKey\"",
    ),
    (
        true,
        "SELECT sum(small) OVER (PARTITION BY small > 2 AND 7 / small >= 1 ORDER BY \"PartitionKey\", \"RowKey\") FROM items WHERE small < 100 ORDER BY \"PartitionKey\", \"RowKey\"",
    ),
    (false, "SELECT txt FROM items WHERE txt ~ '^[0-9]+$' AND txt::int8 > 1"),
    (true, "SELECT txt !~ '^[0-9]+$' OR txt::int8 > 1 FROM items ORDER BY \"PartitionKey\", \"RowKey\""),
    // Intervals with fields and precision.
    (
        true,
        "SELECT ({v})::interval year, ({v})::interval month, ({v})::interval year to month FROM items ORDER BY \"PartitionKey\", \"RowKey\"",
    ),
    (
        true,
        "SELECT ({v})::interval day, ({v})::interval day to hour, ({v})::interval day to minute FROM items ORDER BY \"PartitionKey\", \"RowKey\"",
    ),
    (
        true,
        "SELECT ({v})::interval hour, ({v})::interval minute, ({v})::interval hour to minute FROM items ORDER BY \"PartitionKey\", \"RowKey\"",
    ),
    (
        true,
        "SELECT ({v})::interval second(1), ({v})::interval(0), ({v})::interval day to second(3) FROM items ORDER BY \"PartitionKey\", \"RowKey\"",
    ),
    (
        true,
        "SELECT interval '-1.2567 s'::interval(2) + {v}, interval '3' hour + {v}, {v} - interval '1-2' year to month FROM items ORDER BY \"PartitionKey\", \"RowKey\"",
    ),
    // Dates and times at the ends of their range, and around where they are counted from.
    (
        true,
        "SELECT ({z})::timestamptz(0), ({z})::timestamptz(1), ({s})::timestamp(0), ({s})::timestamp(3) FROM items ORDER BY \"PartitionKey\", \"RowKey\"",
    ),
    (
        true,
        "SELECT ({d})::timestamp, ({d})::timestamptz, ({s})::date, ({z})::timestamp::time(0) FROM items ORDER BY \"PartitionKey\", \"RowKey\"",
    ),
    (
        true,
        "SELECT date '1601-01-01' + small, timestamp '9999-12-31 23:59:59.999999' - small * interval '1 us' FROM items WHERE small < 1000 ORDER BY \"PartitionKey\", \"RowKey\"",
    ),
    (
        true,
        "SELECT date '5874897-12-31', date '4713-11-24 BC', date '4713-11-24 BC'::timestamp, timestamp '294246-12-31 23:59:59.999999'",
    ),
    (true, "SELECT date '5874897-12-31'::timestamp"),
    (true, "SELECT date '300000-01-01'::timestamptz"),
    (
        true,
        "SELECT timestamp '1999-12-31 23:59:59.5'::timestamp(0), timestamp '2000-01-01 00:00:00.5'::timestamp(0), timestamp '1601-01-01 00:00:00.05'::timestamp(1)",
    ),
    (
        true,
        "SELECT current_date = 'today', current_date + 1 = 'tomorrow', now() = 'now', 'yesterday'::timestamp < localtimestamp",
    ),
    (true, "SELECT timestamptz 'tomorrow 10:00' - timestamptz 'today 10:00' > interval '22 hours', time 'allballs'"),
];
