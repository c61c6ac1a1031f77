//! The joins that clients make, without the functions that the session adds.

use super::rows;

#[test]
fn tables_as_psql_lists_them() {
    let sql = "SELECT n.nspname, c.relname, CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' END, r.rolname, am.amname
        FROM pg_catalog.pg_class c
        LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
        LEFT JOIN pg_catalog.pg_roles r ON r.oid = c.relowner
        WHERE c.relkind IN ('r', 'p', '') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast'
          AND n.nspname <> 'information_schema'
        ORDER BY 1, 2";
    assert_eq!(rows(sql), ["public|Employees|table|alice|heap", "public|events|table|alice|heap"]);
}

#[test]
fn a_table_as_psql_describes_it() {
    let oid = "SELECT c.oid FROM pg_catalog.pg_class c WHERE c.relname ~ '^(Employees)$'";
    assert_eq!(rows(oid), ["16392"]);
    let relation =
        "SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relpersistence, c.relreplident, am.amname,
        c.relnatts, c.reltuples, c.relpages
        FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid = tc.oid)
        LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '16392'";
    assert_eq!(rows(relation), ["0|r|true|false|p|d|heap|13|1200.0|3"]);
    let columns = "SELECT a.attnum, a.attname, t.typname, d.adbin, a.attnotnull, a.attidentity, a.attgenerated
        FROM pg_catalog.pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef
        WHERE a.attrelid = 16392 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";
    assert_eq!(
        rows(columns),
        [
            "1|PartitionKey|text|NULL|true||",
            "2|RowKey|text|NULL|true||",
            "3|Timestamp|timestamptz|now()|true||",
            "4|LastName|text|NULL|false||",
            "5|Age|int8|NULL|false||",
            "6|Age:Int32|int4|NULL|false||",
            "7|Age:Int64|int8|NULL|false||",
            "8|HiredAt|timestamptz|NULL|false||",
            "9|Score|float8|NULL|false||",
            "10|Badge|uuid|NULL|false||",
            "11|Photo|bytea|NULL|false||",
            "12|Active|bool|NULL|false||",
            "13|Salary|int8|NULL|false||",
        ]
    );
    let indexes = "SELECT c2.relname, i.indisprimary, i.indisunique, i.indisvalid, con.conname, con.contype, con.conkey, i.indkey,
        i.indclass, i.indoption
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_index i ON c.oid = i.indrelid
        JOIN pg_catalog.pg_class c2 ON i.indexrelid = c2.oid
        LEFT JOIN pg_catalog.pg_constraint con
            ON (conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p', 'u', 'x'))
        WHERE c.oid = 16392 ORDER BY i.indisprimary DESC, c2.relname";
    assert_eq!(rows(indexes), ["Employees_pkey|true|true|true|Employees_pkey|p|[1, 2]|[1, 2]|[3126, 3126]|[0, 0]"]);
    let index_columns =
        "SELECT a.attname, a.attnum, a.attnotnull FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relname = 'Employees_pkey' ORDER BY 2";
    assert_eq!(rows(index_columns), ["PartitionKey|1|false", "RowKey|2|false"]);
    let none = ["pg_policy WHERE polrelid", "pg_statistic_ext WHERE stxrelid", "pg_inherits WHERE inhparent"];
    for empty in none.into_iter().chain(["pg_trigger WHERE tgrelid", "pg_publication_rel WHERE prrelid"]) {
        assert_eq!(rows(&format!("SELECT count(*) FROM pg_catalog.{empty} = 16392")), ["0"]);
    }
}

#[test]
fn the_catalog_lists_itself() {
    let class = "SELECT c.oid, c.relkind, c.relnatts, t.typname, a.atttypid FROM pg_class c JOIN pg_type t ON t.typrelid = c.oid
        JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relname = 'pg_class' AND a.attname = 'relacl'";
    assert_eq!(rows(class), ["1259|r|33|pg_class|1034"]);
    let columns =
        "SELECT data_type, udt_name, domain_name, character_maximum_length, is_nullable FROM information_schema.columns
        WHERE table_schema = 'information_schema' AND table_name = 'columns' AND column_name = 'is_nullable'";
    assert_eq!(rows(columns), ["character varying|varchar|yes_or_no|3|YES"]);
    let arrays = "SELECT t.typname, e.typname, e.typtype FROM pg_type t JOIN pg_type e ON e.oid = t.typelem
        WHERE t.typname IN ('_text', '_Employees', '_sql_identifier') ORDER BY 1";
    assert_eq!(rows(arrays), ["_Employees|Employees|c", "_sql_identifier|sql_identifier|d", "_text|text|b"]);
    assert_eq!(
        rows("SELECT typtype, typinput, typelem, typcategory FROM pg_type WHERE typname = 'sql_identifier'"),
        ["d|2597|0|S"]
    );
}

#[test]
fn keys_as_information_schema_tells_them() {
    let keys = "SELECT tc.constraint_name, kcu.column_name, kcu.ordinal_position, tc.table_catalog
        FROM information_schema.table_constraints tc
        JOIN information_schema.key_column_usage kcu
            ON tc.constraint_name = kcu.constraint_name AND tc.table_schema = kcu.table_schema
        WHERE tc.constraint_type = 'PRIMARY KEY' AND tc.table_name = 'Employees' ORDER BY 3";
    assert_eq!(
        rows(keys),
        ["Employees_pkey|PartitionKey|1|devstoreaccount1", "Employees_pkey|RowKey|2|devstoreaccount1"]
    );
    let checks = "SELECT cc.check_clause FROM information_schema.table_constraints tc
        JOIN information_schema.check_constraints cc ON cc.constraint_name = tc.constraint_name
        WHERE tc.table_name = 'events' ORDER BY tc.constraint_name";
    assert_eq!(rows(checks), ["PartitionKey IS NOT NULL", "RowKey IS NOT NULL", "Timestamp IS NOT NULL"]);
    assert_eq!(rows("SELECT count(*) FROM information_schema.referential_constraints"), ["0"]);
    assert_eq!(rows("SELECT count(*) FROM information_schema.constraint_column_usage"), ["4"]);
}

#[test]
fn columns_as_information_schema_tells_them() {
    let columns = "SELECT column_name, data_type, udt_name, is_nullable, column_default, numeric_precision,
        numeric_precision_radix, datetime_precision, character_octet_length
        FROM information_schema.columns WHERE table_name = 'Employees' AND ordinal_position IN (1, 3, 6, 9, 10, 13)
        ORDER BY ordinal_position";
    assert_eq!(
        rows(columns),
        [
            "PartitionKey|text|text|NO|NULL|NULL|NULL|NULL|1073741824",
            "Timestamp|timestamp with time zone|timestamptz|NO|now()|NULL|NULL|6|NULL",
            "Age:Int32|integer|int4|YES|NULL|32|2|NULL|NULL",
            "Score|double precision|float8|YES|NULL|53|2|NULL|NULL",
            "Badge|uuid|uuid|YES|NULL|NULL|NULL|NULL|NULL",
            "Salary|bigint|int8|YES|NULL|64|2|NULL|NULL",
        ]
    );
    let tables = "SELECT table_schema, table_name, table_type, is_insertable_into FROM information_schema.tables
        WHERE table_schema = 'public' OR table_name = 'pg_tables' ORDER BY 1, 2";
    assert_eq!(
        rows(tables),
        [
            "pg_catalog|pg_tables|VIEW|NO",
            "public|Employees|BASE TABLE|YES",
            "public|Grown|VIEW|NO",
            "public|events|BASE TABLE|YES"
        ]
    );
}

#[test]
fn statistics_come_from_the_manifest() {
    assert_eq!(
        rows("SELECT relname, n_live_tup, n_dead_tup FROM pg_stat_user_tables ORDER BY 1"),
        ["Employees|1200|0", "events|0|0"]
    );
    assert_eq!(rows("SELECT count(*) FROM pg_stat_user_tables WHERE relname = 'Hidden'"), ["0"]);
    assert_eq!(rows("SELECT datname, numbackends FROM pg_stat_database ORDER BY 1"), ["devstoreaccount1|1", "other|0"]);
    let index = "SELECT tablename, indexdef FROM pg_indexes WHERE tablename = 'events'";
    let definition = "CREATE UNIQUE INDEX events_pkey ON public.events USING btree (\"PartitionKey\", \"RowKey\")";
    assert_eq!(rows(index), [format!("events|{definition}")]);
}

#[test]
fn views_and_their_columns() {
    let class = "SELECT c.oid, c.relkind, c.relnatts, c.relam, r.rulename, r.ev_action FROM pg_class c
        JOIN pg_rewrite r ON r.ev_class = c.oid WHERE c.relname = 'Grown'";
    assert_eq!(rows(class), ["16416|v|2|0|_RETURN|SELECT \"Age\" FROM \"Employees\""]);
    let columns =
        "SELECT column_name, data_type, is_updatable FROM information_schema.columns WHERE table_name = 'Grown'";
    assert_eq!(rows(columns), ["Age|bigint|NO", "at|timestamp with time zone|NO"]);
    assert_eq!(rows("SELECT viewname, viewowner FROM pg_views WHERE schemaname = 'public'"), ["Grown|alice"]);
    assert_eq!(rows("SELECT view_name, table_name FROM information_schema.view_table_usage"), ["Grown|Employees"]);
}

#[test]
fn comments_are_on_what_they_say() {
    let on_relations =
        "SELECT c.relname, d.objsubid, d.description FROM pg_description d JOIN pg_class c ON c.oid = d.objoid
        WHERE d.classoid = 1259 ORDER BY 2";
    assert_eq!(rows(on_relations), ["Employees|0|who works here", "Employees|5|in years"]);
    let on_schemas = "SELECT n.nspname, d.description FROM pg_description d JOIN pg_namespace n ON n.oid = d.objoid";
    assert_eq!(rows(on_schemas), ["public|everything"]);
    let on_databases = "SELECT d.datname, s.description FROM pg_shdescription s JOIN pg_database d ON d.oid = s.objoid";
    assert_eq!(rows(on_databases), ["devstoreaccount1|the account"]);
}
