//! Writing a serde type as an entity.

use std::fmt::Display;
use std::sync::Arc;

use serde::Serialize;
use serde::ser::{Impossible, SerializeMap, SerializeStruct, Serializer};

use super::error::TypedError;
use rowkey_base::DATE_TIME_NEWTYPE;

use super::fields::GUID;
use super::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use crate::entity::{Entity, EntityBuilder};
use crate::key::Key;
use crate::value::{EdmType, Value};
use rowkey_base::DateTime;

/// Refuses what has no place: `fn serialize_seq(Option<usize>) -> SerializeSeq = kind`.
macro_rules! refuse {
    ($(fn $method:ident($($argument:ty),*) -> $ok:ident = $kind:literal;)+) => {$(
        fn $method(self, $(_: $argument),*) -> Result<Self::$ok, TypedError> {
            Err(self.refused($kind))
        }
    )+};
}

/// A whole entity.
pub(super) struct EntitySerializer;

impl EntitySerializer {
    fn refused(self, kind: &'static str) -> TypedError {
        TypedError::NotAnEntity { kind }
    }
}

impl Serializer for EntitySerializer {
    type Ok = Entity;
    type Error = TypedError;
    type SerializeSeq = Impossible<Entity, TypedError>;
    type SerializeTuple = Impossible<Entity, TypedError>;
    type SerializeTupleStruct = Impossible<Entity, TypedError>;
    type SerializeTupleVariant = Impossible<Entity, TypedError>;
    type SerializeMap = Fields;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Impossible<Entity, TypedError>;

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Fields, TypedError> {
        Ok(Fields { properties: Vec::with_capacity(length), ..Fields::default() })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Fields, TypedError> {
        Ok(Fields::default())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Entity, TypedError> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<Entity, TypedError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Entity, TypedError> {
        Err(self.refused("an enum's variant"))
    }

    refuse! {
        fn serialize_bool(bool) -> Ok = "a bool";
        fn serialize_i8(i8) -> Ok = "a number";
        fn serialize_i16(i16) -> Ok = "a number";
        fn serialize_i32(i32) -> Ok = "a number";
        fn serialize_i64(i64) -> Ok = "a number";
        fn serialize_i128(i128) -> Ok = "a number";
        fn serialize_u8(u8) -> Ok = "a number";
        fn serialize_u16(u16) -> Ok = "a number";
        fn serialize_u32(u32) -> Ok = "a number";
        fn serialize_u64(u64) -> Ok = "a number";
        fn serialize_u128(u128) -> Ok = "a number";
        fn serialize_f32(f32) -> Ok = "a number";
        fn serialize_f64(f64) -> Ok = "a number";
        fn serialize_char(char) -> Ok = "text";
        fn serialize_str(&str) -> Ok = "text";
        fn serialize_bytes(&[u8]) -> Ok = "bytes";
        fn serialize_none() -> Ok = "nothing";
        fn serialize_unit() -> Ok = "nothing";
        fn serialize_unit_struct(&'static str) -> Ok = "nothing";
        fn serialize_unit_variant(&'static str, u32, &'static str) -> Ok = "an enum's variant";
        fn serialize_seq(Option<usize>) -> SerializeSeq = "a list";
        fn serialize_tuple(usize) -> SerializeTuple = "a tuple";
        fn serialize_tuple_struct(&'static str, usize) -> SerializeTupleStruct = "a tuple";
        fn serialize_tuple_variant(&'static str, u32, &'static str, usize) -> SerializeTupleVariant
            = "an enum's variant";
        fn serialize_struct_variant(&'static str, u32, &'static str, usize) -> SerializeStructVariant
            = "an enum's variant";
    }
}

/// The fields seen so far. Of two with one name the builder refuses the properties; a later key or
/// timestamp is refused here.
#[derive(Default)]
pub(super) struct Fields {
    name: Option<Arc<str>>,
    partition: Option<String>,
    row: Option<String>,
    timestamp: Option<DateTime>,
    properties: Vec<(Arc<str>, Value)>,
}

impl Fields {
    fn add<T: Serialize + ?Sized>(&mut self, name: Arc<str>, value: &T) -> Result<(), TypedError> {
        let value = value.serialize(ValueSerializer { property: &name }).map_err(|error| error.at(&name))?;
        let Some(value) = value else {
            return Ok(());
        };
        match &*name {
            PARTITION_KEY => set(&mut self.partition, PARTITION_KEY, text(PARTITION_KEY, value)?),
            ROW_KEY => set(&mut self.row, ROW_KEY, text(ROW_KEY, value)?),
            TIMESTAMP => match value {
                Value::DateTime(at) => set(&mut self.timestamp, TIMESTAMP, at),
                other => Err(mismatch(TIMESTAMP, EdmType::DateTime, other, ": use rowkey::model::DateTime")),
            },
            _ => {
                self.properties.push((name, value));
                Ok(())
            }
        }
    }

    fn finish(self) -> Result<Entity, TypedError> {
        let partition = self.partition.ok_or(TypedError::MissingKey { property: PARTITION_KEY })?;
        let row = self.row.ok_or(TypedError::MissingKey { property: ROW_KEY })?;
        let mut builder = EntityBuilder::new(Key::new(partition, row));
        if let Some(at) = self.timestamp {
            builder = builder.timestamp(at);
        }
        let entity = self.properties.into_iter().fold(builder, |builder, (name, value)| builder.property(name, value));
        Ok(entity.build()?)
    }
}

fn set<T>(slot: &mut Option<T>, name: &str, value: T) -> Result<(), TypedError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(TypedError::Custom { property: Some(name.to_owned()), message: "is given twice".to_owned() }),
    }
}

fn text(property: &str, value: Value) -> Result<String, TypedError> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(mismatch(property, EdmType::String, other, "")),
    }
}

fn mismatch(property: &str, stored: EdmType, value: Value, hint: &'static str) -> TypedError {
    TypedError::Type { property: property.to_owned(), stored, wanted: value.edm_type().name(), hint }
}

impl SerializeStruct for Fields {
    type Ok = Entity;
    type Error = TypedError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), TypedError> {
        self.add(name.into(), value)
    }

    fn end(self) -> Result<Entity, TypedError> {
        self.finish()
    }
}

impl SerializeMap for Fields {
    type Ok = Entity;
    type Error = TypedError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), TypedError> {
        match name.serialize(ValueSerializer { property: "(a map's key)" })? {
            Some(Value::String(name)) => {
                self.name = Some(name.into());
                Ok(())
            }
            _ => Err(TypedError::NotAnEntity { kind: "a map whose keys are not text" }),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), TypedError> {
        match self.name.take() {
            Some(name) => self.add(name, value),
            None => Err(serde::ser::Error::custom("a value was written before its name")),
        }
    }

    fn end(self) -> Result<Entity, TypedError> {
        self.finish()
    }
}

/// One value; `None` where there is nothing to store.
struct ValueSerializer<'a> {
    property: &'a str,
}

impl ValueSerializer<'_> {
    fn refused(self, kind: &'static str) -> TypedError {
        let hint = match kind {
            "a list" => " (for bytes, declare it with = \"rowkey::model::binary\")",
            _ => "",
        };
        TypedError::Unsupported { property: self.property.to_owned(), kind, hint }
    }

    fn int64<T: TryInto<i64> + Display + Copy>(self, number: T) -> Result<Option<Value>, TypedError> {
        let out_of_range =
            |_| TypedError::Range { property: self.property.to_owned(), value: number.to_string(), wanted: "an Int64" };
        number.try_into().map(|number| Some(Value::Int64(number))).map_err(out_of_range)
    }
}

/// Writes a type into the property type that holds all its values.
macro_rules! store {
    ($(fn $method:ident($argument:ty) = $variant:ident;)+) => {$(
        fn $method(self, value: $argument) -> Result<Option<Value>, TypedError> {
            Ok(Some(Value::$variant(value.into())))
        }
    )+};
}

impl Serializer for ValueSerializer<'_> {
    type Ok = Option<Value>;
    type Error = TypedError;
    type SerializeSeq = Impossible<Option<Value>, TypedError>;
    type SerializeTuple = Impossible<Option<Value>, TypedError>;
    type SerializeTupleStruct = Impossible<Option<Value>, TypedError>;
    type SerializeTupleVariant = Impossible<Option<Value>, TypedError>;
    type SerializeMap = Impossible<Option<Value>, TypedError>;
    type SerializeStruct = Impossible<Option<Value>, TypedError>;
    type SerializeStructVariant = Impossible<Option<Value>, TypedError>;

    store! {
        fn serialize_bool(bool) = Boolean;
        fn serialize_i8(i8) = Int32;
        fn serialize_i16(i16) = Int32;
        fn serialize_i32(i32) = Int32;
        fn serialize_i64(i64) = Int64;
        fn serialize_u8(u8) = Int32;
        fn serialize_u16(u16) = Int32;
        fn serialize_u32(u32) = Int64;
        fn serialize_f32(f32) = Double;
        fn serialize_f64(f64) = Double;
        fn serialize_char(char) = String;
        fn serialize_str(&str) = String;
        fn serialize_bytes(&[u8]) = Binary;
    }

    fn serialize_u64(self, number: u64) -> Result<Option<Value>, TypedError> {
        self.int64(number)
    }

    fn serialize_i128(self, number: i128) -> Result<Option<Value>, TypedError> {
        self.int64(number)
    }

    fn serialize_u128(self, number: u128) -> Result<Option<Value>, TypedError> {
        self.int64(number)
    }

    fn serialize_none(self) -> Result<Option<Value>, TypedError> {
        Ok(None)
    }

    fn serialize_unit(self) -> Result<Option<Value>, TypedError> {
        Ok(None)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Option<Value>, TypedError> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Option<Value>, TypedError> {
        let property = self.property;
        let value = value.serialize(self)?;
        let edm_type = match name {
            DATE_TIME_NEWTYPE => EdmType::DateTime,
            GUID => EdmType::Guid,
            _ => return Ok(value),
        };
        match value {
            Some(Value::String(text)) => match Value::from_text(edm_type, &text) {
                Ok(value) => Ok(Some(value)),
                Err(rejected) => Err(rejected.named(format!("property {property}")).into()),
            },
            other => Ok(other),
        }
    }

    /// An enum without data is the name of its variant.
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Option<Value>, TypedError> {
        Ok(Some(Value::from(variant)))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Option<Value>, TypedError> {
        Err(self.refused("an enum's variant with data"))
    }

    refuse! {
        fn serialize_unit_struct(&'static str) -> Ok = "a struct";
        fn serialize_seq(Option<usize>) -> SerializeSeq = "a list";
        fn serialize_tuple(usize) -> SerializeTuple = "a tuple";
        fn serialize_tuple_struct(&'static str, usize) -> SerializeTupleStruct = "a tuple";
        fn serialize_tuple_variant(&'static str, u32, &'static str, usize) -> SerializeTupleVariant
            = "an enum's variant with data";
        fn serialize_map(Option<usize>) -> SerializeMap = "a map";
        fn serialize_struct(&'static str, usize) -> SerializeStruct = "a struct";
        fn serialize_struct_variant(&'static str, u32, &'static str, usize) -> SerializeStructVariant
            = "an enum's variant with data";
    }
}
