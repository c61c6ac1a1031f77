//! Names of oids and back.

use super::catalog;

#[test]
fn relations_are_found_both_ways() {
    let oids = catalog().oids();
    assert_eq!(oids.account_bytes("nosuch"), 0);
    assert_eq!(oids.relation_oid("public", "employees"), Some(16_392));
    assert_eq!(oids.relation_oid("public", "Employees_pkey"), Some(16_393));
    assert_eq!(oids.relation_oid("pg_catalog", "pg_class"), Some(1259));
    assert_eq!(oids.relation_oid("public", "Hidden"), None);
    // A table of another account is none of ours, even by its oid.
    assert_eq!(oids.relation(16_384 + 3 * 8), None);
    let employees = oids.relation(16_392).expect("a relation");
    assert_eq!((employees.schema, employees.name.as_str(), employees.kind), ("public", "Employees", 'r'));
    assert_eq!((employees.rows, employees.bytes), (1200, 20_000));
    assert_eq!(oids.relation(16_393).map(|index| index.kind), Some('i'));
    assert_eq!(oids.relation(1259).map(|class| class.name), Some("pg_class".to_owned()));
    assert_eq!(oids.relation_oid("public", "grown"), Some(16_416));
}

#[test]
fn columns_are_numbered_from_one() {
    let oids = catalog().oids();
    assert_eq!(oids.column_numbers(16_392).get("RowKey"), Some(&2));
    assert_eq!(oids.column_name(16_392, 4).as_deref(), Some("LastName"));
    assert_eq!(oids.column_name(1259, 2).as_deref(), Some("relname"));
    assert_eq!((oids.column_numbers(16_392).get("rowkey"), oids.column_name(16_392, 99)), (None, None));
    assert_eq!(oids.columns(16_393), ["PartitionKey", "RowKey"]);
    assert_eq!(oids.column_default(16_392, 3), Some("now()"));
}

#[test]
fn definitions_are_told() {
    let oids = catalog().oids();
    let key = "PRIMARY KEY (\"PartitionKey\", \"RowKey\")";
    assert_eq!(oids.constraint_definition(16_396).as_deref(), Some(key));
    let index =
        "CREATE UNIQUE INDEX \"Employees_pkey\" ON public.\"Employees\" USING btree (\"PartitionKey\", \"RowKey\")";
    assert_eq!(oids.index_definition(16_393, 0).as_deref(), Some(index));
    assert_eq!(oids.index_definition(16_393, 2).as_deref(), Some("\"RowKey\""));
    assert_eq!((oids.index_definition(16_393, 3), oids.index_definition(16_392, 0)), (None, None));
    assert_eq!(oids.default_expression(16_397), Some("now()"));
    assert_eq!(oids.view_definition(16_416).as_deref(), Some("SELECT \"Age\" FROM \"Employees\""));
    assert_eq!(oids.comment(16_392, 1259, 5).as_deref(), Some("in years"));
    assert_eq!((oids.comment(16_392, 1259, 4), oids.comment(16_400, 1259, 0)), (None, None));
}

#[test]
fn types_roles_and_databases() {
    let oids = catalog().oids();
    let int4 = oids.type_facts(1007).expect("a type");
    assert_eq!((int4.name.as_str(), int4.sql_name, int4.element), ("_int4", Some("integer[]"), 23));
    let row = oids.type_facts(16_394).expect("a row type");
    assert_eq!((row.schema, row.name.as_str(), row.sql_name, row.element), ("public", "Employees", None, 0));
    assert_eq!(
        oids.type_facts(16_395).map(|array| (array.name, array.element)),
        Some(("_Employees".to_owned(), 16_394))
    );
    let domain = oids.type_facts(13_234).expect("a domain");
    assert_eq!((domain.schema, domain.name.as_str(), domain.sql_name), ("information_schema", "yes_or_no", None));
    assert_eq!(oids.type_oid("pg_catalog", "timestamptz"), Some(1184));
    assert_eq!(oids.type_oid("public", "events"), Some(16_384 + 16 + 2));
    assert_eq!(oids.type_oid("information_schema", "time_stamp"), Some(13_232));
    assert_eq!(
        (oids.role_name(10).as_deref(), oids.role_oid("alice"), oids.role_oid("bob")),
        (Some("alice"), Some(10), None)
    );
    let database = oids.database_oid("other").expect("a database");
    assert_eq!(oids.database_name(database).as_deref(), Some("other"));
    assert_eq!((oids.namespace_oid("public"), oids.namespace_name(11)), (Some(2200), Some("pg_catalog")));
    assert_eq!((oids.function_oids("int4in"), oids.function_name(42).as_deref()), (vec![42], Some("int4in")));
    assert_eq!(oids.function_types(42), Some((vec![2275], 23)));
}
