//! Templates of queries. Letters in braces are expressions that cannot fail; `(true, ...)` has an
//! order that leaves no choice.

pub(crate) const K: &str = "\"PartitionKey\", \"RowKey\"";

pub(crate) const ONE_TABLE: &[(bool, &str)] = &[
    (true, "SELECT {x} AS a, {x} AS b FROM items ORDER BY \"PartitionKey\", \"RowKey\""),
    (false, "SELECT {x}, {x} FROM items WHERE {b}"),
    (false, "SELECT * FROM items WHERE {b}"),
    (
        true,
        "SELECT small, {x} AS e FROM items WHERE {b} ORDER BY small DESC NULLS LAST, \"PartitionKey\" DESC, \"RowKey\" LIMIT 7 OFFSET 2",
    ),
    (true, "SELECT \"RowKey\", num FROM items ORDER BY num NULLS FIRST, \"PartitionKey\", \"RowKey\""),
    (true, "SELECT \"RowKey\" FROM items ORDER BY {x} DESC, \"PartitionKey\", \"RowKey\" OFFSET 5"),
    (true, "SELECT txt FROM items WHERE {b} ORDER BY txt COLLATE \"C\" DESC, 1"),
    (false, "SELECT DISTINCT {x} AS d FROM items"),
    (false, "SELECT DISTINCT num, flag FROM items WHERE {b}"),
    (
        true,
        "SELECT DISTINCT ON (small) small, \"PartitionKey\", \"RowKey\", {x} FROM items ORDER BY small, \"PartitionKey\" DESC, \"RowKey\"",
    ),
    (true, "SELECT count(*), count({x}), count(DISTINCT {x}) FROM items WHERE {b}"),
    (true, "SELECT sum({i}), sum({l}), avg({i}), avg({l}), min({i}), max({l}) FROM items"),
    (true, "SELECT sum({n}), avg({n}), min({n}), max({n}) FROM items WHERE {b}"),
    (
        true,
        "SELECT min({f}), max({f}), min({t}), max({t}), min({z}), max({z}), min({d}), max({v}) FROM items WHERE {b}",
    ),
    (true, "SELECT bool_and({b}), bool_or({b}), every({b}) FROM items WHERE {b}"),
    (
        true,
        "SELECT string_agg({t}, ',' ORDER BY \"PartitionKey\", \"RowKey\"), array_agg({i} ORDER BY \"PartitionKey\", \"RowKey\") FROM items",
    ),
    (true, "SELECT array_agg({x} ORDER BY \"PartitionKey\" DESC, \"RowKey\" DESC) FROM items WHERE {b}"),
    (true, "SELECT count(*) FILTER (WHERE {b}), sum(small) FILTER (WHERE {b}), max(txt) FILTER (WHERE {b}) FROM items"),
    (true, "SELECT stddev(small), variance(small), stddev_pop(small), var_pop(big) FROM parts WHERE small < 1000"),
    (true, "SELECT sum(DISTINCT {i}), avg(DISTINCT {i}), string_agg(DISTINCT txt, '|' ORDER BY txt) FROM items"),
    (
        true,
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY small), percentile_disc(0.25) WITHIN GROUP (ORDER BY small), mode() WITHIN GROUP (ORDER BY flag) FROM items WHERE small > 0 AND small < 100",
    ),
    (
        true,
        "SELECT percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY big DESC), percentile_disc(0.5) WITHIN GROUP (ORDER BY txt), mode() WITHIN GROUP (ORDER BY {i}) FROM items WHERE {b}",
    ),
    (
        false,
        "SELECT flag, mode() WITHIN GROUP (ORDER BY txt), percentile_disc(0.3) WITHIN GROUP (ORDER BY num) FROM items GROUP BY flag",
    ),
    (true, "SELECT \"RowKey\" FROM items ORDER BY {v} DESC NULLS LAST, \"PartitionKey\", \"RowKey\""),
    (true, "SELECT bit_and(small), bit_or(small), bit_xor(small) FROM items"),
    (false, "SELECT {x} AS g, count(*), sum(small), min(num), max(num) FROM items GROUP BY 1"),
    (false, "SELECT num, count(*), min(txt) FROM items GROUP BY num"),
    (false, "SELECT flag, small, count(*), max(at) FROM items WHERE {b} GROUP BY flag, small HAVING count(*) > 1"),
    (
        false,
        "SELECT \"PartitionKey\", min(num), max(num), avg(small), sum(big) FROM items GROUP BY \"PartitionKey\" HAVING bool_or({b})",
    ),
    (
        false,
        "SELECT flag, \"PartitionKey\", count(*), grouping(flag), grouping(flag, \"PartitionKey\") FROM items GROUP BY ROLLUP (flag, \"PartitionKey\")",
    ),
    (false, "SELECT flag, txt, count(*) FROM items WHERE {b} GROUP BY GROUPING SETS ((flag), (txt), ())"),
    (false, "SELECT flag, \"PartitionKey\", sum(small) FROM items GROUP BY CUBE (flag, \"PartitionKey\")"),
    (false, "SELECT date_trunc('year', at) AS y, count(*) FROM items GROUP BY y ORDER BY y"),
    (
        true,
        "SELECT \"PartitionKey\", \"RowKey\", row_number() OVER (ORDER BY \"PartitionKey\", \"RowKey\"), rank() OVER (PARTITION BY flag ORDER BY small), dense_rank() OVER (ORDER BY txt) FROM items ORDER BY 1, 2",
    ),
    (
        true,
        "SELECT \"PartitionKey\", \"RowKey\", lag({x}) OVER w, lead(small, 2, -1) OVER w, first_value(txt) OVER w, last_value(txt) OVER w, nth_value(small, 2) OVER w FROM items WINDOW w AS (PARTITION BY \"PartitionKey\" ORDER BY \"RowKey\") ORDER BY 1, 2",
    ),
    (
        true,
        "SELECT \"PartitionKey\", \"RowKey\", sum(small) OVER (PARTITION BY \"PartitionKey\" ORDER BY \"RowKey\" ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING), count(*) OVER (PARTITION BY flag), avg(small) OVER (ORDER BY \"PartitionKey\", \"RowKey\") FROM items ORDER BY 1, 2",
    ),
    (
        true,
        "SELECT \"PartitionKey\", \"RowKey\", max({i}) OVER (ORDER BY small NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), ntile(4) OVER (ORDER BY \"PartitionKey\", \"RowKey\"), percent_rank() OVER (ORDER BY small), cume_dist() OVER (ORDER BY small) FROM items ORDER BY 1, 2",
    ),
    (
        true,
        "SELECT \"PartitionKey\", \"RowKey\", sum(small) FILTER (WHERE {b}) OVER (PARTITION BY flag) FROM items ORDER BY 1, 2",
    ),
    (
        false,
        "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY \"PartitionKey\" ORDER BY \"RowKey\" DESC) AS rn FROM items) q WHERE rn <= 2",
    ),
    (true, "WITH w AS (SELECT *, {x} AS e FROM items WHERE {b}) SELECT count(*), count(e), max(\"RowKey\") FROM w"),
    (
        true,
        "WITH a AS (SELECT small AS s FROM items WHERE {b}), b AS (SELECT s, count(*) AS c FROM a GROUP BY s) SELECT * FROM b ORDER BY s, c",
    ),
    (false, "SELECT {i} AS a, {t} AS b FROM items UNION SELECT {i}, {t} FROM items"),
    (false, "SELECT {i} AS a FROM items UNION ALL SELECT {l} FROM parts"),
    (false, "SELECT small FROM items EXCEPT SELECT small FROM parts WHERE {b}"),
    (false, "SELECT txt, flag FROM items INTERSECT SELECT txt, flag FROM parts"),
    (false, "SELECT small FROM items EXCEPT ALL SELECT small FROM parts"),
    (false, "SELECT small FROM items INTERSECT ALL SELECT small FROM parts"),
    (false, "SELECT {i} AS a, flag FROM items EXCEPT ALL SELECT small, flag FROM parts WHERE {b}"),
    (false, "SELECT {t} AS a FROM items INTERSECT ALL SELECT txt FROM parts UNION ALL SELECT txt FROM items WHERE {b}"),
    (
        true,
        "SELECT a, count(*) FROM (SELECT small AS a FROM items INTERSECT ALL (SELECT {i} FROM items EXCEPT ALL SELECT small FROM parts)) q GROUP BY a ORDER BY a",
    ),
    (false, "SELECT \"RowKey\" FROM items WHERE small IN (SELECT small FROM parts WHERE {b})"),
    (false, "SELECT \"RowKey\" FROM items WHERE small NOT IN (SELECT small FROM parts WHERE {b})"),
    (false, "SELECT \"RowKey\" FROM items WHERE ({i}, txt) IN (SELECT small, txt FROM parts)"),
    (false, "SELECT \"RowKey\", (SELECT max(small) FROM parts WHERE {b}) FROM items WHERE {b}"),
    (
        false,
        "SELECT \"RowKey\" FROM items i WHERE EXISTS (SELECT 1 FROM parts p WHERE p.txt = i.txt AND p.small > i.small)",
    ),
    (false, "SELECT \"RowKey\" FROM items i WHERE NOT EXISTS (SELECT 1 FROM parts p WHERE p.guid = i.guid)"),
    (false, "SELECT \"RowKey\", (SELECT count(*) FROM parts p WHERE p.flag = i.flag) FROM items i"),
    (
        false,
        "SELECT \"RowKey\", (SELECT max(p.small) FROM parts p WHERE p.\"RowKey\" = i.\"RowKey\") AS m FROM items i WHERE {b}",
    ),
    (false, "SELECT \"RowKey\" FROM items WHERE small > ALL (SELECT small FROM parts WHERE small < 5) AND {b}"),
    (false, "SELECT \"RowKey\" FROM items WHERE small = ANY (SELECT small FROM parts WHERE {b})"),
    (
        false,
        "SELECT \"RowKey\", ARRAY(SELECT p.\"RowKey\" FROM parts p WHERE p.\"PartitionKey\" = i.\"PartitionKey\" ORDER BY 1) FROM items i",
    ),
    (
        false,
        "SELECT q.* FROM (VALUES (1, 'a', {i}), (2, 'b', NULL), (3, NULL, 7)) AS q(n, t, i), items WHERE q.n = items.small",
    ),
    (true, "SELECT unnest(ARRAY[1, 2, 3]) AS u, \"RowKey\" FROM parts ORDER BY \"PartitionKey\", \"RowKey\", u"),
    (true, "SELECT unnest(ARRAY[3, 1, 2]) AS u FROM parts ORDER BY \"PartitionKey\""),
    (
        true,
        "SELECT generate_series(1, 12) AS u, {x} AS e FROM items WHERE {b} ORDER BY \"PartitionKey\" DESC, \"RowKey\" LIMIT 30",
    ),
    (
        true,
        "SELECT generate_series(1, 3) AS u, generate_series(small % 5, 2) FROM items WHERE {b} ORDER BY {x}, \"PartitionKey\", \"RowKey\"",
    ),
    (
        true,
        "SELECT array_agg(u) FROM (SELECT unnest(ARRAY[{t}, 'z', 'a', NULL, 'k', 'c']) AS u FROM items WHERE {b} ORDER BY \"PartitionKey\" DESC, \"RowKey\") q",
    ),
    (
        true,
        "SELECT \"PartitionKey\", unnest(array_agg(small ORDER BY \"RowKey\" DESC)) FROM items WHERE {b} GROUP BY 1 ORDER BY count(*) DESC, \"PartitionKey\" LIMIT 25",
    ),
    (
        true,
        "SELECT CASE WHEN count(*) > 5 THEN {i} ELSE 0 END FROM items GROUP BY small, big, num, txt, flag, at, guid, raw, \"PartitionKey\", \"RowKey\" HAVING count(*) > 100",
    ),
    (false, "SELECT min(small) + max(small)::int8 AS r, count(*) * 2 FROM items WHERE {b} GROUP BY flag"),
    (false, "SELECT \"PartitionKey\" AS small, count(*) FROM items GROUP BY \"PartitionKey\", items.small"),
    (false, "SELECT upper(txt), count(*) FROM items GROUP BY upper(txt)"),
    (true, "SELECT small % 3 AS m, count(*) FROM items GROUP BY m ORDER BY m NULLS FIRST"),
    (true, "SELECT count(*) FROM items WHERE \"PartitionKey\" = 'p1' AND {b}"),
    (false, "SELECT num, small FROM items WHERE \"PartitionKey\" IN ('p1', 'p3') AND \"RowKey\" >= 'k2' AND {b}"),
    (false, "SELECT num IS NULL, num = num, num > 1e308, num <> 'NaN' FROM items"),
    (true, "SELECT regr_count(small, length(txt)), regr_count(small, big) FROM parts WHERE small BETWEEN 0 AND 100"),
];

/// Tables a and b.
pub(crate) const TWO_TABLES: &[(bool, &str)] = &[
    (
        false,
        "SELECT a.\"RowKey\", b.\"RowKey\", {x} FROM items a JOIN parts b ON a.\"PartitionKey\" = b.\"PartitionKey\" AND a.\"RowKey\" = b.\"RowKey\"",
    ),
    (false, "SELECT a.\"RowKey\", b.\"RowKey\", {x} FROM items a LEFT JOIN parts b ON a.small = b.small AND {b}"),
    (false, "SELECT a.\"RowKey\", b.\"RowKey\" FROM items a RIGHT JOIN parts b ON a.txt = b.txt WHERE {b}"),
    (
        false,
        "SELECT a.\"RowKey\", b.\"RowKey\" FROM items a RIGHT JOIN parts b ON a.txt = b.txt WHERE abs(a.num) = abs(b.num) AND upper(a.\"RowKey\") <> upper(b.\"RowKey\")",
    ),
    (
        false,
        "SELECT a.\"RowKey\", b.\"RowKey\" FROM items a LEFT JOIN parts b ON a.txt = b.txt WHERE coalesce(a.num, 0) = coalesce(b.num, 0)",
    ),
    (false, "SELECT a.\"RowKey\", b.\"RowKey\" FROM items a FULL JOIN parts b ON a.num = b.num"),
    (
        false,
        "SELECT a.\"RowKey\", b.\"RowKey\" FROM items a FULL JOIN parts b ON a.\"RowKey\" = b.\"RowKey\" AND a.\"PartitionKey\" = b.\"PartitionKey\" WHERE {b}",
    ),
    (true, "SELECT count(*), count({x}) FROM items a CROSS JOIN parts b WHERE {b}"),
    (
        false,
        "SELECT \"PartitionKey\", \"RowKey\", a.small, b.small FROM items a JOIN parts b USING (\"PartitionKey\", \"RowKey\") WHERE {b}",
    ),
    (false, "SELECT * FROM parts a JOIN parts b USING (\"PartitionKey\", \"RowKey\")"),
    (false, "SELECT * FROM items a LEFT JOIN parts b USING (\"PartitionKey\", \"RowKey\")"),
    (
        false,
        "SELECT \"PartitionKey\", \"RowKey\", a.txt FROM items a FULL JOIN parts b USING (\"PartitionKey\", \"RowKey\")",
    ),
    (false, "SELECT small, count(*) FROM items a FULL JOIN parts b USING (small) GROUP BY small"),
    (true, "SELECT count(*) FROM items a NATURAL JOIN items b WHERE {b}"),
    (true, "SELECT count(*), sum(length(a.txt)) FROM items a, parts b WHERE a.small < b.small AND {b}"),
    (
        false,
        "SELECT a.\"RowKey\", l.\"RowKey\" FROM parts a CROSS JOIN LATERAL (SELECT \"RowKey\" FROM items b WHERE b.\"PartitionKey\" = a.\"PartitionKey\" AND b.\"RowKey\" < a.\"RowKey\") l",
    ),
    (
        false,
        "SELECT a.\"RowKey\", l.c FROM parts a LEFT JOIN LATERAL (SELECT count(*) AS c FROM items b WHERE b.txt = a.txt) l ON true",
    ),
    (
        false,
        "SELECT a.\"RowKey\", l.\"RowKey\" FROM parts a CROSS JOIN LATERAL (SELECT b.\"RowKey\" FROM items b WHERE b.\"PartitionKey\" = a.\"PartitionKey\" ORDER BY b.\"RowKey\" DESC LIMIT 1) l",
    ),
    (
        true,
        "SELECT a.flag, b.flag, count(*) FROM items a JOIN parts b ON a.big = b.big GROUP BY a.flag, b.flag ORDER BY a.flag, b.flag NULLS FIRST",
    ),
    (
        false,
        "SELECT a.flag, b.flag, count(*) FROM items a JOIN parts b ON a.big = b.big GROUP BY ROLLUP (a.flag, b.flag)",
    ),
    (true, "SELECT count(*) FROM items a JOIN parts b ON a.at = b.at AND a.guid IS DISTINCT FROM b.guid"),
    (true, "SELECT count(*) FROM items a JOIN parts b ON a.small = b.big"),
    (true, "SELECT count(*) FROM items a JOIN parts b ON a.num = b.small"),
    (true, "SELECT count(*) FROM items a JOIN parts b ON a.raw = b.raw OR a.flag = b.flag"),
    (
        true,
        "SELECT count(*) FROM (items a JOIN parts b ON a.small = b.small) LEFT JOIN parts c ON c.txt = b.txt WHERE {b}",
    ),
];
