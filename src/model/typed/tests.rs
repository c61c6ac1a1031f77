use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::*;
use crate::{DateTime, EdmType, EntityBuilder, Key, Rejected, Rule, Value};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Order {
    partition_key: String,
    #[serde(rename = "RowKey")]
    id: String,
    timestamp: Option<DateTime>,
    quantity: i32,
    big: i64,
    price: f64,
    paid: bool,
    note: Option<String>,
    state: State,
    shipped: DateTime,
    returned: Option<DateTime>,
    #[serde(with = "crate::guid")]
    reference: Uuid,
    #[serde(with = "crate::guid", default)]
    other_reference: Option<Uuid>,
    #[serde(with = "crate::binary")]
    raw: Vec<u8>,
    #[serde(with = "crate::binary", default)]
    other_raw: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum State {
    Open,
    Closed,
}

fn order() -> Order {
    Order {
        partition_key: "eu".into(),
        id: "0001".into(),
        timestamp: Some(DateTime::from_ticks(17_145_504_001_234_567)),
        quantity: -3,
        big: 9_007_199_254_740_993,
        price: 1.0,
        paid: true,
        note: None,
        state: State::Closed,
        shipped: DateTime::MAX,
        returned: Some(DateTime::MIN),
        reference: Uuid::from_u128(0x0f8f_ad5b_d9cb_469f_a165_7086_7728_950e),
        other_reference: None,
        raw: vec![0, 1, 254, 255],
        other_raw: None,
    }
}

fn entity(property: &str, value: impl Into<Value>) -> Entity {
    EntityBuilder::new(Key::new("pk", "rk")).property(property, value).build().expect("valid")
}

/// A struct with one property, `P`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct One<T> {
    partition_key: &'static str,
    row_key: &'static str,
    p: T,
}

fn write<T: Serialize>(p: T) -> Result<Value, TypedError> {
    let entity = Entity::from_serde(&One { partition_key: "pk", row_key: "rk", p })?;
    assert_eq!((entity.key.partition.as_str(), entity.key.row.as_str()), ("pk", "rk"));
    Ok(entity.get("P").cloned().unwrap_or(Value::from("absent")))
}

/// The property alone: keys may be left out when reading.
#[derive(Debug, PartialEq, Deserialize)]
struct Read<T> {
    #[serde(rename = "P")]
    p: T,
}

fn read<T: DeserializeOwned>(value: impl Into<Value>) -> Result<T, TypedError> {
    entity("P", value).to::<Read<T>>().map(|read| read.p)
}

fn message<T: std::fmt::Debug>(result: Result<T, TypedError>) -> String {
    result.expect_err("does not fit").to_string()
}

#[test]
fn a_struct_makes_an_entity_with_the_types_of_its_fields() {
    let entity = Entity::from_serde(&order()).expect("fits");
    let expected = EntityBuilder::new(Key::new("eu", "0001"))
        .timestamp(DateTime::from_ticks(17_145_504_001_234_567))
        .property("Quantity", -3)
        .property("Big", 9_007_199_254_740_993_i64)
        .property("Price", 1.0)
        .property("Paid", true)
        .property("State", "Closed")
        .property("Shipped", DateTime::MAX)
        .property("Returned", DateTime::MIN)
        .property("Reference", Uuid::from_u128(0x0f8f_ad5b_d9cb_469f_a165_7086_7728_950e))
        .property("Raw", vec![0, 1, 254, 255])
        .build()
        .expect("valid");
    assert_eq!(entity, expected);
}

#[test]
fn what_is_written_reads_back() {
    let bare = order();
    let full = Order {
        note: Some(String::new()),
        returned: None,
        other_reference: Some(Uuid::nil()),
        other_raw: Some(Vec::new()),
        state: State::Open,
        ..order()
    };
    for order in [bare, full] {
        assert_eq!(Entity::from_serde(&order).and_then(|entity| entity.to::<Order>()), Ok(order));
    }
}

#[test]
fn the_same_struct_passes_through_json() {
    let json = serde_json::to_value(order()).expect("serialises");
    assert_eq!(json["Shipped"], "9999-12-31T23:59:59.9999999Z");
    assert_eq!(json["Reference"], "0f8fad5b-d9cb-469f-a165-70867728950e");
    assert_eq!(serde_json::from_value::<Order>(json.clone()).expect("reads back"), order());
    assert_eq!(serde_json::from_str::<Order>(&json.to_string()).expect("reads back"), order());
    let error = serde_json::from_str::<DateTime>("\"2023-02-29T00:00:00Z\"").expect_err("no such day").to_string();
    assert!(error.contains("2023-02-29T00:00:00Z") && error.contains("no such day"), "{error}");
    assert!(serde_json::from_str::<DateTime>("true").is_err());
}

#[test]
fn rust_types_have_a_property_type_each() {
    assert_eq!(write(true), Ok(Value::Boolean(true)));
    assert_eq!(write(-1_i8), Ok(Value::Int32(-1)));
    assert_eq!(write(-1_i16), Ok(Value::Int32(-1)));
    assert_eq!(write(-1_i32), Ok(Value::Int32(-1)));
    assert_eq!(write(255_u8), Ok(Value::Int32(255)));
    assert_eq!(write(65_535_u16), Ok(Value::Int32(65_535)));
    assert_eq!(write(-1_i64), Ok(Value::Int64(-1)));
    assert_eq!(write(u32::MAX), Ok(Value::Int64(4_294_967_295)));
    assert_eq!(write(7_u64), Ok(Value::Int64(7)));
    assert_eq!(write(7_usize), Ok(Value::Int64(7)));
    assert_eq!(write(i128::from(i64::MIN)), Ok(Value::Int64(i64::MIN)));
    assert_eq!(write(0.5_f32), Ok(Value::Double(0.5)));
    assert_eq!(write(f64::NAN), Ok(Value::Double(f64::NAN)));
    assert_eq!(write('x'), Ok(Value::from("x")));
    assert_eq!(write("x"), Ok(Value::from("x")));
    assert_eq!(write(State::Open), Ok(Value::from("Open")));
    assert_eq!(write(Some(Some(1))), Ok(Value::Int32(1)));
    assert_eq!(write(None::<i32>), Ok(Value::from("absent")));
    assert_eq!(write(()), Ok(Value::from("absent")));
}

#[test]
fn integers_beyond_int64_are_refused() {
    assert_eq!(write(i64::MAX as u64), Ok(Value::Int64(i64::MAX)));
    let above = i64::MAX as u64 + 1;
    assert_eq!(message(write(above)), "property P is 9223372036854775808, which does not fit an Int64");
    assert_eq!(message(write(u128::from(above))), "property P is 9223372036854775808, which does not fit an Int64");
    assert_eq!(
        message(write(i128::from(i64::MIN) - 1)),
        "property P is -9223372036854775809, which does not fit an Int64"
    );
}

#[test]
fn nested_fields_are_refused_by_name() {
    let list = " (for bytes, declare it with = \"rowkey::model::binary\")";
    let refused = |kind: &str| format!("field P is {kind}, which no property type holds");
    assert_eq!(message(write(vec![1, 2])), refused("a list") + list);
    assert_eq!(message(write(BTreeMap::from([("a", 1)]))), refused("a map"));
    assert_eq!(message(write(Read1 { a: 1 })), refused("a struct"));
    assert_eq!(message(write((1, 2))), refused("a tuple"));
    assert_eq!(message(write(Ok::<i32, i32>(1))), refused("an enum's variant with data"));
    assert_eq!(message(write(Some(vec!["x"]))), refused("a list") + list);
}

#[derive(Debug, Serialize, Deserialize)]
struct Read1 {
    a: i32,
}

#[test]
fn integers_read_into_wider_fields_only() {
    assert_eq!(read::<i32>(i32::MIN), Ok(i32::MIN));
    assert_eq!(read::<i64>(i32::MIN), Ok(i64::from(i32::MIN)));
    assert_eq!(read::<i64>(i64::MIN), Ok(i64::MIN));
    assert_eq!(read::<i128>(i64::MIN), Ok(i128::from(i64::MIN)));
    assert_eq!(read::<f64>(i32::MAX), Ok(2_147_483_647.0));
    assert_eq!(read::<u32>(4_294_967_295_i64), Ok(u32::MAX));
    assert_eq!(read::<u64>(5), Ok(5));
    assert_eq!(read::<u8>(255), Ok(255));
    assert_eq!(message(read::<i32>(1_i64)), "property P is Int64 and does not fit a field of type Int32 (i32)");
    assert_eq!(message(read::<f64>(1_i64)), "property P is Int64 and does not fit a field of type Double (f64)");
    assert_eq!(message(read::<i64>(1.0)), "property P is Double and does not fit a field of type Int64 (i64)");
    assert_eq!(message(read::<u8>(256)), "property P is 256, which does not fit u8");
    assert_eq!(message(read::<u64>(-1_i64)), "property P is -1, which does not fit u64");
    assert_eq!(message(read::<u32>(4_294_967_296_i64)), "property P is 4294967296, which does not fit u32");
}

#[test]
fn doubles_read_into_floats() {
    assert_eq!(read::<f64>(0.1), Ok(0.1));
    assert_eq!(read::<f32>(0.1), Ok(0.1_f32));
    assert_eq!(read::<f32>(f64::NEG_INFINITY), Ok(f32::NEG_INFINITY));
    assert!(read::<f32>(f64::NAN).expect("fits").is_nan());
    assert_eq!(message(read::<f32>(1e300)), "property P is 1E+300, which does not fit f32");
    assert_eq!(message(read::<f32>(1)), "property P is Int32 and does not fit a field of type Double (f32)");
}

#[test]
fn types_are_not_converted() {
    let does_not_fit =
        |stored: &str, wanted: &str| format!("property P is {stored} and does not fit a field of type {wanted}");
    assert_eq!(message(read::<String>(1)), does_not_fit("Int32", "String"));
    assert_eq!(message(read::<i32>("1")), does_not_fit("String", "Int32 (i32)"));
    assert_eq!(message(read::<bool>("true")), does_not_fit("String", "Boolean"));
    assert_eq!(message(read::<Option<bool>>(1)), does_not_fit("Int32", "Boolean"));
    assert_eq!(message(read::<State>(1)), does_not_fit("Int32", "String (an enum)"));
    assert_eq!(message(read::<DateTime>("2024-05-01T00:00:00Z")), does_not_fit("String", "DateTime"));
    assert_eq!(message(read::<Read1>("x")), does_not_fit("String", "a struct"));
    assert_eq!(message(read::<BTreeMap<String, i32>>("x")), does_not_fit("String", "a map"));
    assert_eq!(message(read::<(i32, i32)>("x")), does_not_fit("String", "a tuple"));
    assert_eq!(message(read::<()>("x")), does_not_fit("String", "nothing"));
    assert_eq!(
        message(read::<String>(Uuid::nil())),
        does_not_fit("Guid", "String") + ": declare it with = \"rowkey::model::guid\""
    );
    assert_eq!(
        message(read::<String>(DateTime::MIN)),
        does_not_fit("DateTime", "String") + ": use rowkey::model::DateTime"
    );
    assert_eq!(
        message(read::<Vec<u8>>(vec![1_u8])),
        does_not_fit("Binary", "a list") + ": declare it with = \"rowkey::model::binary\""
    );
}

#[test]
fn guid_and_binary_fields_want_their_types() {
    let entity = |name: &str, value: Value| {
        let order = Entity::from_serde(&order()).expect("fits");
        let others =
            order.properties().filter(|(other, _)| *other != name).map(|(name, value)| (name.into(), value.clone()));
        Entity::from_parts(order.key.clone(), order.timestamp, others.chain([(name.into(), value)]).collect())
    };
    let text = "0f8fad5b-d9cb-469f-a165-70867728950e";
    for (name, value, wanted) in [
        ("Reference", Value::from(text), "String and does not fit a field of type Guid"),
        ("OtherReference", Value::from(1), "Int32 and does not fit a field of type Guid"),
        ("Raw", Value::from("AAE="), "String and does not fit a field of type Binary"),
        ("OtherRaw", Value::from(1.5), "Double and does not fit a field of type Binary"),
    ] {
        assert_eq!(message(entity(name, value).to::<Order>()), format!("property {name} is {wanted}"));
    }
}

#[test]
fn a_property_the_entity_lacks() {
    assert_eq!(entity("Q", 1).to::<Read<Option<i32>>>(), Ok(Read { p: None }));
    assert_eq!(message(entity("Q", 1).to::<Read<i32>>()), "the entity has no property P, which the type requires");
}

#[test]
fn an_unknown_variant_names_property_and_value() {
    assert_eq!(message(read::<State>("Lost")), "property P: unknown variant `Lost`, expected `Open` or `Closed`");
    assert_eq!(read::<State>("Open"), Ok(State::Open));
    assert_eq!(read::<char>("x"), Ok('x'));
    assert!(message(read::<char>("xy")).starts_with("property P: invalid value"));
}

#[test]
fn a_strict_struct_need_not_list_the_system_properties() {
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        #[serde(rename = "P")]
        p: i32,
    }
    assert_eq!(entity("P", 1).to::<Strict>(), Ok(Strict { p: 1 }));
    let two = EntityBuilder::new(Key::new("pk", "rk")).property("P", 1).property("Q", 1).build().expect("valid");
    assert_eq!(message(two.to::<Strict>()), "unknown field `Q`, expected `P`");
}

#[test]
fn maps_take_and_give_whole_entities() {
    let entity = entity("P", "x");
    let map: BTreeMap<String, serde_json::Value> = entity.to().expect("a map");
    let names: Vec<&str> = map.keys().map(String::as_str).collect();
    assert_eq!(names, ["P", "PartitionKey", "RowKey", "Timestamp"]);
    assert_eq!(map["Timestamp"], "1601-01-01T00:00:00Z");
    let map = BTreeMap::from([("PartitionKey", "pk"), ("RowKey", "rk"), ("P", "x")]);
    assert_eq!(Entity::from_serde(&map), Ok(entity));
    assert_eq!(
        message(Entity::from_serde(&BTreeMap::from([(1, 1)]))),
        "an entity is a struct or a map, not a map whose keys are not text"
    );
}

#[test]
fn flattened_parts_spread_over_the_entity() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Keys {
        #[serde(rename = "PartitionKey")]
        partition: String,
        #[serde(rename = "RowKey")]
        row: String,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Audit {
        at: DateTime,
        #[serde(with = "crate::guid")]
        by: Uuid,
        #[serde(with = "crate::binary")]
        raw: Vec<u8>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Whole {
        #[serde(flatten)]
        keys: Keys,
        age: i32,
        #[serde(flatten)]
        audit: Audit,
    }
    let whole = Whole {
        keys: Keys { partition: "pk".into(), row: "rk".into() },
        age: 1,
        audit: Audit { at: DateTime::MAX, by: Uuid::from_u128(9), raw: vec![1, 2] },
    };
    let entity = Entity::from_serde(&whole).expect("fits");
    let types: Vec<_> = entity.properties().map(|(name, value)| (name, value.edm_type())).collect();
    let expected =
        [("age", EdmType::Int32), ("at", EdmType::DateTime), ("by", EdmType::Guid), ("raw", EdmType::Binary)];
    assert_eq!(types, expected);
    assert_eq!(entity.to::<Whole>(), Ok(whole));
}

#[test]
fn newtypes_are_what_they_hold() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Metres(f64);
    assert_eq!(write(Metres(1.5)), Ok(Value::Double(1.5)));
    assert_eq!(read::<Metres>(1.5), Ok(Metres(1.5)));
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Outer(Order);
    let entity = Entity::from_serde(&Outer(order())).expect("fits");
    assert_eq!(entity.to::<Outer>(), Ok(Outer(order())));
}

#[test]
fn an_entity_needs_its_keys_as_text() {
    let missing = "the type has no field RowKey, or nothing in it, and an entity needs one";
    assert_eq!(message(Entity::from_serde(&BTreeMap::from([("PartitionKey", "pk")]))), missing);
    let none = BTreeMap::from([("PartitionKey", Some("pk")), ("RowKey", None)]);
    assert_eq!(message(Entity::from_serde(&none)), missing);
    let number = BTreeMap::from([("PartitionKey", 1), ("RowKey", 2)]);
    assert_eq!(
        message(Entity::from_serde(&number)),
        "property PartitionKey is String and does not fit a field of type Int32"
    );
    let at = BTreeMap::from([("PartitionKey", "pk"), ("RowKey", "rk"), ("Timestamp", "2024-05-01T00:00:00Z")]);
    assert_eq!(
        message(Entity::from_serde(&at)),
        "property Timestamp is DateTime and does not fit a field of type String: use rowkey::model::DateTime"
    );
}

#[test]
fn keys_and_properties_come_once() {
    #[derive(Serialize)]
    struct Twice<'a> {
        #[serde(rename = "PartitionKey")]
        partition: &'a str,
        #[serde(rename = "RowKey")]
        row: &'a str,
        #[serde(flatten)]
        more: BTreeMap<&'a str, &'a str>,
    }
    let twice = |name| Entity::from_serde(&Twice { partition: "pk", row: "rk", more: BTreeMap::from([(name, "x")]) });
    assert!(twice("P").is_ok());
    assert_eq!(message(twice("RowKey")), "property RowKey: is given twice");
}

#[test]
fn only_structs_and_maps_are_entities() {
    assert_eq!(message(Entity::from_serde(&1)), "an entity is a struct or a map, not a number");
    assert_eq!(message(Entity::from_serde("x")), "an entity is a struct or a map, not text");
    assert_eq!(message(Entity::from_serde(&[1, 2][..])), "an entity is a struct or a map, not a list");
    assert_eq!(message(Entity::from_serde(&None::<Order>)), "an entity is a struct or a map, not nothing");
    assert_eq!(
        message(Entity::from_serde(&Some(State::Open))),
        "an entity is a struct or a map, not an enum's variant"
    );
    assert!(entity("P", 1).to::<i32>().is_err());
    assert!(entity("P", 1).to::<Vec<i32>>().is_err());
}

#[test]
fn rules_of_the_model_hold() {
    let rule = |result: Result<Entity, TypedError>| match result {
        Err(TypedError::Rejected(Rejected { rule, .. })) => rule,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        rule(Entity::from_serde(&BTreeMap::from([("PartitionKey", "a/b"), ("RowKey", "")]))),
        Rule::KeyCharacter
    );
    let named = |name| BTreeMap::from([("PartitionKey", ""), ("RowKey", ""), (name, "x")]);
    assert_eq!(rule(Entity::from_serde(&named("a-b"))), Rule::PropertyName);
    assert_eq!(
        message(write(DateTime::from_ticks(DateTime::MAX.ticks() + 1))),
        "property P: DateTime \"2534023008000000000 ticks\" is not allowed: \
         a DateTime lies between 1601-01-01T00:00:00Z and 9999-12-31T23:59:59.9999999Z"
    );
}
