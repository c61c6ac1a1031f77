//! Entities of one import that share a key and differ, where no Timestamp says which is newer: all
//! but one of each key are rejected.

use std::sync::Arc;

use super::options::ImportOptions;
use rowkey_formats::{Place, Reject, Warning, WarningKind, write_lost};
use rowkey_model::Key;
use rowkey_model::rows::{Conflict, PropertyNames};

/// Keys that the warning names.
const KEYS_NAMED_MAX: usize = 3;
/// What warnings call the place of keys.
const INPUT: &str = "keys";

/// Turns conflicts into rejects, and counts them.
#[derive(Debug)]
pub(super) struct KeyConflicts<'a> {
    options: &'a ImportOptions,
    names: Arc<PropertyNames>,
    /// The inputs' names, by number.
    inputs: Vec<Arc<str>>,
    entities: u64,
    /// The first keys that had some.
    keys: Vec<Key>,
    has_more_keys: bool,
}

impl<'a> KeyConflicts<'a> {
    pub(super) fn new(options: &'a ImportOptions, names: &Arc<PropertyNames>) -> Self {
        Self {
            options,
            names: Arc::clone(names),
            inputs: Vec::new(),
            entities: 0,
            keys: Vec::new(),
            has_more_keys: false,
        }
    }

    /// Gives the next input its number.
    pub(super) fn add_input(&mut self, name: &Arc<str>) -> u32 {
        self.inputs.push(Arc::clone(name));
        u32::try_from(self.inputs.len() - 1).unwrap_or(u32::MAX)
    }

    /// Entities that were lost.
    pub(super) fn entities(&self) -> u64 {
        self.entities
    }

    /// Counts one and says what it is as a reject; `lines` gets it as a line of JSON.
    pub(super) fn reject(&mut self, conflict: &Conflict, lines: &mut Vec<u8>) -> Reject {
        self.entities += 1;
        let row = conflict.lost.as_ref();
        let key = row.key();
        if !self.keys.iter().any(|named| named.as_ref() == key) {
            match self.keys.len() < KEYS_NAMED_MAX {
                true => self.keys.push(key.to_key()),
                false => self.has_more_keys = true,
            }
        }
        let (lost, kept) = (row.origin().map(|at| self.place(at)), conflict.kept_origin.map(|at| self.place(at)));
        let why = "and no Timestamp says which is newer";
        let shown = shown(&key.to_key());
        let (reason, (input, place)) = match (lost, kept) {
            (Some(lost), Some((input, place))) => {
                let kept = place.of(&input).to_string();
                (format!("the entity at {kept} has the same key {shown} and differs, {why}; that one was taken"), lost)
            }
            (Some(lost), None) => {
                (format!("another entity has the same key {shown} and differs, {why}; that one was taken"), lost)
            }
            // What was written already is known by what met it.
            (None, Some(kept)) => {
                (format!("an entity before has the same key {shown} and differs, {why}; the one here was taken"), kept)
            }
            (None, None) => (
                format!("two entities have the same key {shown} and differ, {why}; the later one was taken"),
                (INPUT.into(), Place::Row(0)),
            ),
        };
        let reject = Reject { input, place, reason };
        write_lost(&reject, row, &self.names, &self.options.keys, lines);
        reject
    }

    fn place(&self, origin: u64) -> (Arc<str>, Place) {
        let (source, place) = Place::of_origin(origin);
        let input = self.inputs.get(source as usize).or(self.inputs.last());
        (input.cloned().unwrap_or_else(|| INPUT.into()), place)
    }

    /// What is to be told of all of them.
    pub(super) fn warning(&self) -> Option<Warning> {
        let first = self.keys.first()?;
        let mut keys: Vec<String> = std::iter::once(first).chain(&self.keys[1..]).map(shown).collect();
        if self.has_more_keys {
            keys.push("...".to_owned());
        }
        let entities = match self.entities {
            1 => "1 entity shares its key with another one that differs".to_owned(),
            entities => format!("{entities} entities share their keys with others that differ"),
        };
        let reason = format!("{entities}, and no Timestamp says which is newer: {}", keys.join(", "));
        Some(Warning { input: INPUT.into(), kind: WarningKind::Conflicting, reason })
    }
}

fn shown(key: &Key) -> String {
    format!("({:?}, {:?})", key.partition, key.row)
}
