//! How a DateTime passes through serde, which has no such type: as a newtype struct of a name that
//! the reader and the writer of entities know. Any other format sees through a newtype and finds
//! ISO 8601 text.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};

use super::DateTime;

/// The name of the newtype struct.
pub const DATE_TIME_NEWTYPE: &str = "$rowkey::DateTime";

/// A DateTime property in an entity, ISO 8601 text in other formats.
impl Serialize for DateTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Text outside the range would not read back.
        self.validate("DateTime").map_err(|rejected| S::Error::custom(rejected.named("DateTime")))?;
        serializer.serialize_newtype_struct(DATE_TIME_NEWTYPE, &self.to_string())
    }
}

impl<'de> Deserialize<'de> for DateTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(DATE_TIME_NEWTYPE, DateTimeVisitor)
    }
}

struct DateTimeVisitor;

impl<'de> Visitor<'de> for DateTimeVisitor {
    type Value = DateTime;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a DateTime")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<DateTime, D::Error> {
        deserializer.deserialize_str(self)
    }

    /// Entities hand over ticks.
    fn visit_i64<E: de::Error>(self, ticks: i64) -> Result<DateTime, E> {
        Ok(DateTime::from_ticks(ticks))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<DateTime, E> {
        DateTime::parse(text).map_err(E::custom)
    }
}
