//! What the manifest knows of a run file.

use std::sync::Arc;

use arrow::buffer::BooleanBuffer;
use roaring::RoaringBitmap;
use serde::{Deserialize, Serialize};

use super::checksums::Checksums;
use super::known_keys::KnownKeys;
use super::layout::{PAGE_ROWS, RunColumn, RunLayout};
use super::live_rows::LiveRows;
use rowkey_model::{Key, KeyRef};

/// Encoded bytes for one byte of a file, roughly.
const ENCODED_PER_STORED: u64 = 3;

/// A run file as the manifest describes it: enough to plan, prune and count without opening it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// Unique in the data folder, never used again.
    pub id: u64,
    /// Path in the data folder.
    pub path: String,
    pub bytes: u64,
    /// CRC32C of the whole file.
    pub crc32c: u32,
    /// CRC32C block by block, verified as blocks are read.
    pub checksums: Checksums,
    /// Bytes from the first page index to the end: what has to be read to know where everything
    /// lies.
    pub tail_bytes: u64,
    /// Bytes of its entities as they are encoded in memory; 0 in manifests of versions that did not
    /// know.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub encoded_bytes: u64,
    /// Rows in the file, masked ones included.
    pub rows: u64,
    /// Key of the first and of the last row, masked or not, in full.
    #[serde(with = "key_pair")]
    pub first: Key,
    #[serde(with = "key_pair")]
    pub last: Key,
    /// Different PartitionKeys.
    pub partitions: u64,
    pub row_groups: u32,
    /// Pages of the PartitionKey column.
    pub key_pages: u32,
    /// Compressed bytes of every column, in file order.
    pub column_bytes: Vec<u64>,
    pub columns: Vec<ColumnSummary>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub other: bool,
    /// Rows that are no longer live, by position in the file.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "mask")]
    pub mask: Option<Arc<RoaringBitmap>>,
    #[serde(skip)]
    pub live: LiveRows,
    /// Shared by all descriptions of this file in the process.
    #[serde(skip)]
    pub holders: Holders,
    #[serde(skip)]
    pub keys: KnownKeys,
}

/// A reference count of the descriptions of a file, which differ in their masks: while one is held,
/// the file must stay.
#[derive(Debug, Clone, Default)]
pub struct Holders(Arc<()>);

impl Holders {
    /// Descriptions in the process.
    pub fn count(&self) -> usize {
        Arc::strong_count(&self.0)
    }
}

/// References to a file say nothing of what is in it.
impl PartialEq for Holders {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A property column of a run file and what its values are like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnSummary {
    #[serde(flatten)]
    pub column: RunColumn,
    /// Entities of the file that have the property in this type.
    pub entities: u64,
    /// Least and greatest value in canonical text; strings are cut to 64 bytes, and binaries have
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
}

impl RunFile {
    /// The columns of the file.
    pub fn layout(&self) -> RunLayout {
        RunLayout { columns: self.columns.iter().map(|summary| summary.column.clone()).collect(), other: self.other }
    }

    /// Rows that are live.
    pub fn live_rows(&self) -> u64 {
        self.rows - self.masked_rows()
    }

    /// Rows that are masked.
    pub fn masked_rows(&self) -> u64 {
        self.mask.as_ref().map_or(0, |mask| mask.len())
    }

    /// A bit for each row of the file, set where the row is live; `None` if all are.
    pub fn live_bits(&self) -> Option<BooleanBuffer> {
        self.mask.as_ref().map(|mask| self.live.under(mask, self.rows))
    }

    /// Bytes of its live entities as they are encoded in memory, as far as that is known.
    pub fn live_encoded_bytes(&self) -> u64 {
        (u128::from(self.encoded_bytes_all()) * u128::from(self.live_rows()) / u128::from(self.rows.max(1))) as u64
    }

    /// Bytes of the entities of a page of keys once they are decoded, about.
    pub fn page_bytes(&self) -> u64 {
        self.encoded_bytes_all().saturating_mul(PAGE_ROWS as u64) / self.rows.max(1)
    }

    fn encoded_bytes_all(&self) -> u64 {
        if self.encoded_bytes > 0 { self.encoded_bytes } else { self.bytes.saturating_mul(ENCODED_PER_STORED) }
    }

    /// Whether the file may hold a key, by its bounds.
    pub fn spans(&self, key: KeyRef<'_>) -> bool {
        self.first.as_ref() <= key && key <= self.last.as_ref()
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

mod key_pair {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use rowkey_model::Key;

    pub(super) fn serialize<S: Serializer>(key: &Key, serializer: S) -> Result<S::Ok, S::Error> {
        (&key.partition, &key.row).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        let (partition, row) = <(String, String)>::deserialize(deserializer)?;
        Ok(Key { partition, row })
    }
}

mod mask {
    use std::sync::Arc;

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use roaring::RoaringBitmap;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        mask: &Option<Arc<RoaringBitmap>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let Some(mask) = mask else { return serializer.serialize_none() };
        let mut bytes = Vec::with_capacity(mask.serialized_size());
        mask.serialize_into(&mut bytes).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Arc<RoaringBitmap>>, D::Error> {
        let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
        let bytes = STANDARD.decode(text).map_err(D::Error::custom)?;
        let mask = RoaringBitmap::deserialize_from(&bytes[..]).map_err(D::Error::custom)?;
        Ok(Some(Arc::new(mask)))
    }
}
