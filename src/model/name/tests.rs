use std::collections::HashSet;

use super::*;

#[test]
fn account_names() {
    for text in ["abc", "devstoreaccount1", "123", &"a".repeat(24)] {
        assert_eq!(AccountName::parse(text).map(|name| name.to_string()).as_deref(), Ok(text));
    }
    for text in ["", "ab", &"a".repeat(25), "Abc", "a-b", "a_b", "äbc", "abc "] {
        let rejected = AccountName::parse(text).expect_err(text);
        assert_eq!((rejected.rule, &*rejected.value), (Rule::AccountName, text));
    }
    assert_eq!(
        AccountName::parse("My").expect_err("too short").to_string(),
        "account name \"My\" is not allowed: 3 to 24 lower-case letters a-z and digits"
    );
}

#[test]
fn table_names() {
    for text in ["Abc", "abc", "A12", "Orders2024", "Tables1", "MyTables", &"t".repeat(63)] {
        assert_eq!(TableName::parse(text).map(|name| name.to_string()).as_deref(), Ok(text));
    }
    for text in ["", "ab", &"t".repeat(64), "1ab", "my_table", "my-table", "a b", "Ünits", "abé", "$Metrics", "abc\n"]
    {
        let rejected = TableName::parse(text).expect_err(text);
        assert_eq!((rejected.rule, &*rejected.what), (Rule::TableName, "table name"), "{text}");
    }
    assert_eq!(
        TableName::parse(&"t".repeat(64)).expect_err("too long").limit,
        "a letter a-z first, then letters and digits, 3 to 63 together, this has 64"
    );
}

#[test]
fn tables_is_reserved_in_any_case() {
    for text in ["Tables", "tables", "TABLES", "tAbLeS"] {
        let rejected = TableName::parse(text).expect_err(text);
        assert_eq!(rejected.rule, Rule::TableNameReserved);
        assert!(rejected.to_string().starts_with(&format!("table name \"{text}\" is not allowed: ")));
    }
}

#[test]
fn table_names_compare_without_case_and_keep_it() {
    let parse = |text| TableName::parse(text).unwrap_or_else(|rejected| panic!("{rejected}"));
    let (a, b) = (parse("Orders"), parse("oRDERS"));
    assert_eq!(a, b);
    assert_eq!(a.cmp(&b), Ordering::Equal);
    assert_eq!(HashSet::from([a.clone(), b.clone()]).len(), 1);
    assert_eq!((a.as_str(), a.folded()), ("Orders", "orders"));
    assert_eq!((b.as_str(), b.folded()), ("oRDERS", "orders"));
    // 'Z' sorts before 'a' as bytes; the names do not.
    assert!(parse("abc") < parse("ZZZ"));
}

#[test]
fn property_names_of_many_scripts() {
    for name in [
        "A",
        "_",
        "_id",
        "Age",
        "age2",
        "A_b",
        "Größe",
        "Ёлка",
        "日本語",
        "Cafe\u{301}",
        "हिन्दी",
        "ชื่อ",
        "می\u{200c}خواهم",
        "A\u{203f}b",
        "partitionkey",
        "TIMESTAMP",
        "𠮷野",
    ] {
        assert_eq!(validate_property_name(name), Ok(()), "{name}");
    }
}

#[test]
fn property_names_that_are_no_identifiers() {
    for name in [
        "",
        "1a",
        "a-b",
        "a:b",
        "a.b",
        "a b",
        "a/b",
        "a@b",
        "a$",
        "odata.type",
        "Age@odata.type",
        "a'b",
        "a\"b",
        "a\u{0}b",
        "-a",
        "\u{301}a",
        "a\u{a0}b",
        "a\u{2028}",
        "a😀",
        "a、b",
        "a+b",
        "(other)",
        "a\u{37e}",
    ] {
        let rejected = validate_property_name(name).expect_err(name);
        assert_eq!((rejected.rule, &*rejected.what), (Rule::PropertyName, "property name"), "{name:?}");
    }
    assert_eq!(
        validate_property_name("a-b").expect_err("a hyphen").to_string(),
        "property name \"a-b\" is not allowed: a property name holds letters, digits and _ only, this has '-'"
    );
}

#[test]
fn reserved_property_names() {
    for name in ["PartitionKey", "RowKey", "Timestamp"] {
        assert_eq!(validate_property_name(name).expect_err(name).rule, Rule::PropertyNameReserved);
    }
}

#[test]
fn property_names_have_at_most_255_characters() {
    for letter in ["a", "é", "日"] {
        assert_eq!(validate_property_name(&letter.repeat(255)), Ok(()));
        let rejected = validate_property_name(&letter.repeat(256)).expect_err("too long");
        assert_eq!(rejected.rule, Rule::PropertyNameLength);
        assert_eq!(rejected.limit, "at most 255 characters, this has 256");
        assert!(rejected.value.starts_with(letter));
    }
}

#[test]
fn view_names() {
    for text in ["v", "active_employees", "Größen", "a b", "1", &"v".repeat(63)] {
        assert_eq!(ViewName::parse(text).map(|name| name.to_string()).as_deref(), Ok(text));
    }
    for text in ["", "a\0b", &"v".repeat(64), &"ü".repeat(32)] {
        assert_eq!(ViewName::parse(text).expect_err(text).rule, Rule::ViewName);
    }
}
