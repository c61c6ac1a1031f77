use arrow::array::Array;

use super::*;
use crate::types::{type_by_name, type_of};

#[test]
fn nulls_and_values_have_the_type_asked_for() {
    for name in [
        "bool",
        "int4",
        "text",
        "uuid",
        "timestamptz",
        "numeric",
        "_int4",
        "_text",
        "oidvector",
        "regclass",
        "interval",
    ] {
        let ty = type_by_name(name).unwrap();
        let array = SqlValue::Null.to_array(ty).unwrap();
        assert_eq!((array.len(), array.null_count()), (1, 1), "{name}");
        let field = typed_field("a", ty, true).unwrap().with_data_type(array.data_type().clone());
        assert_eq!(type_of(&field).map(|ty| ty.name), Some(name));
    }
    assert!(SqlValue::Bool(true).to_array(type_by_name("int4").unwrap()).is_err());
}

#[test]
fn numerics_of_a_column_share_the_largest_scale() {
    let numeric = |unscaled: i64, scale| SqlValue::Numeric { unscaled: i256::from(unscaled), scale };
    let array = array_of(type_by_name("numeric").unwrap(), &[numeric(15, 1), SqlValue::Null, numeric(225, 2)]).unwrap();
    assert_eq!(array.data_type(), &DataType::Decimal128(3, 2));
    let wide = SqlValue::Numeric { unscaled: i256::from_i128(i128::MAX), scale: 0 };
    assert_eq!(wide.to_array(type_by_name("numeric").unwrap()).unwrap().data_type(), &DataType::Decimal256(39, 0));
}
