//! Property names as small numbers.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::{Rejected, Rule, validate_property_name};

/// Most different property names that one [`PropertyNames`] takes from input, so that its memory is
/// bounded.
const PROPERTY_NAMES_MAX: usize = 1 << 20;

/// A property's name, as numbered by a [`PropertyNames`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropertyId(pub u32);

impl PropertyId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// All property names met so far, numbered from 0 in the order in which they were first seen;
/// shared between threads.
#[derive(Debug, Default)]
pub struct PropertyNames {
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    ids: HashMap<Arc<str>, PropertyId>,
    names: Vec<Arc<str>>,
}

impl PropertyNames {
    /// An interner without names.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of a name, which is taken as it is: names from input go through
    /// [`PropertyNames::accept`].
    pub fn intern(&self, name: &str) -> PropertyId {
        if let Some(id) = self.find(name) {
            return id;
        }
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(&id) = inner.ids.get(name) {
            return id;
        }
        let id = PropertyId(inner.names.len() as u32);
        let name: Arc<str> = Arc::from(name);
        inner.names.push(Arc::clone(&name));
        inner.ids.insert(name, id);
        id
    }

    /// The number of a name from input.
    ///
    /// # Errors
    /// A name that breaks the service's rules; [`Rule::PropertyCount`] for a new one beyond 2^20.
    pub fn accept(&self, name: &str) -> Result<PropertyId, Rejected> {
        if let Some(id) = self.find(name) {
            return Ok(id);
        }
        validate_property_name(name)?;
        if self.len() >= PROPERTY_NAMES_MAX {
            let limit = format!("a table or an input has at most {PROPERTY_NAMES_MAX} different property names");
            return Err(Rejected::new("property name", name, Rule::PropertyCount, limit));
        }
        Ok(self.intern(name))
    }

    /// The number of a name that has one.
    pub fn find(&self, name: &str) -> Option<PropertyId> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).ids.get(name).copied()
    }

    /// The name of a number handed out by this interner; any other number is a programming error
    /// and panics.
    pub fn name(&self, id: PropertyId) -> Arc<str> {
        Arc::clone(&self.inner.read().unwrap_or_else(PoisonError::into_inner).names[id.index()])
    }

    /// Every name by its number, as of now.
    pub fn all(&self) -> Vec<Arc<str>> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).names.clone()
    }

    /// How many names are numbered.
    pub fn len(&self) -> usize {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).names.len()
    }

    /// Whether no name is numbered yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One thread's view of a [`PropertyNames`]: names it has met cost no lock.
///
/// Entities of one table mostly have their properties in the same order, so the name that followed
/// the last one before is tried first; a hit costs one comparison.
#[derive(Debug)]
pub struct NameCache {
    shared: Arc<PropertyNames>,
    slots: HashMap<Arc<str>, usize>,
    entries: Vec<CacheEntry>,
    /// Entry of the name met last.
    last: usize,
}

#[derive(Debug)]
struct CacheEntry {
    name: Arc<str>,
    id: PropertyId,
    /// Entry that came after this one when it was met last.
    next: usize,
}

impl NameCache {
    /// An empty cache of an interner.
    pub fn new(shared: &Arc<PropertyNames>) -> Self {
        Self { shared: Arc::clone(shared), slots: HashMap::new(), entries: Vec::new(), last: 0 }
    }

    /// The number of a property name.
    ///
    /// # Errors
    /// As for [`PropertyNames::accept`].
    pub fn intern(&mut self, name: &str) -> Result<PropertyId, Rejected> {
        let next = self.entries.get(self.last).map_or(0, |last| last.next);
        if let Some(entry) = self.entries.get(next)
            && *entry.name == *name
        {
            self.last = next;
            return Ok(entry.id);
        }
        let slot = match self.slots.get(name) {
            Some(&slot) => slot,
            None => self.add(name)?,
        };
        if let Some(last) = self.entries.get_mut(self.last) {
            last.next = slot;
        }
        self.last = slot;
        Ok(self.entries[slot].id)
    }

    /// The interner behind this cache.
    pub fn shared(&self) -> &Arc<PropertyNames> {
        &self.shared
    }

    fn add(&mut self, name: &str) -> Result<usize, Rejected> {
        let id = self.shared.accept(name)?;
        let name = self.shared.name(id);
        let slot = self.entries.len();
        self.entries.push(CacheEntry { name: Arc::clone(&name), id, next: slot + 1 });
        self.slots.insert(name, slot);
        Ok(slot)
    }
}
