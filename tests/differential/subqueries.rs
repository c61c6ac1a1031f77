//! Templates of subqueries: where they stand, what they refer to, and what PostgreSQL makes of
//! NULLs and missing rows in them. Placeholders and orders as in `query`.

/// Expressions are of the table that stands alone.
pub(crate) const ONE_TABLE: &[(bool, &str)] = &[
    // IN and NOT IN as values.
    (false, "SELECT \"RowKey\" FROM items WHERE small NOT IN (SELECT small FROM parts WHERE {b}) OR big > 3"),
    (false, "SELECT \"RowKey\", small IN (SELECT small FROM parts WHERE {b}) FROM items"),
    (false, "SELECT \"RowKey\", small NOT IN (SELECT small FROM parts WHERE small IS NOT NULL) FROM items"),
    (false, "SELECT \"RowKey\" FROM items WHERE (small IN (SELECT small FROM parts WHERE {b})) IS NULL"),
    (false, "SELECT \"RowKey\" FROM items WHERE coalesce(txt IN (SELECT txt FROM parts WHERE {b}), true)"),
    (false, "SELECT \"RowKey\" FROM items WHERE NOT (big IN (SELECT big FROM parts WHERE {b}) AND flag)"),
    (false, "SELECT \"RowKey\" FROM items WHERE CASE WHEN num IN (SELECT num FROM parts) THEN NULL ELSE {b} END"),
    (false, "SELECT \"RowKey\", num IN (SELECT num FROM parts), num <= ALL (SELECT num FROM parts) FROM items"),
    (false, "SELECT \"RowKey\", {i} IN (SELECT small FROM parts WHERE {b}) FROM items"),
    (true, "SELECT count(*) FILTER (WHERE small IN (SELECT small FROM parts)) FROM items"),
    (true, "SELECT small IN (SELECT small FROM parts) AS m, count(*) FROM items GROUP BY m ORDER BY m NULLS FIRST"),
    (true, "SELECT 3 IN (SELECT small FROM parts WHERE {b}), NULL::int IN (SELECT small FROM parts)"),
    (false, "SELECT \"RowKey\" FROM items WHERE small IN (VALUES (1), (3))"),
    (false, "SELECT \"RowKey\", small NOT IN (VALUES (1), (NULL)) FROM items"),
    // Rows that are selected from constants.
    (
        false,
        "SELECT \"RowKey\", {x} FROM items WHERE (\"PartitionKey\", \"RowKey\") IN (SELECT * FROM unnest(ARRAY['p0', 'p1', NULL, 'p1', 'p2'], '{k0,k1,k2,k1,k0,k3}'::text[]))",
    ),
    (
        false,
        "SELECT \"RowKey\" FROM items WHERE (\"RowKey\", small, \"PartitionKey\") IN (SELECT r, n, p FROM unnest('{p0,p1,p2,p3}'::varchar[], '{k0,k1,k2,NULL}'::text[], ARRAY[0, 1, 2]) AS u(p, r, n)) AND {b}",
    ),
    (
        false,
        "SELECT \"RowKey\" FROM items WHERE (\"PartitionKey\", \"RowKey\") NOT IN (SELECT * FROM unnest(ARRAY['p0', 'p1'], ARRAY['k0', NULL])) OR {b}",
    ),
    (
        false,
        "SELECT \"PartitionKey\", \"RowKey\" FROM items WHERE \"RowKey\" IN (SELECT unnest('{k0,k0,NULL,k2}'::text[])) AND (\"PartitionKey\", big) IN (VALUES ('p0', 1), ('p1', 2), ('p2', 3), (NULL, 4))",
    ),
    (false, "SELECT \"RowKey\" FROM items WHERE (small, num) IN (SELECT * FROM unnest(ARRAY[0, 1, 2], ARRAY[0, 1.5]))"),
    (false, "SELECT \"RowKey\" FROM items WHERE {i} IN (SELECT unnest(ARRAY[0, 1, NULL, 1])) AND {b}"),
    // ANY and ALL.
    (false, "SELECT \"RowKey\", small > ALL (SELECT small FROM parts WHERE {b}) FROM items"),
    (false, "SELECT \"RowKey\", small < ANY (SELECT small FROM parts WHERE {b}) FROM items"),
    (false, "SELECT \"RowKey\", small = ALL (SELECT small FROM parts WHERE {b}) FROM items"),
    (false, "SELECT \"RowKey\", small <> ANY (SELECT small FROM parts WHERE {b}) FROM items"),
    (false, "SELECT \"RowKey\", txt >= ALL (SELECT txt FROM parts), num > ANY (SELECT num FROM parts) FROM items"),
    // Rows beside one row, and beside any or all of several.
    (false, "SELECT \"RowKey\", (small, big) = ANY (SELECT small, big FROM parts WHERE {b}) FROM items"),
    (false, "SELECT \"RowKey\" FROM items WHERE (small, txt) <> ALL (SELECT small, txt FROM parts WHERE {b})"),
    (
        false,
        "SELECT \"RowKey\", (small, num) < (SELECT small, num FROM parts ORDER BY \"PartitionKey\", \"RowKey\" LIMIT 1) FROM items",
    ),
    (false, "SELECT \"RowKey\" FROM items WHERE (small, {i}) >= (SELECT max(small), min(small) FROM parts WHERE {b})"),
    (false, "SELECT \"RowKey\", (small, big) = (SELECT small, big FROM parts WHERE false) FROM items"),
    (
        false,
        "SELECT \"RowKey\", (i.small, i.txt) <> (SELECT max(p.small), min(p.txt) FROM parts p WHERE p.small = i.small) FROM items i",
    ),
    // Nothing found.
    (
        true,
        "SELECT (SELECT 1 + 1 FROM parts WHERE small = -7) IS NULL, (SELECT now() FROM parts WHERE small = -7) IS NULL, coalesce((SELECT 'a' || 'b' FROM parts WHERE {b} AND small = -7), 'none')",
    ),
    // Arrays and records with NULLs in them, in joins, set operations, IN, ANY and ALL.
    (
        true,
        "SELECT count(*) FROM items i LEFT JOIN parts p ON ARRAY[i.small] = ARRAY[p.small] WHERE p.small > 0 OR p.small IS NULL",
    ),
    (false, "SELECT ARRAY[big, big] FROM items WHERE {b} INTERSECT SELECT ARRAY[small::int8, big] FROM parts"),
    (false, "SELECT ARRAY[num] FROM items EXCEPT SELECT ARRAY[num] FROM items WHERE \"PartitionKey\" = 'p1'"),
    (false, "SELECT ROW(small, txt, flag) FROM items EXCEPT SELECT ROW(small, txt, flag) FROM items WHERE {b}"),
    (
        true,
        "SELECT count(*) FROM (SELECT (num, txt) AS r FROM items) a JOIN (SELECT (num, txt) AS r FROM items WHERE {b}) b USING (r)",
    ),
    (
        true,
        "SELECT ARRAY[num] IN (SELECT ARRAY[num] FROM items WHERE {b}), ARRAY[small] > ANY (SELECT ARRAY[small] FROM parts), ARRAY[txt] < ALL (SELECT ARRAY[txt] FROM parts WHERE {b}) FROM items ORDER BY \"PartitionKey\", \"RowKey\"",
    ),
    (
        true,
        "SELECT r IS NULL, r IS NOT NULL FROM (SELECT ({x}, {x}) AS r, \"PartitionKey\" AS p, \"RowKey\" AS k FROM items) q ORDER BY p, k",
    ),
    // Rows with and without more parentheses.
    (
        true,
        "SELECT ({i}, {t}) BETWEEN (0, 'a') AND ({i}, 'z'), ((small, {t})) < ((2, 'b')), (({i}, txt)) IN ((1, 'a'), ((2, txt))) FROM items ORDER BY \"PartitionKey\", \"RowKey\"",
    ),
    (
        true,
        "SELECT count(*) FROM items a JOIN items b ON (a.num, a.flag) IS NOT DISTINCT FROM (b.num, b.flag) WHERE (a.small, a.txt) IS DISTINCT FROM (b.big, NULL)",
    ),
    // Sides of other types.
    (
        true,
        "SELECT num > ANY (SELECT small / 3.0 FROM parts), {n} <> ALL (SELECT num FROM items WHERE num IS NOT NULL), small = ANY (SELECT num FROM parts), at >= ANY (SELECT at::date FROM parts), at::date IN (SELECT at FROM parts) FROM items ORDER BY \"PartitionKey\", \"RowKey\"",
    ),
    // Several of a kind above a grouping.
    (
        false,
        "SELECT {i} IN (SELECT small FROM parts), {i} IN (SELECT big FROM parts), EXISTS (SELECT 1 FROM parts p WHERE p.small = items.small), EXISTS (SELECT 1 FROM parts p WHERE p.big = items.big), count(*) FROM items GROUP BY 1, 2, 3, 4",
    ),
    (
        true,
        "SELECT sum(CASE WHEN small IN (SELECT small FROM parts WHERE {b}) THEN 1 ELSE 0 END), sum(CASE WHEN small IN (SELECT 1) THEN 1 ELSE 0 END), count(*) FILTER (WHERE {i} IN (SELECT 2)) FROM items",
    ),
    (
        true,
        "SELECT (SELECT count(*) FROM parts p WHERE p.small = i.small AND p.flag), (SELECT count(*) FROM parts p WHERE p.small = i.small AND NOT p.flag), count(*) FROM items i GROUP BY 1, 2 HAVING count(*) > (SELECT 1) ORDER BY (SELECT 3), 1, 2, 3",
    ),
    // Of one row at most: whether one of several fails where OR is true without it is left open.
    (
        true,
        "SELECT count(*) FROM items WHERE (SELECT c FROM (SELECT current_date + 1 AS c FROM parts WHERE \"RowKey\" = 'k1' AND \"PartitionKey\" = 'p1' AND small = -7) q) IS NOT NULL OR {b}",
    ),
    (
        true,
        "SELECT NOT EXISTS (SELECT 1 FROM parts WHERE {b}) IS NULL, NOT EXISTS (SELECT 1 WHERE false)::text = 'false'",
    ),
    (true, "SELECT (SELECT 'a' WHERE 1 = 0) IS NULL, coalesce((SELECT 1 WHERE false), 7), (SELECT 1 WHERE false)"),
    (true, "SELECT (SELECT \"RowKey\" FROM items WHERE \"RowKey\" = 'none') IS NULL, EXISTS (SELECT 1 WHERE false)"),
    (false, "SELECT \"RowKey\" FROM items i WHERE EXISTS (SELECT count(*) FROM parts p WHERE p.small = i.small)"),
    (false, "SELECT \"RowKey\" FROM items i WHERE 0 IN (SELECT count(*) FROM parts p WHERE p.small = i.small)"),
    // Windows that start from others, and frames at the ends of a type.
    (
        true,
        "SELECT row_number() OVER (w ORDER BY \"RowKey\"), sum(small) OVER v, \"PartitionKey\", \"RowKey\" FROM items WINDOW w AS (PARTITION BY \"PartitionKey\"), v AS (w ORDER BY \"RowKey\" DESC) ORDER BY 3, 4",
    ),
    (
        true,
        "SELECT count(*) OVER (w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), \"PartitionKey\", \"RowKey\" FROM items WINDOW w AS (PARTITION BY \"PartitionKey\" ORDER BY \"RowKey\") ORDER BY 2, 3",
    ),
    (
        false,
        "SELECT small, count(*) OVER (ORDER BY small RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING), count(*) OVER (ORDER BY small DESC NULLS LAST RANGE BETWEEN CURRENT ROW AND 3 FOLLOWING) FROM items",
    ),
    (
        false,
        "SELECT big, count(*) OVER (ORDER BY big RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING), count(*) OVER (ORDER BY big NULLS FIRST RANGE BETWEEN 5 PRECEDING AND 1 PRECEDING) FROM items",
    ),
    // The order of a derived table, for what is order-sensitive.
    (true, "SELECT {x} FROM (SELECT * FROM items WHERE {b} ORDER BY \"PartitionKey\" DESC, \"RowKey\") items LIMIT 5"),
    (
        true,
        "SELECT array_agg({x}), string_agg({t}, ',') FROM (SELECT * FROM items ORDER BY \"RowKey\" DESC, \"PartitionKey\") items WHERE {b}",
    ),
    (
        true,
        "SELECT flag, array_agg({i}), count(*) FROM (SELECT * FROM items ORDER BY \"PartitionKey\", \"RowKey\" DESC) items GROUP BY flag ORDER BY flag",
    ),
    (
        true,
        "SELECT \"RowKey\", row_number() OVER (), lag(small) OVER (), {x} FROM (SELECT * FROM items ORDER BY \"PartitionKey\" DESC, \"RowKey\") items",
    ),
    (
        true,
        "WITH w AS (SELECT * FROM items ORDER BY \"PartitionKey\", \"RowKey\" DESC) SELECT \"RowKey\", {x} FROM w AS items OFFSET 2",
    ),
    (
        true,
        "SELECT \"RowKey\", (SELECT count(*) FROM parts p WHERE p.small < i.small) FROM (SELECT * FROM items ORDER BY \"PartitionKey\" DESC, \"RowKey\") i",
    ),
    // Conditions of HAVING without columns.
    (true, "SELECT count(*), sum({i}) FROM items WHERE {b} HAVING (SELECT max(small) FROM parts) > 3"),
    (false, "SELECT flag, count(*) FROM items GROUP BY ROLLUP (flag) HAVING (SELECT bool_or({b}) FROM items)"),
    // Types of outer columns that literals decide.
    (true, "SELECT x.k, (SELECT count(*) FROM items WHERE small = x.k) FROM (VALUES (3), (7)) x(k) ORDER BY 1"),
    (
        true,
        "SELECT x.k FROM (VALUES (3), (7), (-5)) x(k) WHERE EXISTS (SELECT 1 FROM items WHERE small = x.k) ORDER BY 1",
    ),
    (
        true,
        "WITH x(k) AS (VALUES (3), (7)) SELECT x.k, y.c FROM x, LATERAL (SELECT count(*) AS c FROM items WHERE small > x.k) y ORDER BY 1",
    ),
    (
        true,
        "SELECT * FROM (SELECT 1 AS a) t, LATERAL (SELECT a AS b FROM (SELECT 1) z) u, LATERAL (SELECT a + b AS c) v",
    ),
    // An alias that is a column of the inner table.
    (
        false,
        "SELECT small.\"RowKey\" FROM items small WHERE small.big = (SELECT max(x.big) FROM items x WHERE x.\"PartitionKey\" = small.\"PartitionKey\")",
    ),
];

/// Expressions are of the tables a and b.
pub(crate) const TWO_TABLES: &[(bool, &str)] = &[
    // What orders a subquery is not among its columns.
    (
        false,
        "SELECT a.\"RowKey\", (SELECT b.txt FROM parts b WHERE b.\"PartitionKey\" = a.\"PartitionKey\" ORDER BY b.\"RowKey\" DESC LIMIT 1) FROM items a",
    ),
    (
        false,
        "SELECT a.\"RowKey\", (SELECT b.small AS q FROM parts b WHERE b.\"PartitionKey\" = a.\"PartitionKey\" ORDER BY {x}, b.\"RowKey\" OFFSET 1 LIMIT 1) FROM items a",
    ),
    (
        false,
        "SELECT a.\"RowKey\", (SELECT b.flag FROM parts b WHERE b.\"PartitionKey\" = a.\"PartitionKey\" GROUP BY b.flag ORDER BY count(*) DESC, b.flag LIMIT 1) FROM items a",
    ),
    (
        false,
        "SELECT a.\"RowKey\", l.t FROM items a LEFT JOIN LATERAL (SELECT b.txt AS t FROM parts b WHERE b.\"PartitionKey\" = a.\"PartitionKey\" AND {b} ORDER BY b.small DESC NULLS LAST, b.\"RowKey\" LIMIT 2) l ON true",
    ),
    // Windows, DISTINCT and set operations stay within one outer row.
    (
        false,
        "SELECT a.\"RowKey\", l.* FROM parts a, LATERAL (SELECT b.\"RowKey\" AS k, row_number() OVER (ORDER BY b.\"RowKey\") AS r, sum(b.small) OVER () AS s FROM items b WHERE b.\"PartitionKey\" = a.\"PartitionKey\" AND {b}) l",
    ),
    (
        false,
        "SELECT a.\"RowKey\", (SELECT max(r) FROM (SELECT rank() OVER (PARTITION BY b.flag ORDER BY b.\"RowKey\") AS r FROM parts b WHERE b.small = a.small) q) FROM items a",
    ),
    (
        false,
        "SELECT a.\"RowKey\", l.* FROM parts a LEFT JOIN LATERAL (SELECT DISTINCT b.flag FROM items b WHERE b.txt = a.txt AND {b}) l ON true",
    ),
    (
        false,
        "SELECT a.\"RowKey\", l.* FROM parts a, LATERAL (SELECT DISTINCT ON (b.flag) b.flag, b.\"RowKey\" AS k FROM items b WHERE b.\"PartitionKey\" = a.\"PartitionKey\" ORDER BY b.flag, b.\"RowKey\" DESC) l",
    ),
    (
        false,
        "SELECT a.\"RowKey\", l.* FROM parts a, LATERAL (SELECT b.small FROM items b WHERE b.txt = a.txt UNION SELECT b.small FROM parts b WHERE b.flag = a.flag) l",
    ),
    (
        false,
        "SELECT a.\"RowKey\", l.* FROM parts a, LATERAL (SELECT b.small FROM items b WHERE b.flag = a.flag EXCEPT SELECT b.small FROM parts b WHERE b.txt = a.txt) l",
    ),
    (
        false,
        "SELECT a.\"RowKey\", l.* FROM parts a, LATERAL (SELECT b.small FROM items b WHERE b.flag = a.flag INTERSECT SELECT b.small FROM parts b WHERE b.flag = a.flag) l",
    ),
    (false, "SELECT a.\"RowKey\", l.v FROM items a, LATERAL (VALUES (a.small), (length(a.txt))) l(v)"),
    // Aggregates over nothing.
    (
        false,
        "SELECT a.\"RowKey\", l.* FROM items a, LATERAL (SELECT count(*), sum(b.small), max(b.txt) FROM parts b WHERE b.small < a.small AND {b}) l",
    ),
    (
        false,
        "SELECT a.\"RowKey\", (SELECT count(*) FROM parts b WHERE b.small = a.small HAVING count(*) > 1) FROM items a",
    ),
    (
        false,
        "SELECT a.\"RowKey\" FROM items a WHERE (SELECT count(*) FROM parts b WHERE b.txt = a.txt AND {b}) = 0 OR a.flag",
    ),
    // IN with references outside.
    (false, "SELECT a.\"RowKey\" FROM items a WHERE a.small NOT IN (SELECT b.small FROM parts b WHERE b.big < a.big)"),
    (
        false,
        "SELECT a.\"RowKey\" FROM items a WHERE a.small NOT IN (SELECT b.small FROM parts b WHERE b.flag = a.flag)",
    ),
    (false, "SELECT a.\"RowKey\", a.small IN (SELECT b.small FROM parts b WHERE {b}) FROM items a"),
    (false, "SELECT a.\"RowKey\", a.num NOT IN (SELECT b.num FROM parts b WHERE b.flag = a.flag) FROM items a"),
    (false, "SELECT a.\"RowKey\", a.big >= ALL (SELECT b.big FROM parts b WHERE b.flag = a.flag AND {b}) FROM items a"),
    (false, "SELECT a.\"RowKey\", a.txt < ANY (SELECT b.txt FROM parts b WHERE b.small > a.small) FROM items a"),
    // Other places than the select list and WHERE.
    (true, "SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM parts b WHERE b.small = a.small)) FROM items a"),
    (true, "SELECT sum((SELECT max(b.small) FROM parts b WHERE b.txt = a.txt)) FROM items a WHERE a.small < 100"),
    (
        true,
        "SELECT a.\"RowKey\" FROM items a ORDER BY (SELECT max(b.small) FROM parts b WHERE b.txt = a.txt), a.\"PartitionKey\", a.\"RowKey\"",
    ),
    (false, "SELECT EXISTS (SELECT 1 FROM parts b WHERE b.txt = a.txt) AS e, count(*) FROM items a GROUP BY 1"),
    (
        false,
        "SELECT a.\"RowKey\", b.\"RowKey\" FROM items a LEFT JOIN parts b ON b.small = a.small AND EXISTS (SELECT 1 FROM parts c WHERE c.txt = b.txt AND c.flag)",
    ),
    (
        false,
        "SELECT a.\"RowKey\", b.\"RowKey\" FROM items a LEFT JOIN parts b ON b.small = a.small AND a.big NOT IN (SELECT c.big FROM parts c WHERE c.txt = a.txt)",
    ),
    (
        false,
        "SELECT a.\"RowKey\", b.\"RowKey\" FROM items a JOIN parts b ON b.small = a.small AND (b.txt IN (SELECT c.txt FROM items c WHERE c.flag = a.flag) OR {b})",
    ),
    (
        true,
        "SELECT a.\"RowKey\", sum((SELECT count(*) FROM parts b WHERE b.small = a.small)) OVER (ORDER BY a.\"PartitionKey\", a.\"RowKey\") FROM items a ORDER BY a.\"PartitionKey\", a.\"RowKey\"",
    ),
    // One inside the other.
    (
        false,
        "SELECT a.\"RowKey\" FROM items a WHERE EXISTS (SELECT 1 FROM parts b WHERE b.small = a.small AND b.big IN (SELECT c.big FROM items c WHERE c.flag = a.flag AND c.small = b.small))",
    ),
    (
        false,
        "SELECT a.\"RowKey\", (SELECT max((SELECT count(*) FROM parts c WHERE c.small > b.small AND c.flag = a.flag)) FROM parts b WHERE b.small = a.small) FROM items a",
    ),
];
