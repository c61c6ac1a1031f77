//! The service's limits on keys, names, values and entities ("Understanding the Table service data
//! model" in Microsoft's documentation).

/// Shortest name of an account, in characters.
pub const ACCOUNT_NAME_CHARS_MIN: usize = 3;
/// Longest name of an account, in characters.
pub const ACCOUNT_NAME_CHARS_MAX: usize = 24;

/// Shortest name of a table, in characters.
pub const TABLE_NAME_CHARS_MIN: usize = 3;
/// Longest name of a table, in characters.
pub const TABLE_NAME_CHARS_MAX: usize = 63;

/// Longest name of a view, in bytes: that of an identifier in PostgreSQL.
pub const VIEW_NAME_BYTES_MAX: usize = 63;

/// Longest PartitionKey or RowKey, in UTF-16 code units.
pub const KEY_UTF16_UNITS_MAX: usize = 1024;

/// Most properties an entity may have beside PartitionKey, RowKey and Timestamp.
pub const PROPERTIES_MAX: usize = 252;

/// Longest property name, in characters.
pub const PROPERTY_NAME_CHARS_MAX: usize = 255;

/// Longest String value, in UTF-16 code units (64 KiB of UTF-16).
pub const STRING_UTF16_UNITS_MAX: usize = 32 * 1024;

/// Longest Binary value, in bytes.
pub const BINARY_BYTES_MAX: usize = 64 * 1024;

/// Most operations of an entity group transaction.
pub const ENTITY_GROUP_OPERATIONS_MAX: usize = 100;
/// Most bytes of the entities of an entity group transaction, by the formula of
/// [`ENTITY_BYTES_MAX`]. The service's limit is a payload of 4 MiB, which its door enforces; by the
/// formula, with two bytes a character and eight a property, such a payload has a few times as
/// many.
pub const ENTITY_GROUP_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Largest entity, in bytes, by the service's size formula ([`crate::Entity::size_bytes`]).
pub const ENTITY_BYTES_MAX: usize = 1024 * 1024;
