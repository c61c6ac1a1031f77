//! JSON of one entity, as the Table service reads and writes it: at a text, without files and
//! threads.
//!
//! [`EntityDecoder`] reads the body of a request or an answer, [`EntityList`] many entities,
//! [`EntityEncoder`] writes an entity at a [`MetadataLevel`] (Table service specification, sections
//! 1.4, 1.5 and 2.5). The import of service JSON and the exports as JSON are made of the same code,
//! which they use on rows (`RowDecoder`, `RowEncoder`).
//!
//! Reading back what was written keeps everything at the levels minimal and full. At the level none
//! these types come back as String: Int64, DateTime, Guid, Binary, and NaN and the infinities of
//! Double.

mod address;
mod decoder;
mod encoder;
mod error;
mod keys;
mod level;
mod list;
mod object_writer;
mod row_decoder;
mod row_encoder;
mod rules;
mod system;
mod values;

pub use self::address::TableAddress;
pub use self::decoder::EntityDecoder;
pub use self::encoder::EntityEncoder;
pub use self::error::EntityJsonError;
pub(crate) use self::error::{no_key_text, twice};
pub(crate) use self::keys::{NO_ENTITY, SERVICE_ERROR};
pub use self::level::MetadataLevel;
pub use self::list::EntityList;
pub(crate) use self::row_decoder::{Decoded, RowDecoder};
pub(crate) use self::row_encoder::RowEncoder;
pub(crate) use self::system::{System, key_text};
pub(crate) use self::values::unannotated_number;

#[cfg(test)]
mod tests;
