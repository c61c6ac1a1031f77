//! Types that the user names for properties which no input has.

use std::collections::BTreeMap;
use std::sync::Arc;

use rowkey_formats::{PropertyTypes, Warning, WarningKind};
use rowkey_model::rows::PropertyNames;
use rowkey_postgres::suggestion::suggestion;

/// What warnings call the place where types are named.
const INPUT: &str = "types";

/// Types that were named and not yet needed: most likely the name is misspelt, and the values have
/// the wrong type without a word.
#[derive(Debug, Default)]
pub(super) struct NamedTypes {
    /// By property: the name in the inputs that is most like it.
    unmet: BTreeMap<Arc<str>, Option<Arc<str>>>,
    /// True once anything was read that could have had them.
    has_read: bool,
}

impl NamedTypes {
    pub(super) fn of(types: &PropertyTypes) -> Self {
        Self { unmet: types.names().map(|name| (Arc::clone(name), None)).collect(), has_read: false }
    }

    /// Takes note of a source that has properties of the names `met`.
    pub(super) fn meet(&mut self, met: &[Arc<str>], has_entities: bool) {
        self.has_read |= has_entities || !met.is_empty();
        for name in met {
            self.unmet.remove(name);
        }
    }

    /// Looks among the names of the inputs for those that were meant.
    pub(super) fn look_for_likes(&mut self, names: &PropertyNames) {
        if self.unmet.is_empty() {
            return;
        }
        let all = names.all();
        let others: Vec<&str> = all.iter().map(|name| &**name).filter(|name| !self.unmet.contains_key(*name)).collect();
        let mut found = Vec::new();
        for (name, _) in self.unmet.iter().filter(|(_, like)| like.is_none()) {
            let same = others.iter().find(|other| other.eq_ignore_ascii_case(name)).copied();
            found.push((Arc::clone(name), same.or_else(|| suggestion(name, &others)).map(Arc::from)));
        }
        self.unmet.extend(found);
    }

    /// One for each, unless nothing was read at all: a table without entities says nothing of
    /// names.
    pub(super) fn warnings(&self) -> impl Iterator<Item = Warning> + '_ {
        let unmet = self.unmet.iter().filter(|_| self.has_read);
        unmet.map(|(name, like)| Warning {
            input: INPUT.into(),
            kind: WarningKind::Unused,
            reason: match like {
                Some(like) => format!("no input has a property \"{name}\", whose type is named; there is \"{like}\""),
                None => format!("no input has a property \"{name}\", whose type is named"),
            },
        })
    }
}
