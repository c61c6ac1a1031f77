//! The grammar, its errors, and which keys filters can match.

use rowkey_model::{DateTime, Entity, EntityBuilder, Key, KeyRange, KeySet, Value};

use super::{Filter, FilterError, FilterKeys};

fn entity() -> Entity {
    let at = DateTime::parse("2020-01-02T03:04:05.1234567Z").unwrap();
    EntityBuilder::new(Key::new("p", "r"))
        .timestamp(at)
        .property("Text", "it's")
        .property("Empty", "")
        .property("Int", 3)
        .property("Long", 5_000_000_000_i64)
        .property("Double", 1.5)
        .property("Yes", true)
        .property("No", false)
        .property("At", at)
        .property("Id", uuid::Uuid::from_u128(0x0d39_1d16_0000_0000_0000_0000_0000_0001))
        .property("Bytes", vec![0x0a, 0x1b])
        .property("名前", "x")
        .build()
        .unwrap()
}

#[track_caller]
fn holds(filter: &str) -> bool {
    Filter::parse(filter).unwrap_or_else(|error| panic!("{filter}: {error}")).matches(&entity())
}

#[test]
fn literals_of_every_type() {
    for filter in [
        "",
        "  ",
        "Text eq 'it''s'",
        "Empty eq ''",
        "Int eq 3",
        "Int gt -5",
        "Long eq 5000000000L",
        "Long eq 5000000000",
        "Long eq 5000000000l",
        "Double eq 1.5",
        "Double eq 1.5D",
        "Double eq 15e-1",
        "Double lt 1.2E+3",
        "Double lt 2d",
        "Yes eq true",
        "No eq False",
        "At eq datetime'2020-01-02T03:04:05.1234567Z'",
        "Timestamp ge datetime'2020-01-02T04:04:05.1234567+01:00'",
        "Id eq guid'0D391D16-0000-0000-0000-000000000001'",
        "Bytes eq X'0A1b'",
        "Bytes eq x'0a1b' and Bytes eq binary'0a1b'",
        "名前 eq 'x'",
        "3 eq Int and 4 gt Int and 'it''s' eq Text",
    ] {
        assert!(holds(filter), "{filter}");
    }
}

#[test]
fn logic_and_precedence() {
    for (filter, wanted) in [
        ("Yes", true),
        ("No", false),
        ("Text", false),
        ("Missing", false),
        ("not No", true),
        ("not Missing", true),
        ("Missing ne 1", false),
        ("not (Missing eq 1)", true),
        ("not Int eq 4", true),
        ("not not Yes", true),
        ("true", true),
        ("false or Yes", true),
        ("Yes or No and No", true),
        ("(Yes or No) and No", false),
        ("(Int eq 3)and(Yes)or(No)", true),
        ("(Int eq 3L)and(Yes)", false),
        ("not(Int eq 3)", false),
        ("PartitionKey eq 'p' and RowKey ge 'r' and RowKey lt 's'", true),
        ("PartitionKey eq 'P'", false),
        ("RowKey lt 5", true),
        ("Int eq '3' or Int gt '3'", false),
        ("Int lt '3' and Int ne '3'", true),
    ] {
        assert_eq!(holds(filter), wanted, "{filter}");
    }
}

#[track_caller]
fn refused(filter: &str) -> FilterError {
    Filter::parse(filter).expect_err(filter)
}

#[test]
fn errors_are_those_of_the_service() {
    let message = |filter: &str| refused(filter).to_string();
    assert_eq!(message("aaa bbb ccc"), "Syntax error at position 7 in 'aaa bbb ccc'.");
    assert_eq!(message("é bbb"), "Syntax error at position 5 in 'é bbb'.");
    assert_eq!(message("a eq null"), "One of the request inputs is not valid.");
    assert_eq!(message("null ne a"), message("a eq null"));
    assert_eq!(
        message("a lt null"),
        "The operator 'LessThan' is not supported for the 'null' literal; only equality checks are supported."
    );
    for filter in [
        "1 eq 2",
        "a eq b",
        "startswith(Name,'a')",
        "substringof('a',Name) eq true",
        "not endswith(Name, 'a')",
        "tolower(Name) eq 'a'",
        "a add 1 gt 5",
        "a gt 5 sub 1",
        "a in ('x','y')",
        "(a mod 2) eq 0",
    ] {
        assert_eq!(refused(filter), FilterError::NotImplemented, "{filter}");
    }
    for filter in [
        "a eq",
        "eq 1",
        "a eq 'x",
        "(a eq 1",
        "a eq 1)",
        "a eq 1 and",
        "and",
        "or a",
        "not",
        "a = 1",
        "a eq 1x",
        "a eq 1.5L",
        "a eq 99999999999999999999L",
        "a eq 1e999",
        "a eq -",
        "a eq .5",
        "a eq 1.",
        "a eq datetime'x'",
        "a eq datetime'10000-01-01T00:00:00Z'",
        "a eq guid'1'",
        "a eq X'0'",
        "a eq X'0g'",
        "a eq X'éé'",
        "a eq t'x'",
        "'x'",
        "3",
        "null",
        "a eq 1 b eq 2",
        "a EQ 1",
        "a/b eq 1",
        "a eq 1,2",
        "()",
        "a-b eq 1",
        "\u{0}",
        "'",
        "a eq 5LL",
    ] {
        assert!(matches!(refused(filter), FilterError::Syntax { .. }), "{filter}: {:?}", refused(filter));
    }
}

#[test]
fn depth_and_size_are_bounded() {
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Filter::parse(&nested(200)).is_ok());
    for filter in [nested(201), nested(100_000), "not ".repeat(50_000) + "a", "(".repeat(50_000)] {
        assert!(matches!(refused(&filter), FilterError::TooLarge { .. }));
    }
    let many = |count: usize| vec!["a eq 1"; count].join(" or ");
    assert!(Filter::parse(&many(10_000)).is_ok());
    assert!(matches!(refused(&many(10_001)), FilterError::TooLarge { .. }));
    let pairs = |count: usize| {
        let points = (0..count).map(|at| format!("(PartitionKey eq '{at}' and RowKey eq '{at}')"));
        Filter::parse(&points.collect::<Vec<_>>().join(" or ")).unwrap().keys()
    };
    assert_eq!((pairs(5000).keys.ranges().len(), pairs(5000).are_exact), (5000, true));
    let column = |key: &str| (0..4000).map(|at| format!("{key} eq '{at}'")).collect::<Vec<_>>().join(" or ");
    let product = Filter::parse(&format!("({}) and ({})", column("PartitionKey"), column("RowKey"))).unwrap().keys();
    assert!(!product.are_exact && product.keys.ranges().len() <= 10_000);
}

#[track_caller]
fn keys(filter: &str) -> FilterKeys {
    Filter::parse(filter).unwrap_or_else(|error| panic!("{filter}: {error}")).keys()
}

#[test]
fn keys_are_exact_where_a_filter_speaks_of_keys_alone() {
    let exact = |ranges: &[KeyRange]| FilterKeys { keys: KeySet::from_ranges(ranges.iter().cloned()), are_exact: true };
    let point = |partition: &str, row: &str| KeyRange::point(Key::new(partition, row));
    assert_eq!(keys(""), exact(&[KeyRange::all()]));
    assert_eq!(keys("false"), exact(&[]));
    assert_eq!(keys("PartitionKey eq 'p' and RowKey eq 'r'"), exact(&[point("p", "r")]));
    assert_eq!(
        keys("RowKey eq 'r' and (PartitionKey eq 'q' or PartitionKey eq 'p')"),
        exact(&[point("p", "r"), point("q", "r")])
    );
    assert_eq!(keys("PartitionKey eq 'p'"), exact(&[KeyRange::partition("p")]));
    assert_eq!(keys("not (PartitionKey ne 'p') and not (RowKey ne '')"), exact(&[point("p", "")]));
    assert_eq!(keys("PartitionKey eq 'p' and PartitionKey eq 'q'"), exact(&[]));
    assert_eq!(keys("PartitionKey eq 'p' and RowKey lt 5"), exact(&[KeyRange::partition("p")]));
    assert_eq!(keys("PartitionKey gt 5"), exact(&[]));
}

#[test]
fn other_properties_leave_a_superset() {
    let partition = KeySet::from(KeyRange::partition("p"));
    assert_eq!(keys("PartitionKey eq 'p' and Age gt 5"), FilterKeys { keys: partition.clone(), are_exact: false });
    assert_eq!(keys("PartitionKey eq 'p' and not (Age gt 5)").keys, partition);
    assert_eq!(keys("PartitionKey eq 'p' and Timestamp gt datetime'2020-01-01T00:00:00Z'").keys, partition);
    assert!(keys("PartitionKey eq 'p' or Age gt 5").keys.is_all());
    assert!(keys("not (PartitionKey ne 'p' or Age gt 5)").keys == partition);
    // No list of ranges holds the keys of one RowKey and no others.
    assert_eq!(keys("RowKey eq 'r'"), FilterKeys { keys: KeySet::all(), are_exact: false });
    assert_eq!(keys("Age"), FilterKeys { keys: KeySet::all(), are_exact: false });
}

#[test]
fn not_a_number_is_only_unequal() {
    let entity = EntityBuilder::new(Key::new("p", "r")).property("D", f64::NAN).build().unwrap();
    for (operator, wanted) in [("eq", false), ("ne", true), ("lt", false), ("le", false), ("gt", false), ("ge", false)]
    {
        assert_eq!(Filter::parse(&format!("D {operator} 1.0")).unwrap().matches(&entity), wanted, "{operator}");
    }
    assert_eq!(entity.get("D").map(Value::edm_type), Some(rowkey_model::EdmType::Double));
}
