use super::*;

#[test]
fn the_table_is_ordered_and_closed() {
    assert!(TYPES.is_sorted_by(|a, b| a.oid < b.oid));
    for ty in TYPES.iter() {
        if let Some(array) = ty.array() {
            assert_eq!(array.element().map(|element| element.oid), Some(ty.oid), "{}", ty.name);
            assert_eq!(array.name, format!("_{}", ty.name));
            assert_eq!(array.sql_name, format!("{}[]", ty.sql_name));
        } else {
            assert_eq!(ty.array_oid, 0, "{}", ty.name);
        }
        assert_eq!(type_by_name(ty.name), Some(ty), "{}", ty.name);
        assert_eq!(type_by_sql_name(ty.sql_name), Some(ty), "{}", ty.sql_name);
    }
}

#[test]
fn names_and_aliases() {
    let oids = [
        ("int", 23),
        ("INTEGER", 23),
        ("bigint[]", 1016),
        ("int4 [ ] []", 1007),
        ("Double   Precision", 701),
        ("character varying", 1043),
        ("timestamp with time zone", 1184),
        ("timestamp", 1114),
        ("pg_catalog.timestamptz", 1184),
        ("\"char\"", 18),
        ("char", 18),
        ("_text", 1009),
        ("name", 19),
    ];
    for (name, oid) in oids {
        assert_eq!(type_by_name(name).map(|ty| ty.oid), Some(oid), "{name}");
    }
    assert_eq!(type_by_sql_name("char").map(|ty| ty.oid), Some(1042));
    for name in ["", "[]", "int4[", "in t", "numeric(10,2)", "int2vector[][1]"] {
        assert_eq!(type_by_name(name), None, "{name}");
    }
}
