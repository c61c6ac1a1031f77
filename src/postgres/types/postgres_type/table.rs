//! The rows of `pg_type`, as PostgreSQL 15 has them, without the row types of tables.

use std::sync::LazyLock;

use super::{PostgresType, oid};

/// Every built-in type, by oid ascending.
pub static TYPES: LazyLock<Vec<PostgresType>> = LazyLock::new(|| {
    let arrays = BUT_ARRAYS.iter().filter(|(element, ..)| element.array_oid != 0 && element.oid != oid::RECORD);
    let arrays = arrays.map(|(element, name, sql_name)| array(element, name, sql_name));
    let mut types: Vec<PostgresType> = BUT_ARRAYS.iter().map(|(ty, ..)| *ty).chain(arrays).collect();
    types.sort_unstable_by_key(|ty| ty.oid);
    types
});

/// With the delimiter, collation and modifiers of its element.
fn array(element: &PostgresType, name: &'static str, sql_name: &'static str) -> PostgresType {
    PostgresType {
        oid: element.array_oid,
        name,
        sql_name,
        len: -1,
        by_value: false,
        category: 'A',
        preferred: false,
        array_oid: 0,
        element_oid: element.oid,
        kind: 'b',
        input: "array_in",
        output: "array_out",
        receive: "array_recv",
        send: "array_send",
        alignment: if element.alignment == 'd' { 'd' } else { 'i' },
        storage: 'x',
        subscript: "array_subscript_handler",
        ..*element
    }
}

/// A type, and both names of its array.
macro_rules! row {
    (
        $oid:literal, $name:literal, $sql_name:literal, $len:literal, $by_value:literal, $category:literal,
        $preferred:literal, $array_oid:literal, $element_oid:literal, $kind:literal, $delimiter:literal,
        [$input:literal, $output:literal, $receive:literal, $send:literal], $alignment:literal, $storage:literal,
        $collation:literal, $typmod_input:literal, $subscript:literal
    ) => {{
        let row = PostgresType {
            oid: $oid,
            name: $name,
            sql_name: $sql_name,
            len: $len,
            by_value: $by_value,
            category: $category,
            preferred: $preferred,
            array_oid: $array_oid,
            element_oid: $element_oid,
            kind: $kind,
            delimiter: $delimiter,
            input: $input,
            output: $output,
            receive: $receive,
            send: $send,
            alignment: $alignment,
            storage: $storage,
            collation: $collation,
            typmod_input: $typmod_input,
            subscript: $subscript,
        };
        (row, concat!("_", $name), concat!($sql_name, "[]"))
    }};
}

/// All but the arrays, which follow from their elements, except for that of records.
#[rustfmt::skip]
static BUT_ARRAYS: &[(PostgresType, &str, &str)] = &[
    // oid, typname, SQL name, length, by value, category, preferred, array, element, kind,
    // delimiter, [input, output, receive, send], alignment, storage, collation, typmod input,
    // subscript handler
    row!(16, "bool", "boolean", 1, true, 'B', true, 1000, 0, 'b', ',', ["boolin", "boolout", "boolrecv", "boolsend"], 'c', 'p', 0, "", ""),
    row!(17, "bytea", "bytea", -1, false, 'U', false, 1001, 0, 'b', ',', ["byteain", "byteaout", "bytearecv", "byteasend"], 'i', 'x', 0, "", ""),
    row!(18, "char", "\"char\"", 1, true, 'Z', false, 1002, 0, 'b', ',', ["charin", "charout", "charrecv", "charsend"], 'c', 'p', 0, "", ""),
    row!(19, "name", "name", 64, false, 'S', false, 1003, 18, 'b', ',', ["namein", "nameout", "namerecv", "namesend"], 'c', 'p', 950, "", "raw_array_subscript_handler"),
    row!(20, "int8", "bigint", 8, true, 'N', false, 1016, 0, 'b', ',', ["int8in", "int8out", "int8recv", "int8send"], 'd', 'p', 0, "", ""),
    row!(21, "int2", "smallint", 2, true, 'N', false, 1005, 0, 'b', ',', ["int2in", "int2out", "int2recv", "int2send"], 's', 'p', 0, "", ""),
    row!(22, "int2vector", "int2vector", -1, false, 'A', false, 1006, 21, 'b', ',', ["int2vectorin", "int2vectorout", "int2vectorrecv", "int2vectorsend"], 'i', 'p', 0, "", "array_subscript_handler"),
    row!(23, "int4", "integer", 4, true, 'N', false, 1007, 0, 'b', ',', ["int4in", "int4out", "int4recv", "int4send"], 'i', 'p', 0, "", ""),
    row!(24, "regproc", "regproc", 4, true, 'N', false, 1008, 0, 'b', ',', ["regprocin", "regprocout", "regprocrecv", "regprocsend"], 'i', 'p', 0, "", ""),
    row!(25, "text", "text", -1, false, 'S', true, 1009, 0, 'b', ',', ["textin", "textout", "textrecv", "textsend"], 'i', 'x', 100, "", ""),
    row!(26, "oid", "oid", 4, true, 'N', true, 1028, 0, 'b', ',', ["oidin", "oidout", "oidrecv", "oidsend"], 'i', 'p', 0, "", ""),
    row!(27, "tid", "tid", 6, false, 'U', false, 1010, 0, 'b', ',', ["tidin", "tidout", "tidrecv", "tidsend"], 's', 'p', 0, "", ""),
    row!(28, "xid", "xid", 4, true, 'U', false, 1011, 0, 'b', ',', ["xidin", "xidout", "xidrecv", "xidsend"], 'i', 'p', 0, "", ""),
    row!(29, "cid", "cid", 4, true, 'U', false, 1012, 0, 'b', ',', ["cidin", "cidout", "cidrecv", "cidsend"], 'i', 'p', 0, "", ""),
    row!(30, "oidvector", "oidvector", -1, false, 'A', false, 1013, 26, 'b', ',', ["oidvectorin", "oidvectorout", "oidvectorrecv", "oidvectorsend"], 'i', 'p', 0, "", "array_subscript_handler"),
    row!(32, "pg_ddl_command", "pg_ddl_command", 8, true, 'P', false, 0, 0, 'p', ',', ["pg_ddl_command_in", "pg_ddl_command_out", "pg_ddl_command_recv", "pg_ddl_command_send"], 'd', 'p', 0, "", ""),
    row!(114, "json", "json", -1, false, 'U', false, 199, 0, 'b', ',', ["json_in", "json_out", "json_recv", "json_send"], 'i', 'x', 0, "", ""),
    row!(142, "xml", "xml", -1, false, 'U', false, 143, 0, 'b', ',', ["xml_in", "xml_out", "xml_recv", "xml_send"], 'i', 'x', 0, "", ""),
    row!(194, "pg_node_tree", "pg_node_tree", -1, false, 'Z', false, 0, 0, 'b', ',', ["pg_node_tree_in", "pg_node_tree_out", "pg_node_tree_recv", "pg_node_tree_send"], 'i', 'x', 100, "", ""),
    row!(269, "table_am_handler", "table_am_handler", 4, true, 'P', false, 0, 0, 'p', ',', ["table_am_handler_in", "table_am_handler_out", "-", "-"], 'i', 'p', 0, "", ""),
    row!(325, "index_am_handler", "index_am_handler", 4, true, 'P', false, 0, 0, 'p', ',', ["index_am_handler_in", "index_am_handler_out", "-", "-"], 'i', 'p', 0, "", ""),
    row!(600, "point", "point", 16, false, 'G', false, 1017, 701, 'b', ',', ["point_in", "point_out", "point_recv", "point_send"], 'd', 'p', 0, "", "raw_array_subscript_handler"),
    row!(601, "lseg", "lseg", 32, false, 'G', false, 1018, 600, 'b', ',', ["lseg_in", "lseg_out", "lseg_recv", "lseg_send"], 'd', 'p', 0, "", "raw_array_subscript_handler"),
    row!(602, "path", "path", -1, false, 'G', false, 1019, 0, 'b', ',', ["path_in", "path_out", "path_recv", "path_send"], 'd', 'x', 0, "", ""),
    row!(603, "box", "box", 32, false, 'G', false, 1020, 600, 'b', ';', ["box_in", "box_out", "box_recv", "box_send"], 'd', 'p', 0, "", "raw_array_subscript_handler"),
    row!(604, "polygon", "polygon", -1, false, 'G', false, 1027, 0, 'b', ',', ["poly_in", "poly_out", "poly_recv", "poly_send"], 'd', 'x', 0, "", ""),
    row!(628, "line", "line", 24, false, 'G', false, 629, 701, 'b', ',', ["line_in", "line_out", "line_recv", "line_send"], 'd', 'p', 0, "", "raw_array_subscript_handler"),
    row!(650, "cidr", "cidr", -1, false, 'I', false, 651, 0, 'b', ',', ["cidr_in", "cidr_out", "cidr_recv", "cidr_send"], 'i', 'm', 0, "", ""),
    row!(700, "float4", "real", 4, true, 'N', false, 1021, 0, 'b', ',', ["float4in", "float4out", "float4recv", "float4send"], 'i', 'p', 0, "", ""),
    row!(701, "float8", "double precision", 8, true, 'N', true, 1022, 0, 'b', ',', ["float8in", "float8out", "float8recv", "float8send"], 'd', 'p', 0, "", ""),
    row!(705, "unknown", "unknown", -2, false, 'X', false, 0, 0, 'p', ',', ["unknownin", "unknownout", "unknownrecv", "unknownsend"], 'c', 'p', 0, "", ""),
    row!(718, "circle", "circle", 24, false, 'G', false, 719, 0, 'b', ',', ["circle_in", "circle_out", "circle_recv", "circle_send"], 'd', 'p', 0, "", ""),
    row!(774, "macaddr8", "macaddr8", 8, false, 'U', false, 775, 0, 'b', ',', ["macaddr8_in", "macaddr8_out", "macaddr8_recv", "macaddr8_send"], 'i', 'p', 0, "", ""),
    row!(790, "money", "money", 8, true, 'N', false, 791, 0, 'b', ',', ["cash_in", "cash_out", "cash_recv", "cash_send"], 'd', 'p', 0, "", ""),
    row!(829, "macaddr", "macaddr", 6, false, 'U', false, 1040, 0, 'b', ',', ["macaddr_in", "macaddr_out", "macaddr_recv", "macaddr_send"], 'i', 'p', 0, "", ""),
    row!(869, "inet", "inet", -1, false, 'I', true, 1041, 0, 'b', ',', ["inet_in", "inet_out", "inet_recv", "inet_send"], 'i', 'm', 0, "", ""),
    row!(1033, "aclitem", "aclitem", 12, false, 'U', false, 1034, 0, 'b', ',', ["aclitemin", "aclitemout", "-", "-"], 'i', 'p', 0, "", ""),
    row!(1042, "bpchar", "character", -1, false, 'S', false, 1014, 0, 'b', ',', ["bpcharin", "bpcharout", "bpcharrecv", "bpcharsend"], 'i', 'x', 100, "bpchartypmodin", ""),
    row!(1043, "varchar", "character varying", -1, false, 'S', false, 1015, 0, 'b', ',', ["varcharin", "varcharout", "varcharrecv", "varcharsend"], 'i', 'x', 100, "varchartypmodin", ""),
    row!(1082, "date", "date", 4, true, 'D', false, 1182, 0, 'b', ',', ["date_in", "date_out", "date_recv", "date_send"], 'i', 'p', 0, "", ""),
    row!(1083, "time", "time without time zone", 8, true, 'D', false, 1183, 0, 'b', ',', ["time_in", "time_out", "time_recv", "time_send"], 'd', 'p', 0, "timetypmodin", ""),
    row!(1114, "timestamp", "timestamp without time zone", 8, true, 'D', false, 1115, 0, 'b', ',', ["timestamp_in", "timestamp_out", "timestamp_recv", "timestamp_send"], 'd', 'p', 0, "timestamptypmodin", ""),
    row!(1184, "timestamptz", "timestamp with time zone", 8, true, 'D', true, 1185, 0, 'b', ',', ["timestamptz_in", "timestamptz_out", "timestamptz_recv", "timestamptz_send"], 'd', 'p', 0, "timestamptztypmodin", ""),
    row!(1186, "interval", "interval", 16, false, 'T', true, 1187, 0, 'b', ',', ["interval_in", "interval_out", "interval_recv", "interval_send"], 'd', 'p', 0, "intervaltypmodin", ""),
    row!(1266, "timetz", "time with time zone", 12, false, 'D', false, 1270, 0, 'b', ',', ["timetz_in", "timetz_out", "timetz_recv", "timetz_send"], 'd', 'p', 0, "timetztypmodin", ""),
    row!(1560, "bit", "bit", -1, false, 'V', false, 1561, 0, 'b', ',', ["bit_in", "bit_out", "bit_recv", "bit_send"], 'i', 'x', 0, "bittypmodin", ""),
    row!(1562, "varbit", "bit varying", -1, false, 'V', true, 1563, 0, 'b', ',', ["varbit_in", "varbit_out", "varbit_recv", "varbit_send"], 'i', 'x', 0, "varbittypmodin", ""),
    row!(1700, "numeric", "numeric", -1, false, 'N', false, 1231, 0, 'b', ',', ["numeric_in", "numeric_out", "numeric_recv", "numeric_send"], 'i', 'm', 0, "numerictypmodin", ""),
    row!(1790, "refcursor", "refcursor", -1, false, 'U', false, 2201, 0, 'b', ',', ["textin", "textout", "textrecv", "textsend"], 'i', 'x', 0, "", ""),
    row!(2202, "regprocedure", "regprocedure", 4, true, 'N', false, 2207, 0, 'b', ',', ["regprocedurein", "regprocedureout", "regprocedurerecv", "regproceduresend"], 'i', 'p', 0, "", ""),
    row!(2203, "regoper", "regoper", 4, true, 'N', false, 2208, 0, 'b', ',', ["regoperin", "regoperout", "regoperrecv", "regopersend"], 'i', 'p', 0, "", ""),
    row!(2204, "regoperator", "regoperator", 4, true, 'N', false, 2209, 0, 'b', ',', ["regoperatorin", "regoperatorout", "regoperatorrecv", "regoperatorsend"], 'i', 'p', 0, "", ""),
    row!(2205, "regclass", "regclass", 4, true, 'N', false, 2210, 0, 'b', ',', ["regclassin", "regclassout", "regclassrecv", "regclasssend"], 'i', 'p', 0, "", ""),
    row!(2206, "regtype", "regtype", 4, true, 'N', false, 2211, 0, 'b', ',', ["regtypein", "regtypeout", "regtyperecv", "regtypesend"], 'i', 'p', 0, "", ""),
    row!(2249, "record", "record", -1, false, 'P', false, 2287, 0, 'p', ',', ["record_in", "record_out", "record_recv", "record_send"], 'd', 'x', 0, "", ""),
    row!(2275, "cstring", "cstring", -2, false, 'P', false, 1263, 0, 'p', ',', ["cstring_in", "cstring_out", "cstring_recv", "cstring_send"], 'c', 'p', 0, "", ""),
    row!(2276, "any", "\"any\"", 4, true, 'P', false, 0, 0, 'p', ',', ["any_in", "any_out", "-", "-"], 'i', 'p', 0, "", ""),
    row!(2277, "anyarray", "anyarray", -1, false, 'P', false, 0, 0, 'p', ',', ["anyarray_in", "anyarray_out", "anyarray_recv", "anyarray_send"], 'd', 'x', 0, "", ""),
    row!(2278, "void", "void", 4, true, 'P', false, 0, 0, 'p', ',', ["void_in", "void_out", "void_recv", "void_send"], 'i', 'p', 0, "", ""),
    row!(2279, "trigger", "trigger", 4, true, 'P', false, 0, 0, 'p', ',', ["trigger_in", "trigger_out", "-", "-"], 'i', 'p', 0, "", ""),
    row!(2280, "language_handler", "language_handler", 4, true, 'P', false, 0, 0, 'p', ',', ["language_handler_in", "language_handler_out", "-", "-"], 'i', 'p', 0, "", ""),
    row!(2281, "internal", "internal", 8, true, 'P', false, 0, 0, 'p', ',', ["internal_in", "internal_out", "-", "-"], 'd', 'p', 0, "", ""),
    row!(2283, "anyelement", "anyelement", 4, true, 'P', false, 0, 0, 'p', ',', ["anyelement_in", "anyelement_out", "-", "-"], 'i', 'p', 0, "", ""),
    row!(2287, "_record", "record[]", -1, false, 'P', false, 0, 2249, 'p', ',', ["array_in", "array_out", "array_recv", "array_send"], 'd', 'x', 0, "", "array_subscript_handler"),
    row!(2776, "anynonarray", "anynonarray", 4, true, 'P', false, 0, 0, 'p', ',', ["anynonarray_in", "anynonarray_out", "-", "-"], 'i', 'p', 0, "", ""),
    row!(2950, "uuid", "uuid", 16, false, 'U', false, 2951, 0, 'b', ',', ["uuid_in", "uuid_out", "uuid_recv", "uuid_send"], 'c', 'p', 0, "", ""),
    row!(2970, "txid_snapshot", "txid_snapshot", -1, false, 'U', false, 2949, 0, 'b', ',', ["txid_snapshot_in", "txid_snapshot_out", "txid_snapshot_recv", "txid_snapshot_send"], 'd', 'x', 0, "", ""),
    row!(3115, "fdw_handler", "fdw_handler", 4, true, 'P', false, 0, 0, 'p', ',', ["fdw_handler_in", "fdw_handler_out", "-", "-"], 'i', 'p', 0, "", ""),
    row!(3220, "pg_lsn", "pg_lsn", 8, true, 'U', false, 3221, 0, 'b', ',', ["pg_lsn_in", "pg_lsn_out", "pg_lsn_recv", "pg_lsn_send"], 'd', 'p', 0, "", ""),
    row!(3310, "tsm_handler", "tsm_handler", 4, true, 'P', false, 0, 0, 'p', ',', ["tsm_handler_in", "tsm_handler_out", "-", "-"], 'i', 'p', 0, "", ""),
    row!(3361, "pg_ndistinct", "pg_ndistinct", -1, false, 'Z', false, 0, 0, 'b', ',', ["pg_ndistinct_in", "pg_ndistinct_out", "pg_ndistinct_recv", "pg_ndistinct_send"], 'i', 'x', 100, "", ""),
    row!(3402, "pg_dependencies", "pg_dependencies", -1, false, 'Z', false, 0, 0, 'b', ',', ["pg_dependencies_in", "pg_dependencies_out", "pg_dependencies_recv", "pg_dependencies_send"], 'i', 'x', 100, "", ""),
    row!(3500, "anyenum", "anyenum", 4, true, 'P', false, 0, 0, 'p', ',', ["anyenum_in", "anyenum_out", "-", "-"], 'i', 'p', 0, "", ""),
    row!(3614, "tsvector", "tsvector", -1, false, 'U', false, 3643, 0, 'b', ',', ["tsvectorin", "tsvectorout", "tsvectorrecv", "tsvectorsend"], 'i', 'x', 0, "", ""),
    row!(3615, "tsquery", "tsquery", -1, false, 'U', false, 3645, 0, 'b', ',', ["tsqueryin", "tsqueryout", "tsqueryrecv", "tsquerysend"], 'i', 'p', 0, "", ""),
    row!(3642, "gtsvector", "gtsvector", -1, false, 'U', false, 3644, 0, 'b', ',', ["gtsvectorin", "gtsvectorout", "-", "-"], 'i', 'p', 0, "", ""),
    row!(3734, "regconfig", "regconfig", 4, true, 'N', false, 3735, 0, 'b', ',', ["regconfigin", "regconfigout", "regconfigrecv", "regconfigsend"], 'i', 'p', 0, "", ""),
    row!(3769, "regdictionary", "regdictionary", 4, true, 'N', false, 3770, 0, 'b', ',', ["regdictionaryin", "regdictionaryout", "regdictionaryrecv", "regdictionarysend"], 'i', 'p', 0, "", ""),
    row!(3802, "jsonb", "jsonb", -1, false, 'U', false, 3807, 0, 'b', ',', ["jsonb_in", "jsonb_out", "jsonb_recv", "jsonb_send"], 'i', 'x', 0, "", "jsonb_subscript_handler"),
    row!(3831, "anyrange", "anyrange", -1, false, 'P', false, 0, 0, 'p', ',', ["anyrange_in", "anyrange_out", "-", "-"], 'd', 'x', 0, "", ""),
    row!(3838, "event_trigger", "event_trigger", 4, true, 'P', false, 0, 0, 'p', ',', ["event_trigger_in", "event_trigger_out", "-", "-"], 'i', 'p', 0, "", ""),
    row!(3904, "int4range", "int4range", -1, false, 'R', false, 3905, 0, 'r', ',', ["range_in", "range_out", "range_recv", "range_send"], 'i', 'x', 0, "", ""),
    row!(3906, "numrange", "numrange", -1, false, 'R', false, 3907, 0, 'r', ',', ["range_in", "range_out", "range_recv", "range_send"], 'i', 'x', 0, "", ""),
    row!(3908, "tsrange", "tsrange", -1, false, 'R', false, 3909, 0, 'r', ',', ["range_in", "range_out", "range_recv", "range_send"], 'd', 'x', 0, "", ""),
    row!(3910, "tstzrange", "tstzrange", -1, false, 'R', false, 3911, 0, 'r', ',', ["range_in", "range_out", "range_recv", "range_send"], 'd', 'x', 0, "", ""),
    row!(3912, "daterange", "daterange", -1, false, 'R', false, 3913, 0, 'r', ',', ["range_in", "range_out", "range_recv", "range_send"], 'i', 'x', 0, "", ""),
    row!(3926, "int8range", "int8range", -1, false, 'R', false, 3927, 0, 'r', ',', ["range_in", "range_out", "range_recv", "range_send"], 'd', 'x', 0, "", ""),
    row!(4072, "jsonpath", "jsonpath", -1, false, 'U', false, 4073, 0, 'b', ',', ["jsonpath_in", "jsonpath_out", "jsonpath_recv", "jsonpath_send"], 'i', 'x', 0, "", ""),
    row!(4089, "regnamespace", "regnamespace", 4, true, 'N', false, 4090, 0, 'b', ',', ["regnamespacein", "regnamespaceout", "regnamespacerecv", "regnamespacesend"], 'i', 'p', 0, "", ""),
    row!(4096, "regrole", "regrole", 4, true, 'N', false, 4097, 0, 'b', ',', ["regrolein", "regroleout", "regrolerecv", "regrolesend"], 'i', 'p', 0, "", ""),
    row!(4191, "regcollation", "regcollation", 4, true, 'N', false, 4192, 0, 'b', ',', ["regcollationin", "regcollationout", "regcollationrecv", "regcollationsend"], 'i', 'p', 0, "", ""),
    row!(4451, "int4multirange", "int4multirange", -1, false, 'R', false, 6150, 0, 'm', ',', ["multirange_in", "multirange_out", "multirange_recv", "multirange_send"], 'i', 'x', 0, "", ""),
    row!(4532, "nummultirange", "nummultirange", -1, false, 'R', false, 6151, 0, 'm', ',', ["multirange_in", "multirange_out", "multirange_recv", "multirange_send"], 'i', 'x', 0, "", ""),
    row!(4533, "tsmultirange", "tsmultirange", -1, false, 'R', false, 6152, 0, 'm', ',', ["multirange_in", "multirange_out", "multirange_recv", "multirange_send"], 'd', 'x', 0, "", ""),
    row!(4534, "tstzmultirange", "tstzmultirange", -1, false, 'R', false, 6153, 0, 'm', ',', ["multirange_in", "multirange_out", "multirange_recv", "multirange_send"], 'd', 'x', 0, "", ""),
    row!(4535, "datemultirange", "datemultirange", -1, false, 'R', false, 6155, 0, 'm', ',', ["multirange_in", "multirange_out", "multirange_recv", "multirange_send"], 'i', 'x', 0, "", ""),
    row!(4536, "int8multirange", "int8multirange", -1, false, 'R', false, 6157, 0, 'm', ',', ["multirange_in", "multirange_out", "multirange_recv", "multirange_send"], 'd', 'x', 0, "", ""),
    row!(4537, "anymultirange", "anymultirange", -1, false, 'P', false, 0, 0, 'p', ',', ["anymultirange_in", "anymultirange_out", "-", "-"], 'd', 'x', 0, "", ""),
    row!(4538, "anycompatiblemultirange", "anycompatiblemultirange", -1, false, 'P', false, 0, 0, 'p', ',', ["anycompatiblemultirange_in", "anycompatiblemultirange_out", "-", "-"], 'd', 'x', 0, "", ""),
    row!(4600, "pg_brin_bloom_summary", "pg_brin_bloom_summary", -1, false, 'Z', false, 0, 0, 'b', ',', ["brin_bloom_summary_in", "brin_bloom_summary_out", "brin_bloom_summary_recv", "brin_bloom_summary_send"], 'i', 'x', 100, "", ""),
    row!(4601, "pg_brin_minmax_multi_summary", "pg_brin_minmax_multi_summary", -1, false, 'Z', false, 0, 0, 'b', ',', ["brin_minmax_multi_summary_in", "brin_minmax_multi_summary_out", "brin_minmax_multi_summary_recv", "brin_minmax_multi_summary_send"], 'i', 'x', 100, "", ""),
    row!(5017, "pg_mcv_list", "pg_mcv_list", -1, false, 'Z', false, 0, 0, 'b', ',', ["pg_mcv_list_in", "pg_mcv_list_out", "pg_mcv_list_recv", "pg_mcv_list_send"], 'i', 'x', 100, "", ""),
    row!(5038, "pg_snapshot", "pg_snapshot", -1, false, 'U', false, 5039, 0, 'b', ',', ["pg_snapshot_in", "pg_snapshot_out", "pg_snapshot_recv", "pg_snapshot_send"], 'd', 'x', 0, "", ""),
    row!(5069, "xid8", "xid8", 8, true, 'U', false, 271, 0, 'b', ',', ["xid8in", "xid8out", "xid8recv", "xid8send"], 'd', 'p', 0, "", ""),
    row!(5077, "anycompatible", "anycompatible", 4, true, 'P', false, 0, 0, 'p', ',', ["anycompatible_in", "anycompatible_out", "-", "-"], 'i', 'p', 0, "", ""),
    row!(5078, "anycompatiblearray", "anycompatiblearray", -1, false, 'P', false, 0, 0, 'p', ',', ["anycompatiblearray_in", "anycompatiblearray_out", "anycompatiblearray_recv", "anycompatiblearray_send"], 'd', 'x', 0, "", ""),
    row!(5079, "anycompatiblenonarray", "anycompatiblenonarray", 4, true, 'P', false, 0, 0, 'p', ',', ["anycompatiblenonarray_in", "anycompatiblenonarray_out", "-", "-"], 'i', 'p', 0, "", ""),
    row!(5080, "anycompatiblerange", "anycompatiblerange", -1, false, 'P', false, 0, 0, 'p', ',', ["anycompatiblerange_in", "anycompatiblerange_out", "-", "-"], 'd', 'x', 0, "", ""),
];
