//! What the names of an entity's members mean.

use std::collections::HashMap;
use std::sync::Arc;

use super::error::EntityJsonError;
use super::rules::Rules;
use crate::json::Parser;
use rowkey_model::rows::{NameCache, PropertyId, PropertyNames};

/// The meaning of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyKind {
    PartitionKey,
    RowKey,
    Timestamp,
    Property(PropertyId),
    /// The type of a property.
    TypeOf(PropertyId),
    /// Metadata that says nothing about properties, or the type of a system property, which is
    /// known.
    Skipped,
}

/// Keys met by one thread. As with [`NameCache`], the key that followed the last one before is
/// tried first: entities of one export mostly have the same keys in the same order, and then
/// reading a key is one comparison.
#[derive(Debug)]
pub(super) struct KeyCache {
    names: NameCache,
    rules: Rules,
    slots: HashMap<Box<str>, usize>,
    entries: Vec<Entry>,
    last: usize,
    scratch: String,
}

#[derive(Debug)]
struct Entry {
    /// The key and its closing quote.
    token: Box<[u8]>,
    kind: KeyKind,
    next: usize,
}

/// Keys kept; input with more different ones (metadata keys are not bounded otherwise) begins anew.
const ENTRIES_MAX: usize = 1 << 16;

/// What the service answers with instead of entities.
pub(crate) const SERVICE_ERROR: &str = "odata.error";
pub(crate) const NO_ENTITY: &str = "this is an error that the service answered with, not an entity";
const TYPE_SUFFIX: &str = "@odata.type";

impl KeyCache {
    pub(super) fn new(names: &Arc<PropertyNames>, rules: Rules) -> Self {
        Self {
            names: NameCache::new(names),
            rules,
            slots: HashMap::new(),
            entries: Vec::new(),
            last: 0,
            scratch: String::new(),
        }
    }

    pub(super) fn name(&self, id: PropertyId) -> Arc<str> {
        self.names.shared().name(id)
    }

    pub(super) fn names(&self) -> &Arc<PropertyNames> {
        self.names.shared()
    }

    /// The key met last, to go back to.
    pub(super) fn met(&self) -> usize {
        self.last
    }

    /// Goes back to a key, as if none had been met since.
    pub(super) fn go_back(&mut self, met: usize) {
        self.last = met;
    }

    /// Reads the key at the parser's place.
    #[inline]
    pub(super) fn read(&mut self, parser: &mut Parser<'_>) -> Result<KeyKind, EntityJsonError> {
        let next = self.entries.get(self.last).map_or(0, |last| last.next);
        if let Some(entry) = self.entries.get(next) {
            let mut ahead = parser.clone();
            if ahead.eat(b'"') && ahead.eat_token(&entry.token) {
                *parser = ahead;
                self.last = next;
                return Ok(entry.kind);
            }
        }
        self.read_unpredicted(parser)
    }

    fn read_unpredicted(&mut self, parser: &mut Parser<'_>) -> Result<KeyKind, EntityJsonError> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let slot = match parser.string(&mut scratch) {
            Ok(key) => match self.slots.get(key) {
                Some(&slot) => Ok(slot),
                None => self.add(key),
            },
            Err(error) => Err(error.into()),
        };
        self.scratch = scratch;
        let slot = slot?;
        if let Some(last) = self.entries.get_mut(self.last) {
            last.next = slot;
        }
        self.last = slot;
        Ok(self.entries[slot].kind)
    }

    fn add(&mut self, key: &str) -> Result<usize, EntityJsonError> {
        let kind = self.kind(key)?;
        if self.entries.len() >= ENTRIES_MAX {
            self.entries.clear();
            self.slots.clear();
            self.last = 0;
        }
        let slot = self.entries.len();
        // A key that needs escapes in JSON never equals its token, and is found by its text each
        // time.
        let token = [key.as_bytes(), b"\""].concat().into_boxed_slice();
        self.entries.push(Entry { token, kind, next: slot + 1 });
        self.slots.insert(key.into(), slot);
        Ok(slot)
    }

    fn kind(&mut self, key: &str) -> Result<KeyKind, EntityJsonError> {
        Ok(match key {
            "PartitionKey" => KeyKind::PartitionKey,
            "RowKey" => KeyKind::RowKey,
            "Timestamp" => KeyKind::Timestamp,
            SERVICE_ERROR if self.rules == Rules::Answer => {
                return Err(EntityJsonError::Refused(NO_ENTITY.to_owned()));
            }
            _ if key.starts_with("odata.") => KeyKind::Skipped,
            _ => match key.strip_suffix(TYPE_SUFFIX) {
                Some("PartitionKey" | "RowKey" | "Timestamp") => KeyKind::Skipped,
                Some(name) => KeyKind::TypeOf(self.names.intern(name)?),
                None if key.contains("@odata.") => KeyKind::Skipped,
                None => KeyKind::Property(self.names.intern(key)?),
            },
        })
    }
}
