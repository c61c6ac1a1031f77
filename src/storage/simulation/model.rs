//! What a store should hold: tables as maps, and commits as what they change in them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{Change, Condition, Operation, Refusal};
use rowkey_model::{DateTime, Key, Value};

pub(super) type Content = BTreeMap<String, Value>;

/// An entity; without an ETag where its writer never learned it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stored {
    pub etag: Option<DateTime>,
    pub content: Content,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TableModel {
    pub name: String,
    pub rows: BTreeMap<Key, Arc<Stored>>,
}

/// All tables, by id.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Model(pub BTreeMap<u64, TableModel>);

/// One effect of a commit.
#[derive(Debug, Clone)]
pub(super) enum Effect {
    Create(u64, String),
    Drop(u64),
    Rename(u64, String),
    Truncate(u64),
    Put(u64, Key, Arc<Stored>),
    Remove(u64, Key),
}

/// What one record of the log changes, all or nothing.
pub(super) type Commit = Vec<Effect>;

/// What should come of some operations.
#[derive(Debug, Clone)]
pub(super) enum Predicted {
    /// The ETags are those of the answer.
    Written(Commit),
    /// Where the store has another ETag than asked for, the model may not know it.
    Refused(usize, Refusal),
    Rejected(usize),
}

/// No property may be called so.
pub(super) const REJECTED_NAME: &str = "RowKey";

impl Model {
    pub(super) fn apply(&mut self, commit: &Commit) {
        for effect in commit {
            match effect {
                Effect::Create(id, name) => {
                    self.0.insert(*id, TableModel { name: name.clone(), rows: BTreeMap::new() });
                }
                Effect::Drop(id) => drop(self.0.remove(id)),
                Effect::Rename(id, name) => self.table_mut(*id).name.clone_from(name),
                Effect::Truncate(id) => self.table_mut(*id).rows.clear(),
                Effect::Put(id, key, stored) => drop(self.table_mut(*id).rows.insert(key.clone(), Arc::clone(stored))),
                Effect::Remove(id, key) => drop(self.table_mut(*id).rows.remove(key)),
            }
        }
    }

    fn table_mut(&mut self, id: u64) -> &mut TableModel {
        self.0.get_mut(&id).expect("a table of the model")
    }

    pub(super) fn get(&self, table: u64, key: &Key) -> Option<&Arc<Stored>> {
        self.0.get(&table)?.rows.get(key)
    }

    /// What the data model says of operations: conditions first, in their order, then the rules.
    pub(super) fn predict(&self, operations: &[Operation<'_>]) -> Predicted {
        for (index, operation) in operations.iter().enumerate() {
            if let Some(refusal) = self.refusal(operation) {
                return Predicted::Refused(index, refusal);
            }
        }
        let mut commit = Commit::new();
        for (index, operation) in operations.iter().enumerate() {
            let (table, key) = (operation.table, operation.key.as_ref().clone());
            let (set, base) = match &operation.change {
                Change::Delete => {
                    commit.push(Effect::Remove(table, key));
                    continue;
                }
                Change::Keep => continue,
                Change::Insert(set) | Change::Replace(set) | Change::InsertOrReplace(set) => (set, None),
                Change::Merge(set) | Change::InsertOrMerge(set) => (set, self.get(table, &key)),
            };
            if set.iter().any(|(name, _)| &**name == REJECTED_NAME) {
                return Predicted::Rejected(index);
            }
            let mut content = base.map(|stored| stored.content.clone()).unwrap_or_default();
            content.extend(set.iter().map(|(name, value)| (name.to_string(), value.clone())));
            commit.push(Effect::Put(table, key, Arc::new(Stored { etag: None, content })));
        }
        Predicted::Written(commit)
    }

    fn refusal(&self, operation: &Operation<'_>) -> Option<Refusal> {
        let current = self.get(operation.table, &operation.key);
        let etag = current.map(|stored| stored.etag);
        match (operation.condition, etag) {
            (Condition::Unchanged(read), _) if etag != read.map(Some) => return Some(Refusal::Changed),
            (Condition::Etag(_), None) => return Some(Refusal::Missing),
            (Condition::Etag(wanted), Some(actual)) if actual != Some(wanted) => {
                return Some(Refusal::EtagDiffers { actual: actual.unwrap_or(wanted) });
            }
            _ => {}
        }
        match (&operation.change, current) {
            (Change::Insert(_), Some(_)) => Some(Refusal::Exists),
            (Change::Replace(_) | Change::Merge(_) | Change::Delete | Change::Keep, None) => Some(Refusal::Missing),
            _ => None,
        }
    }

    /// In what tables and entities another one differs.
    pub(super) fn differences(&self, other: &Model) -> Vec<String> {
        let mut differences = Vec::new();
        let tables: BTreeSet<u64> = self.0.keys().chain(other.0.keys()).copied().collect();
        for id in tables {
            let (Some(own), Some(theirs)) = (self.0.get(&id), other.0.get(&id)) else {
                differences.push(format!(
                    "table {id}: {:?}, {:?}",
                    self.0.contains_key(&id),
                    other.0.contains_key(&id)
                ));
                continue;
            };
            if own.name != theirs.name {
                differences.push(format!("table {id}: {}, {}", own.name, theirs.name));
            }
            let keys: BTreeSet<&Key> = own.rows.keys().chain(theirs.rows.keys()).collect();
            for key in keys.into_iter().filter(|key| own.rows.get(key) != theirs.rows.get(key)) {
                differences.push(format!("{key:?} of {id}: {:?}, {:?}", own.rows.get(key), theirs.rows.get(key)));
            }
        }
        differences
    }

    /// Whether a store that holds `found` holds this; ETags of writes without an answer are any.
    fn matches(&self, found: &Model) -> bool {
        let same_rows = |own: &TableModel, theirs: &TableModel| {
            own.rows.len() == theirs.rows.len()
                && own.rows.iter().zip(&theirs.rows).all(|((key, row), (other_key, other))| {
                    key == other_key && row.content == other.content && (row.etag.is_none() || row.etag == other.etag)
                })
        };
        self.0.len() == found.0.len()
            && self.0.iter().zip(&found.0).all(|((id, table), (other_id, other))| {
                id == other_id && table.name == other.name && same_rows(table, other)
            })
    }
}

/// Gives the entities of a commit their ETag.
pub(super) fn stamp(commit: &mut Commit, etag: DateTime) {
    for effect in commit {
        if let Effect::Put(_, _, stored) = effect {
            Arc::make_mut(stored).etag = Some(etag);
        }
    }
}

/// What was answered, by how much of it a crash may take.
#[derive(Debug, Default)]
pub(super) struct History {
    /// What no crash takes.
    durable: Model,
    /// Acknowledged before they were synced, in their order.
    unsynced: Vec<Commit>,
    /// All that was acknowledged: what readers see.
    pub visible: Model,
    /// Answered with an unknown outcome, in their order, behind all others.
    unknown: Vec<Commit>,
}

impl History {
    /// A commit was acknowledged, durable or not.
    pub(super) fn acknowledge(&mut self, commit: Commit, is_synced: bool) {
        assert!(self.unknown.is_empty(), "acknowledged behind a commit of an unknown outcome");
        self.visible.apply(&commit);
        self.unsynced.push(commit);
        if is_synced {
            self.synced();
        }
    }

    /// All that was acknowledged is durable.
    pub(super) fn synced(&mut self) {
        for commit in self.unsynced.drain(..) {
            self.durable.apply(&commit);
        }
    }

    pub(super) fn unknown(&mut self, commit: Commit) {
        self.unknown.push(commit);
    }

    /// The store was opened and holds this: all that was acknowledged, or after the loss of what
    /// was not synced the first part of it, and the first of the others. Says whether something
    /// acknowledged is gone; the error is what should be there at least.
    pub(super) fn recovered(&mut self, found: Model, may_lose_unsynced: bool) -> Result<bool, Box<Model>> {
        let least = if may_lose_unsynced { &self.durable } else { &self.visible };
        let perhaps: &[Commit] = if may_lose_unsynced { &self.unsynced } else { &[] };
        let mut state = least.clone();
        let mut commits = perhaps.iter().chain(&self.unknown);
        while !state.matches(&found) {
            let Some(commit) = commits.next() else { return Err(Box::new(least.clone())) };
            state.apply(commit);
        }
        let is_loss = may_lose_unsynced && !self.visible.matches(&found) && self.unknown.is_empty();
        *self = Self { durable: found.clone(), visible: found, ..Self::default() };
        Ok(is_loss)
    }
}
