use super::*;
use crate::types::TYPES;

#[test]
fn every_type_that_arrow_holds_is_told_by_its_field() {
    let mut held = 0;
    for ty in TYPES.iter() {
        if let Some(field) = typed_field("a", ty, true) {
            assert_eq!(type_of(&field).map(|ty| ty.name), Some(ty.name));
            held += 1;
        }
    }
    assert!(held > 80, "{held}");
}

#[test]
fn types_of_plain_arrow() {
    let list = |item| DataType::List(Arc::new(Field::new("item", item, true)));
    for (data_type, name) in [
        (DataType::Null, "text"),
        (DataType::LargeUtf8, "jsonb"),
        (DataType::LargeBinary, "json"),
        (DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)), "text"),
        (DataType::UInt64, "int8"),
        (DataType::FixedSizeBinary(16), "uuid"),
        (DataType::FixedSizeBinary(5), "bytea"),
        (DataType::Timestamp(TimeUnit::Nanosecond, Some("+00:00".into())), "timestamptz"),
        (DataType::Decimal256(70, 3), "numeric"),
        (list(DataType::Int32), "_int4"),
        (list(list(DataType::Int32)), "_int4"),
        (list(list(list(DataType::Utf8View))), "_text"),
        (list(DataType::Struct(Default::default())), "_record"),
        (DataType::Struct(Default::default()), "record"),
    ] {
        assert_eq!(type_of(&Field::new("a", data_type.clone(), true)).map(|ty| ty.name), Some(name), "{data_type}");
    }
    let map = Field::new_map(
        "m",
        "e",
        Field::new("k", DataType::Utf8, false),
        Field::new("v", DataType::Utf8, true),
        false,
        true,
    );
    assert_eq!(type_of(&map), None);
}

#[test]
fn metadata_counts_while_it_fits() {
    let field = field("a", "regclass", false);
    assert_eq!(type_of(&field).map(|ty| ty.name), Some("regclass"));
    let cast = field.with_data_type(DataType::Int64);
    assert_eq!(type_of(&cast).map(|ty| ty.name), Some("int8"));
}
