//! Reading an entity into a serde type.

use std::slice;
use std::sync::Arc;

use serde::de::value::{BorrowedStrDeserializer, BytesDeserializer, I64Deserializer};
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::error::TypedError;
use rowkey_base::DATE_TIME_NEWTYPE;

use super::fields::GUID;
use super::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use crate::entity::Entity;
use crate::value::{EdmType, Value, ValueRef};

/// A whole entity, as a map of names and values.
pub(super) struct EntityDeserializer<'de> {
    entity: &'de Entity,
}

impl<'de> EntityDeserializer<'de> {
    pub(super) fn new(entity: &'de Entity) -> Self {
        Self { entity }
    }

    /// The key and timestamp that `wanted` admits, then the properties.
    fn fields(self, wanted: impl Fn(&str) -> bool) -> Fields<'de> {
        let Entity { key, timestamp, .. } = self.entity;
        let mut system = [
            Some((PARTITION_KEY, ValueRef::String(&key.partition))),
            Some((ROW_KEY, ValueRef::String(&key.row))),
            Some((TIMESTAMP, ValueRef::DateTime(*timestamp))),
        ];
        for field in &mut system {
            *field = field.take().filter(|(name, _)| wanted(name));
        }
        Fields { system: system.into_iter(), properties: self.entity.parts().iter(), value: None }
    }
}

impl<'de> Deserializer<'de> for EntityDeserializer<'de> {
    type Error = TypedError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        visitor.visit_map(self.fields(|_| true))
    }

    /// A struct that refuses unknown fields need not list the key and timestamp.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypedError> {
        visitor.visit_map(self.fields(|name| fields.contains(&name)))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, TypedError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        visitor.visit_some(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map enum identifier
    }
}

struct Fields<'de> {
    system: std::array::IntoIter<Option<(&'static str, ValueRef<'de>)>, 3>,
    properties: slice::Iter<'de, (Arc<str>, Value)>,
    value: Option<(&'de str, ValueRef<'de>)>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = TypedError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, TypedError> {
        let property = || self.properties.next().map(|(name, value)| (&**name, ValueRef::from(value)));
        let Some((name, part)) = self.system.by_ref().flatten().next().or_else(property) else {
            return Ok(None);
        };
        self.value = Some((name, part));
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, TypedError> {
        let Some((property, part)) = self.value.take() else {
            return Err(serde::de::Error::custom("a value was asked for before its name"));
        };
        seed.deserialize(ValueDeserializer { property, part }).map_err(|error| error.at(property))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.system.len() + self.properties.len())
    }
}

/// A value, and its property for messages.
struct ValueDeserializer<'de> {
    property: &'de str,
    part: ValueRef<'de>,
}

impl ValueDeserializer<'_> {
    fn mismatch<T>(self, wanted: &'static str) -> Result<T, TypedError> {
        let stored = self.part.edm_type();
        let hint = match (stored, wanted) {
            (EdmType::Guid, "String") => ": declare it with = \"rowkey::model::guid\"",
            (EdmType::DateTime, "String") => ": use rowkey::model::DateTime",
            (EdmType::Binary, "a list") => ": declare it with = \"rowkey::model::binary\"",
            _ => "",
        };
        Err(TypedError::Type { property: self.property.to_owned(), stored, wanted, hint })
    }
}

/// Integers read into fields of their own width or a wider one; a field narrower than any property
/// type, or unsigned, takes the values that fit.
macro_rules! integers {
    ($($method:ident $visit:ident $rust:ident: $($variant:ident)|+ as $wanted:literal;)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
            match self.part {
                $(ValueRef::$variant(number) => match $rust::try_from(number) {
                    Ok(number) => visitor.$visit(number),
                    Err(_) => Err(TypedError::Range {
                        property: self.property.to_owned(),
                        value: number.to_string(),
                        wanted: $wanted,
                    }),
                },)+
                _ => self.mismatch($wanted),
            }
        }
    )+};
}

/// What no value is: `fn deserialize_tuple(usize, V) = wanted`.
macro_rules! refuse {
    ($(fn $method:ident($($argument:ty),+) = $wanted:literal;)+) => {$(
        fn $method<V: Visitor<'de>>(self, $(_: $argument),+) -> Result<V::Value, TypedError> {
            self.mismatch($wanted)
        }
    )+};
}

impl<'de> Deserializer<'de> for ValueDeserializer<'de> {
    type Error = TypedError;

    /// For types that take what comes, such as `serde_json::Value`: a DateTime and a Guid are their
    /// text.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        match self.part {
            ValueRef::Binary(bytes) => visitor.visit_borrowed_bytes(bytes),
            ValueRef::Boolean(value) => visitor.visit_bool(value),
            ValueRef::DateTime(at) => visitor.visit_string(at.to_string()),
            ValueRef::Double(value) => visitor.visit_f64(value),
            ValueRef::Guid(guid) => visitor.visit_string(guid.as_hyphenated().to_string()),
            ValueRef::Int32(value) => visitor.visit_i32(value),
            ValueRef::Int64(value) => visitor.visit_i64(value),
            ValueRef::String(text) => visitor.visit_borrowed_str(text),
        }
    }

    integers! {
        deserialize_i8 visit_i8 i8: Int32 as "i8";
        deserialize_i16 visit_i16 i16: Int32 as "i16";
        deserialize_i32 visit_i32 i32: Int32 as "Int32 (i32)";
        deserialize_i64 visit_i64 i64: Int32 | Int64 as "Int64 (i64)";
        deserialize_i128 visit_i128 i128: Int32 | Int64 as "i128";
        deserialize_u8 visit_u8 u8: Int32 as "u8";
        deserialize_u16 visit_u16 u16: Int32 as "u16";
        deserialize_u32 visit_u32 u32: Int32 | Int64 as "u32";
        deserialize_u64 visit_u64 u64: Int32 | Int64 as "u64";
        deserialize_u128 visit_u128 u128: Int32 | Int64 as "u128";
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        match self.part {
            ValueRef::Boolean(value) => visitor.visit_bool(value),
            _ => self.mismatch("Boolean"),
        }
    }

    /// Rounds to the nearest f32; a finite value does not become infinite.
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        match self.part {
            ValueRef::Double(value) if value.is_finite() && (value as f32).is_infinite() => Err(TypedError::Range {
                property: self.property.to_owned(),
                value: Value::Double(value).to_string(),
                wanted: "f32",
            }),
            ValueRef::Double(value) => visitor.visit_f64(value),
            _ => self.mismatch("Double (f32)"),
        }
    }

    /// Every Int32 is a double; not every Int64 is.
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        match self.part {
            ValueRef::Double(value) => visitor.visit_f64(value),
            ValueRef::Int32(value) => visitor.visit_f64(f64::from(value)),
            _ => self.mismatch("Double (f64)"),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        match self.part {
            ValueRef::String(text) => visitor.visit_borrowed_str(text),
            _ => self.mismatch("String"),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        match self.part {
            ValueRef::Binary(bytes) => visitor.visit_borrowed_bytes(bytes),
            _ => self.mismatch("Binary"),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, TypedError> {
        match (name, self.part) {
            (DATE_TIME_NEWTYPE, ValueRef::DateTime(at)) => {
                visitor.visit_newtype_struct(I64Deserializer::new(at.ticks()))
            }
            (DATE_TIME_NEWTYPE, _) => self.mismatch("DateTime"),
            (GUID, ValueRef::Guid(guid)) => visitor.visit_newtype_struct(BytesDeserializer::new(guid.as_bytes())),
            (GUID, _) => self.mismatch("Guid"),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    /// An enum without data is the name of its variant.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypedError> {
        match self.part {
            ValueRef::String(text) => visitor.visit_enum(text.into_deserializer()),
            _ => self.mismatch("String (an enum)"),
        }
    }

    refuse! {
        fn deserialize_unit(V) = "nothing";
        fn deserialize_unit_struct(&'static str, V) = "nothing";
        fn deserialize_seq(V) = "a list";
        fn deserialize_tuple(usize, V) = "a tuple";
        fn deserialize_tuple_struct(&'static str, usize, V) = "a tuple";
        fn deserialize_map(V) = "a map";
        fn deserialize_struct(&'static str, &'static [&'static str], V) = "a struct";
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        visitor.visit_unit()
    }
}
