//! Entities as values of the caller's serde types.
//!
//! A type takes part with fields named `PartitionKey` and `RowKey` (`#[serde(rename = "...")]` or
//! `rename_all = "PascalCase"`) and, where wanted, `Timestamp`; every other field is a property
//! under the name serde gives it.
//!
//! | property | field | how the field is declared |
//! |---|---|---|
//! | Binary | `Vec<u8>` | `#[serde(with = "rowkey::model::binary")]` (or the crate `serde_bytes`) |
//! | Boolean | `bool` | |
//! | DateTime | [`DateTime`](super::DateTime) | |
//! | Double | `f64`, `f32` | an `f64` reads Int32 too |
//! | Guid | `uuid::Uuid` | `#[serde(with = "rowkey::model::guid")]` |
//! | Int32 | `i32` and narrower | |
//! | Int64 | `i64`, `u32`, `u64`, `i128`, `usize` | reads Int32 too |
//! | String | `String`, `char`, an enum's unit variants | |
//!
//! `Option` is absence: `None` is not written, and a property the entity lacks reads as `None` (a
//! field declared `with` needs `#[serde(default)]` beside it for that). A number that does not fit
//! its field, or the service's Int64, is an error. Lists and maps have no property type and are
//! refused, except `#[serde(flatten)]`, which spreads its fields over the entity. A `Uuid` or a
//! date of another crate without `with` is text to serde and so a String property; a Guid or
//! DateTime property does not read into text, so that an entity read, changed and written keeps its
//! types.
//!
//! ```
//! use rowkey_model::{Entity, Value};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! #[serde(rename_all = "PascalCase")]
//! struct Person {
//!     #[serde(rename = "PartitionKey")]
//!     city: String,
//!     #[serde(rename = "RowKey")]
//!     id: String,
//!     age: i32,
//!     email: Option<String>,
//! }
//!
//! let ada = Person { city: "London".into(), id: "0001".into(), age: 36, email: None };
//! let entity = Entity::from_serde(&ada)?;
//! assert_eq!(entity.get("Age"), Some(&Value::Int32(36)));
//! assert_eq!(entity.get("Email"), None);
//! assert_eq!(entity.to::<Person>()?.id, "0001");
//! # Ok::<(), rowkey_model::TypedError>(())
//! ```

mod error;
mod fields;
mod read;
mod write;

pub use error::TypedError;
pub use fields::{binary, guid};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::entity::Entity;

/// Names of the fields that are not properties.
const PARTITION_KEY: &str = "PartitionKey";
const ROW_KEY: &str = "RowKey";
const TIMESTAMP: &str = "Timestamp";

impl Entity {
    /// The entity as a value of a serde type, with fields named as its properties, `PartitionKey`,
    /// `RowKey` and `Timestamp`. Properties that the type does not have are passed over.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, TypedError> {
        T::deserialize(read::EntityDeserializer::new(self))
    }

    /// An entity from a value of a serde type, checked as
    /// [`EntityBuilder::build`](super::EntityBuilder::build) does. Without a `Timestamp` it has
    /// that of an entity never written.
    pub fn from_serde<T: Serialize + ?Sized>(value: &T) -> Result<Entity, TypedError> {
        value.serialize(write::EntitySerializer)
    }
}

#[cfg(test)]
mod tests;
