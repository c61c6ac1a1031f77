//! Each construct in small.

use super::{refusal, rows, try_rows};
use rowkey_postgres::types::SqlState;

/// Statements and their rows, as PostgreSQL 15 answers them.
const RECORDED: &[(&str, &[&str])] = &[
    ("select array(select x from (values (3), (1), (2)) v(x) order by x)", &["[1, 2, 3]"]),
    ("select array(select x from (values (3), (1), (2)) v(x) order by 1 desc)", &["[3, 2, 1]"]),
    ("select array(select x from (values (3), (1), (3)) v(x) where x > 5)", &["[]"]),
    ("select array(select distinct x from (values (3), (1), (3)) v(x) order by x)", &["[1, 3]"]),
    ("select array(select abs(x) from (values (-3, 1), (1, 2), (-2, 0)) v(x, y) order by y)", &["[2, 3, 1]"]),
    ("select array(select x from (values (3), (1), (2)) v(x) order by x desc limit 2)", &["[3, 2]"]),
    ("select array(select max(x) from (values (1, 1), (2, 1), (3, 2)) v(x, y) group by y order by y)", &["[2, 3]"]),
    (
        "select y, array(select x from (values (1, 1), (2, 1), (3, 3)) v(x, z) where z = y order by x desc) \
         from (values (1), (2), (3)) w(y) order by y",
        &["1|[2, 1]", "2|[]", "3|[3]"],
    ),
    (
        "select y, exists(select 1 from (values (1), (2)) v(x) where x > y) from (values (1), (2)) w(y) order by 1",
        &["1|true", "2|false"],
    ),
    (
        "select y, not exists(select 1 from (values (1), (2)) v(x) where x > y) from (values (1), (2)) w(y) order by 1",
        &["1|false", "2|true"],
    ),
    (
        "select y, (select x from (values (1), (2)) v(x) where x > y) from (values (1), (2)) w(y) order by 1",
        &["1|2", "2|NULL"],
    ),
    (
        "select y, (select x from (values (1), (2), (3)) v(x) where x > y order by x desc limit 1) \
         from (values (1), (2), (3)) w(y) order by 1",
        &["1|3", "2|3", "3|NULL"],
    ),
    (
        "select y, (select count(*) from (values (1), (2)) v(x) where x > y) from (values (1), (2), (null)) w(y) \
         order by 1",
        &["1|1", "2|0", "NULL|0"],
    ),
    (
        "select y, (select coalesce(max(x), 0) from (values (1), (2)) v(x) where x > y) \
         from (values (1), (2)) w(y) order by 1",
        &["1|2", "2|0"],
    ),
    ("select y from (values (1), (2)) w(y) where (select x from (values (1), (2)) v(x) where x > y) = 2", &["1"]),
    (
        "select a.x, u from (values (array[1, 2]), (array[3])) a(x), unnest(a.x) u order by u",
        &["[1, 2]|1", "[1, 2]|2", "[3]|3"],
    ),
    ("select u, o from unnest(array['a', 'b']) with ordinality as t(u, o) order by o", &["a|1", "b|2"]),
    ("select a, b from unnest(array[1, 2], array['x']) as t(a, b) order by a", &["1|x", "2|NULL"]),
    ("select s from generate_series(1, 3) s order by s", &["1", "2", "3"]),
    ("select r from generate_series(1, 3) as s(r) order by r desc limit 1", &["3"]),
    ("select n, g from (values (1), (2)) v(n), lateral generate_series(1, n) g order by n, g", &["1|1", "2|1", "2|2"]),
    ("select generate_subscripts(array['a', 'b'], 1) as s order by s", &["1", "2"]),
    ("select '{a,b}'::text[]", &["[a, b]"]),
    ("select '{1,NULL,3}'::int4[]", &["[1, NULL, 3]"]),
    ("select 'b' = any('{a,b}'::text[]), 'c' <> all('{a,b}'::text[])", &["true|true"]),
    ("select 2 = any(array[1, 2])", &["true"]),
    ("select x from (values ('a'), ('c')) v(x) where x = any('{a,b}')", &["a"]),
    ("select 'abc' operator(pg_catalog.~) '^(abc)$' collate pg_catalog.default", &["true"]),
    ("select 'abc' ~ 'B', 'abc' ~* 'B', 'abc' !~ 'B', 'abc' !~* 'B'", &["false|true|true|false"]),
    ("select 'a_c' like 'a/_c' escape '/', 'abc' ilike 'A%'", &["true|true"]),
    ("select null is not distinct from null, (1, 2) = (1, 2)", &["true|true"]),
    ("select array[1] || array[2, 3], array['a'] || '{b}'", &["[1, 2, 3]|[a, b]"]),
    ("select (array[1, 2, 3])[2], (array[1, 2, 3])[2:3]", &["2|[2, 3]"]),
    ("select '1 2'::int2vector, '1 2'::int2vector::text, ('7 8'::int2vector)[0]", &["[1, 2]|1 2|7"]),
    ("select 'ab'::\"char\"::text, 'abc'::name", &["a|abc"]),
    ("select (current_schemas(true))[1], 'public' = any(current_schemas(false))", &["pg_catalog|true"]),
    ("select 'pg_class'::regclass", &["pg_class"]),
    ("select 'pg_class'::regclass::oid, 'pg_catalog.pg_type'::regclass = 1247", &["1259|true"]),
    (
        "select 1259::regclass::text, 'int4'::regtype, 25::regtype::text, 'pg_catalog'::regnamespace::oid",
        &["pg_class|integer|text|11"],
    ),
    ("select oid from pg_class where oid = 'pg_class'::regclass", &["1259"]),
    ("select relname from pg_class where oid = '1259'", &["pg_class"]),
    ("select regexp_split_to_table('a, b,c', ',\\s*') as x order by x", &["a", "b", "c"]),
    (
        "select json_build_object('a', 1, 'b', null, 'c', 'x\"')::text",
        &["{\"a\" : 1, \"b\" : null, \"c\" : \"x\\\"\"}"],
    ),
    ("select json_agg(x order by x desc)::text from (values (1), (2)) v(x)", &["[2, 1]"]),
    ("select (information_schema._pg_expandarray(array['a', 'b'])).n as n order by n", &["1", "2"]),
    ("select count(*) from pg_get_keywords()", &["460"]),
    ("select setting from pg_show_all_settings() where name = 'max_index_keys'", &["32"]),
    (
        "select quote_ident('MixedCase'), quote_ident('lower'), quote_ident('select'), quote_ident('a\"b')",
        &["\"MixedCase\"|lower|\"select\"|\"a\"\"b\""],
    ),
    ("select format('%I.%s = %L', 'Ab', 'x', 'it''s')", &["\"Ab\".x = 'it''s'"]),
];

#[test]
fn constructs_answer_as_postgresql_does() {
    let mut wrong = Vec::new();
    for (sql, expected) in RECORDED {
        match try_rows(sql) {
            Ok(rows) if rows == *expected => {}
            Ok(rows) => wrong.push(format!("{sql}\n  {rows:?}\n  wanted {expected:?}")),
            Err(error) => wrong.push(format!("{sql}\n  {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), RECORDED.len(), wrong.join("\n"));
}

#[test]
fn what_is_not_there_is_refused_in_postgresqls_words() {
    let cases = [
        ("select 'nothing'::regclass", SqlState::UNDEFINED_TABLE, "relation \"nothing\" does not exist"),
        ("select 'no.thing'::regclass", SqlState::UNDEFINED_TABLE, "relation \"no.thing\" does not exist"),
        ("select 'nothing'::regtype", SqlState::UNDEFINED_OBJECT, "type \"nothing\" does not exist"),
        ("select 'nothing'::regnamespace", SqlState::UNDEFINED_SCHEMA, "schema \"nothing\" does not exist"),
        ("select 'x1'::oid", SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type oid: \"x1\""),
        ("select '{a'::text[]", SqlState::INVALID_TEXT_REPRESENTATION, "malformed array literal: \"{a\""),
        (
            "select current_setting('no.such')",
            SqlState::UNDEFINED_OBJECT,
            "unrecognized configuration parameter \"no.such\"",
        ),
        (
            "select y, (select x from (values (1), (2)) v(x) where x >= y) from (values (1)) w(y)",
            SqlState::CARDINALITY_VIOLATION,
            "more than one row returned by a subquery used as an expression",
        ),
        (
            "select quote_ident('a', 'b')",
            SqlState::UNDEFINED_FUNCTION,
            "function quote_ident(text, text) does not exist",
        ),
    ];
    for (sql, kind, message) in cases {
        let error = try_rows(sql).expect_err(sql);
        let refusal = refusal(&error).unwrap_or_else(|| panic!("{sql}: {error}"));
        assert_eq!((refusal.sqlstate, refusal.message.as_str()), (kind, message), "{sql}");
    }
    assert_eq!(rows("select to_regclass('nothing'), to_regtype('nothing')"), ["NULL|NULL"]);
}
