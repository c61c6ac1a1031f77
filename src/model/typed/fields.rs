//! How DateTime, Guid and Binary pass through serde, which has no such types.
//!
//! DateTime and Guid travel as newtype structs of a name that the reader and the writer of entities
//! know. Any other format sees through a newtype and finds ISO 8601 text, or 8-4-4-4-12 hexadecimal
//! digits.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::value::{EdmType, Value};

pub(super) const GUID: &str = "$rowkey::Guid";

/// For `#[serde(with = "rowkey::model::guid")]`, on fields of type `Uuid` and `Option<Uuid>` that
/// are Guid properties.
pub mod guid {
    use super::{Deserialize, Deserializer, Field, Guid, Serialize, Serializer, Uuid, de};

    /// Writes a Guid property.
    pub fn serialize<S: Serializer>(field: &impl Field<Uuid>, serializer: S) -> Result<S::Ok, S::Error> {
        field.get().copied().map(Guid).serialize(serializer)
    }

    /// Reads a Guid property.
    pub fn deserialize<'de, D: Deserializer<'de>, T: Field<Uuid>>(deserializer: D) -> Result<T, D::Error> {
        let guid = Option::<Guid>::deserialize(deserializer)?.map(|guid| guid.0);
        T::from_option(guid).ok_or_else(|| de::Error::custom("a Guid is missing"))
    }
}

/// For `#[serde(with = "rowkey::model::binary")]`, on fields of type `Vec<u8>` and
/// `Option<Vec<u8>>` that are Binary properties.
pub mod binary {
    use super::{BorrowedBytes, Bytes, Deserialize, Deserializer, Field, Serialize, Serializer, de};

    /// Writes a Binary property.
    pub fn serialize<S: Serializer>(field: &impl Field<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
        field.get().map(|bytes| BorrowedBytes(bytes)).serialize(serializer)
    }

    /// Reads a Binary property.
    pub fn deserialize<'de, D: Deserializer<'de>, T: Field<Vec<u8>>>(deserializer: D) -> Result<T, D::Error> {
        let bytes = Option::<Bytes>::deserialize(deserializer)?.map(|bytes| bytes.0);
        T::from_option(bytes).ok_or_else(|| de::Error::custom("a Binary is missing"))
    }
}

/// `T` or `Option<T>`, so that one `with` serves both.
pub trait Field<T>: Sized {
    fn get(&self) -> Option<&T>;
    fn from_option(value: Option<T>) -> Option<Self>;
}

impl<T> Field<T> for T {
    fn get(&self) -> Option<&T> {
        Some(self)
    }

    fn from_option(value: Option<T>) -> Option<T> {
        value
    }
}

impl<T> Field<T> for Option<T> {
    fn get(&self) -> Option<&T> {
        self.as_ref()
    }

    fn from_option(value: Option<T>) -> Option<Option<T>> {
        Some(value)
    }
}

struct Guid(Uuid);

impl Serialize for Guid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(GUID, &self.0.as_hyphenated().to_string())
    }
}

impl<'de> Deserialize<'de> for Guid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(GUID, GuidVisitor)
    }
}

struct GuidVisitor;

impl<'de> Visitor<'de> for GuidVisitor {
    type Value = Guid;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Guid")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Guid, D::Error> {
        deserializer.deserialize_str(self)
    }

    /// Entities hand over the 16 bytes.
    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Guid, E> {
        Uuid::from_slice(bytes).map(Guid).map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Guid, E> {
        match Value::from_text(EdmType::Guid, text).map_err(E::custom)? {
            Value::Guid(guid) => Ok(Guid(guid)),
            other => Err(E::custom(format_args!("{} where a Guid was read", other.edm_type()))),
        }
    }
}

struct BorrowedBytes<'a>(&'a [u8]);

impl Serialize for BorrowedBytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

struct Bytes(Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(BytesVisitor)
    }
}

struct BytesVisitor;

impl<'de> Visitor<'de> for BytesVisitor {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
        Ok(Bytes(bytes.to_vec()))
    }

    fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
        Ok(Bytes(bytes))
    }

    /// Formats without bytes, such as JSON, write them as a list of numbers.
    fn visit_seq<A: de::SeqAccess<'de>>(self, mut elements: A) -> Result<Bytes, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = elements.next_element()? {
            bytes.push(byte);
        }
        Ok(Bytes(bytes))
    }
}
