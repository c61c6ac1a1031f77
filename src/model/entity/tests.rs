use super::*;
use crate::limits::STRING_UTF16_UNITS_MAX;

fn builder() -> EntityBuilder {
    EntityBuilder::new(Key::new("pk", "rk"))
}

fn rejected(builder: EntityBuilder) -> Rejected {
    builder.build().expect_err("breaks a rule")
}

#[test]
fn properties_come_in_the_order_of_their_names() {
    let entity =
        builder().property("b", 1).property("B", true).property("é", "x").property("a", 2_i64).build().expect("valid");
    let names: Vec<&str> = entity.properties().map(|(name, _)| name).collect();
    assert_eq!(names, ["B", "a", "b", "é"]);
    assert_eq!(entity.properties().len(), 4);
    assert_eq!(entity.get("a"), Some(&Value::Int64(2)));
    assert_eq!(entity.get("A"), None);
    assert_eq!(entity.get("PartitionKey"), None);
    assert_eq!(entity.timestamp, DateTime::MIN);
}

#[test]
fn from_parts_sorts_and_checks_nothing() {
    let parts = vec![(Arc::from("not a name"), Value::from(1)), (Arc::from("a"), Value::from("x"))];
    let entity = Entity::from_parts(Key::new("p/p", "r"), DateTime::MAX, parts);
    assert_eq!(entity.get("a"), Some(&Value::from("x")));
    assert_eq!(entity.get("not a name"), Some(&Value::from(1)));
    assert_eq!(entity.timestamp, DateTime::MAX);
}

#[test]
fn a_builder_and_parts_make_the_same_entity() {
    let at = DateTime::from_ticks(5);
    let built = builder().timestamp(at).property("b", 1).property("a", 2).build().expect("valid");
    let parts = vec![(Arc::from("a"), Value::from(2)), (Arc::from("b"), Value::from(1))];
    assert_eq!(built, Entity::from_parts(Key::new("pk", "rk"), at, parts));
}

#[test]
fn keys_names_values_and_the_timestamp_are_checked() {
    assert_eq!(rejected(EntityBuilder::new(Key::new("a/b", ""))).rule, Rule::KeyCharacter);
    assert_eq!(rejected(builder().property("a-b", 1)).rule, Rule::PropertyName);
    assert_eq!(rejected(builder().property("RowKey", "x")).rule, Rule::PropertyNameReserved);
    assert_eq!(rejected(builder().property("a".repeat(256), 1)).rule, Rule::PropertyNameLength);
    let long = rejected(builder().property("Note", "x".repeat(STRING_UTF16_UNITS_MAX + 1)));
    assert_eq!((long.rule, &*long.what), (Rule::StringLength, "property Note"));
    let late = rejected(builder().timestamp(DateTime::from_ticks(DateTime::MAX.ticks() + 1)));
    assert_eq!((late.rule, &*late.what), (Rule::DateTimeRange, "property Timestamp"));
}

#[test]
fn a_property_comes_once() {
    let twice = rejected(builder().property("a", 1).property("b", 1).property("a", 1));
    assert_eq!(twice.rule, Rule::PropertyTwice);
    assert_eq!(
        twice.to_string(),
        "property name \"a\" is not allowed: an entity has a property once, this is given twice"
    );
    assert!(builder().property("a", 1).property("A", 1).build().is_ok());
}

#[test]
fn at_most_252_properties() {
    let with = |count| (0..count).fold(builder(), |builder, number| builder.property(format!("P{number}"), number));
    assert_eq!(with(252).build().map(|entity| entity.properties().len()), Ok(252));
    let rejected = rejected(with(253));
    assert_eq!(rejected.rule, Rule::PropertyCount);
    assert_eq!(
        rejected.to_string(),
        "entity \"pk, rk\" is not allowed: \
         at most 252 properties beside PartitionKey, RowKey and Timestamp, this has 253"
    );
}

#[test]
fn size_follows_the_services_formula() {
    let size = |entity: EntityBuilder| entity.build().expect("valid").size_bytes();
    let base = size(builder());
    assert_eq!(base, 4 + 2 * 4);
    assert_eq!(size(EntityBuilder::new(Key::new("日", "😀"))), 4 + 2 * 3);
    for (value, bytes) in [
        (Value::from(vec![1_u8, 2, 3]), 7),
        (Value::from(true), 1),
        (Value::from(DateTime::MIN), 8),
        (Value::from(1.5), 8),
        (Value::from(uuid::Uuid::nil()), 16),
        (Value::from(1), 4),
        (Value::from(1_i64), 8),
        (Value::from("ab"), 8),
        (Value::from("é😀"), 10),
        (Value::from(""), 4),
    ] {
        let edm_type = value.edm_type();
        assert_eq!(size(builder().property("Äge", value)), base + 8 + 2 * 3 + bytes, "{edm_type}");
    }
}

#[test]
fn an_entity_holds_one_mebibyte() {
    // 15 Binaries of 64 KiB with their overhead, and one that fills up the rest.
    let with = |last: usize| {
        let full =
            (0..15).fold(builder(), |builder, number| builder.property(format!("P{number:02}"), vec![0_u8; 65_536]));
        full.property("Rest", vec![0_u8; last])
    };
    let empty = with(0).build().expect("valid").size_bytes();
    assert_eq!(empty, 12 + 15 * (8 + 6 + 4 + 65_536) + 8 + 8 + 4);
    let room = ENTITY_BYTES_MAX - empty;
    assert_eq!(with(room).build().map(|entity| entity.size_bytes()), Ok(1_048_576));
    let rejected = rejected(with(room + 1));
    assert_eq!(rejected.rule, Rule::EntitySize);
    assert_eq!(
        rejected.to_string(),
        "entity \"pk, rk\" is not allowed: an entity holds at most 1048576 bytes, this has 1048577"
    );
}

#[test]
fn the_etag_is_the_timestamp() {
    let at = DateTime::parse("2020-07-24T14:34:24.0550534Z").expect("a date");
    let entity = builder().timestamp(at).build().expect("valid");
    assert_eq!(entity.etag(), "W/\"datetime'2020-07-24T14%3A34%3A24.0550534Z'\"");
    let at = DateTime::parse("2020-07-24T14:34:00.5000000Z").expect("a date");
    assert_eq!(
        Entity::from_parts(Key::new("", ""), at, Vec::new()).etag(),
        "W/\"datetime'2020-07-24T14%3A34%3A00.5Z'\""
    );
}
