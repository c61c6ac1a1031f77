//! What clients ask of the catalog, as shapes: the same constructs, fewer columns.

use super::try_rows;

/// What is asked, the statement, its rows.
const QUERIES: &[(&str, &str, &[&str])] = &[
    (
        "relation details by an oid in quotes",
        "select c.relname, case when c.reloftype = 0 then '' else \
         c.reloftype::pg_catalog.regtype::pg_catalog.text end, am.amname from pg_catalog.pg_class c left join \
         pg_catalog.pg_am am on (c.relam = am.oid) where c.oid = '1259'",
        &["pg_class||heap"],
    ),
    (
        "a name by pattern",
        "select n.nspname, c.relname from pg_catalog.pg_class c left join pg_catalog.pg_namespace n on n.oid \
         = c.relnamespace where c.relname operator(pg_catalog.~) '^(Employees)$' collate pg_catalog.default \
         and pg_catalog.pg_table_is_visible(c.oid)",
        &["public|Employees"],
    ),
    (
        "defaults and collations by sub-queries",
        "select a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (select \
         pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) from pg_catalog.pg_attrdef d where d.adrelid = \
         a.attrelid and d.adnum = a.attnum and a.atthasdef), (select c.collname from pg_catalog.pg_collation \
         c, pg_catalog.pg_type t where c.oid = a.attcollation and t.oid = a.atttypid and a.attcollation <> \
         t.typcollation) as coll from pg_catalog.pg_attribute a where a.attrelid = '\"Employees\"'::regclass \
         and a.attnum between 1 and 3 order by a.attnum",
        &["PartitionKey|text|NULL|NULL", "RowKey|text|NULL|NULL", "Timestamp|timestamp with time zone|now()|NULL"],
    ),
    (
        "the key's definition",
        "select c2.relname, pg_catalog.pg_get_indexdef(i.indexrelid, 0, true), \
         pg_catalog.pg_get_constraintdef(con.oid, true) from pg_catalog.pg_class c, pg_catalog.pg_class c2, \
         pg_catalog.pg_index i left join pg_catalog.pg_constraint con on (conrelid = i.indrelid and conindid \
         = i.indexrelid and contype in ('p', 'u', 'x')) where c.relname = 'Employees' and c.oid = i.indrelid \
         and i.indexrelid = c2.oid",
        &[
            "Employees_pkey|CREATE UNIQUE INDEX \"Employees_pkey\" ON public.\"Employees\" USING btree (\"PartitionKey\", \"RowKey\")|PRIMARY KEY (\"PartitionKey\", \"RowKey\")",
        ],
    ),
    (
        "the key's columns, a row each",
        "select r.column_name, r.key_seq from (select a.attname as column_name, \
         (information_schema._pg_expandarray(i.indkey)).n as key_seq, \
         information_schema._pg_expandarray(i.indkey) as keys, a.attnum as number from pg_catalog.pg_class ct \
         join pg_catalog.pg_attribute a on (ct.oid = a.attrelid) join pg_catalog.pg_index i on (a.attrelid = \
         i.indrelid) where ct.relname = 'Employees' and i.indisprimary) r where r.number = (r.keys).x order \
         by r.key_seq",
        &["PartitionKey|1", "RowKey|2"],
    ),
    (
        "the key's columns, gathered",
        "select attr.conname, array_agg(cast(attr.attname as text) order by attr.ord) from (select \
         con.conname, con.ord, a.attname from pg_catalog.pg_attribute a join (select c.conrelid, c.conname, \
         unnest(i.indkey) as attnum, generate_subscripts(i.indkey, 1) as ord from pg_catalog.pg_constraint c \
         join pg_catalog.pg_index i on c.conindid = i.indexrelid where c.contype = 'p') con on a.attnum = \
         con.attnum and a.attrelid = con.conrelid where con.conrelid = '\"Employees\"'::regclass) attr group by \
         attr.conname",
        &["Employees_pkey|[PartitionKey, RowKey]"],
    ),
    (
        "directions of an index",
        "select pg_catalog.pg_get_indexdef(t.oid, t.place, false), case t.options[t.place - 1] & 1::smallint \
         when 1 then 'D' else 'A' end from (select ci.oid, i.indoption as options, \
         (information_schema._pg_expandarray(i.indkey)).n as place from pg_catalog.pg_index i join \
         pg_catalog.pg_class ci on ci.oid = i.indexrelid where ci.relname = 'Employees_pkey') t order by \
         t.place",
        &["\"PartitionKey\"|A", "\"RowKey\"|A"],
    ),
    (
        "keys by lateral unnest",
        "select a.attname, x.place from pg_constraint con cross join lateral unnest(con.conkey) with \
         ordinality as x(number, place) join pg_attribute a on a.attrelid = con.conrelid and a.attnum = \
         x.number where con.conname = 'Employees_pkey' order by x.place",
        &["PartitionKey|1", "RowKey|2"],
    ),
    (
        "rows of a function that asks the outer query",
        "select pubname, (case when pr.prattrs is not null then (select string_agg(attname, ', ') from \
         pg_catalog.generate_series(0, pg_catalog.array_upper(pr.prattrs::pg_catalog.int2[], 1)) s, \
         pg_catalog.pg_attribute where attrelid = pr.prrelid and attnum = prattrs[s]) else null end) from \
         pg_catalog.pg_publication p join pg_catalog.pg_publication_rel pr on p.oid = pr.prpubid",
        &[],
    ),
    (
        "roles of roles",
        "select r.rolname, array(select b.rolname from pg_catalog.pg_auth_members m join pg_catalog.pg_roles \
         b on (m.roleid = b.oid) where m.member = r.oid) as memberof from pg_catalog.pg_roles r where \
         r.rolname !~ '^pg_'",
        &["alice|[]"],
    ),
    (
        "types by the place of their schema in the search path",
        "select typinput = 'pg_catalog.array_in'::regproc as is_array, typname, sp.r from pg_catalog.pg_type \
         left join (select ns.oid as nspoid, ns.nspname, r.r from pg_namespace ns join (select s.r, \
         (current_schemas(true))[s.r] as nspname from generate_series(1, array_upper(current_schemas(true), \
         1)) as s(r)) r using (nspname)) sp on sp.nspoid = typnamespace where typname in ('_int4', 'int4') \
         order by typname",
        &["true|_int4|1", "false|int4|1"],
    ),
    (
        "a sequence of no column",
        "select pg_get_serial_sequence(cast(cast(a.attrelid as regclass) as text), a.attname) from \
         pg_attribute a where a.attrelid = '\"Employees\"'::regclass and a.attnum = 1",
        &["NULL"],
    ),
    (
        "how many relations, by schema",
        "select n.nspname, (select count(*) from pg_class c where c.relnamespace = n.oid and c.relkind = 'r') \
         from pg_namespace n where n.nspname = 'public'",
        &["public|2"],
    ),
    (
        "names of types and relations",
        "select attrelid::regclass, atttypid::regtype, atttypid::regtype::text from pg_attribute where \
         attrelid = '\"Employees\"'::regclass and attname = 'Timestamp'",
        &["\"Employees\"|timestamp with time zone|timestamp with time zone"],
    ),
];

#[test]
fn clients_find_what_they_look_for() {
    let mut wrong = Vec::new();
    for (what, sql, expected) in QUERIES {
        match try_rows(sql) {
            Ok(rows) if rows == *expected => {}
            Ok(rows) => wrong.push(format!("{what}\n  {rows:?}\n  wanted {expected:?}")),
            Err(error) => wrong.push(format!("{what}\n  {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), QUERIES.len(), wrong.join("\n"));
}
