//! The vocabulary: accounts, tables, entities, the eight property types, keys and their order, sets
//! of keys. Beside it what the layers above share: entities as encoded [`rows`], properties as
//! [`columns`] of Arrow arrays, and [`files`].
//!
//! The vocabulary is pure types with validation and no I/O. The rules are those of the Table
//! service (Microsoft's "Understanding the Table service data model"); a rejected value is a
//! [`Rejected`] that names the value, the rule and the limit.

mod access_policy;
pub mod columns;
mod entity;
pub mod files;
mod key;
mod key_set;
mod limits;
mod name;
pub mod rows;
mod typed;
mod value;

pub use access_policy::AccessPolicy;
pub use entity::{Entity, EntityBuilder};
pub use key::{Key, KeyRef};
pub use key_set::{Cut, Interval, IntervalSet, KeyCut, KeyRange, KeySet};
pub use limits::{
    ACCOUNT_NAME_CHARS_MAX, ACCOUNT_NAME_CHARS_MIN, BINARY_BYTES_MAX, ENTITY_BYTES_MAX, ENTITY_GROUP_BYTES_MAX,
    ENTITY_GROUP_OPERATIONS_MAX, KEY_UTF16_UNITS_MAX, PROPERTIES_MAX, PROPERTY_NAME_CHARS_MAX, STRING_UTF16_UNITS_MAX,
    TABLE_NAME_CHARS_MAX, TABLE_NAME_CHARS_MIN, VIEW_NAME_BYTES_MAX,
};
pub use name::{AccountName, TableName, ViewName, validate_property_name};
pub use rowkey_base::{DateTime, Rejected, Rule};
pub use typed::{TypedError, binary, guid};
pub use value::{EdmType, Value, ValueRef};
