//! The address of an entity in its table.

use super::limits::KEY_UTF16_UNITS_MAX;
use rowkey_base::{Rejected, Rule};

/// An entity's address: PartitionKey, then RowKey, ordered by UTF-8 bytes (code point order).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub partition: String,
    pub row: String,
}

/// A borrowed [`Key`], in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyRef<'a> {
    pub partition: &'a str,
    pub row: &'a str,
}

impl Key {
    /// A key as it is, unchecked: use [`Key::validate`] where it enters the system.
    pub fn new(partition: impl Into<String>, row: impl Into<String>) -> Self {
        Self { partition: partition.into(), row: row.into() }
    }

    /// The key, borrowed.
    pub fn as_ref(&self) -> KeyRef<'_> {
        KeyRef { partition: &self.partition, row: &self.row }
    }

    /// Refuses keys that are too long or hold a forbidden character.
    pub fn validate(&self) -> Result<(), Rejected> {
        self.as_ref().validate()
    }
}

impl KeyRef<'_> {
    /// A copy of the key.
    pub fn to_key(self) -> Key {
        Key::new(self.partition, self.row)
    }

    /// Refuses keys that are too long or hold a forbidden character.
    pub fn validate(self) -> Result<(), Rejected> {
        validate_part("PartitionKey", self.partition)?;
        validate_part("RowKey", self.row)
    }
}

fn validate_part(what: &str, text: &str) -> Result<(), Rejected> {
    // A key of printable ASCII, the usual case, is decided by its bytes alone.
    // Without a way out at the first other byte, so that many bytes are looked at together.
    let is_plain = |b: u8| (0x20..0x7f).contains(&b) & (b != b'/') & (b != b'\\') & (b != b'#') & (b != b'?');
    if text.len() <= KEY_UTF16_UNITS_MAX && text.bytes().fold(true, |plain, b| plain & is_plain(b)) {
        return Ok(());
    }
    if let Some(bad) = text.chars().find(|c| matches!(c, '/' | '\\' | '#' | '?') || c.is_control()) {
        let limit = format!("keys cannot contain / \\ # ? or control characters, this has {bad:?}");
        return Err(Rejected::new(what, text, Rule::KeyCharacter, limit));
    }
    let units = text.encode_utf16().count();
    if units > KEY_UTF16_UNITS_MAX {
        let limit = format!("at most {KEY_UTF16_UNITS_MAX} UTF-16 units, this has {units}");
        return Err(Rejected::new(what, text, Rule::KeyLength, limit));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
