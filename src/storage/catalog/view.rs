//! Views: queries that have a name.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Catalog;
use rowkey_model::AccountName;

/// A query under a name. It is kept as it was written and planned where it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// From the same numbers as those of tables.
    pub id: u64,
    pub account: String,
    /// As it was given; compared without regard to case.
    pub name: String,
    /// The text of the query, as it was written.
    pub sql: String,
    /// The columns the view had when it was made, which it keeps.
    pub columns: Vec<ViewColumn>,
    /// Ids of the tables and views that the query names.
    pub reads: Vec<u64>,
    /// None where all settings read its literals alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub literals: Option<LiteralSettings>,
}

/// The settings of the session that made a view, by which its literals are read, as `SET` takes
/// them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiteralSettings {
    pub time_zone: String,
    pub date_style: String,
    pub interval_style: String,
}

/// A column of a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViewColumn {
    pub name: String,
    /// Name in `pg_type` of the type the column had when the view was made.
    pub postgres_type: String,
    /// The name that the query gives the column, if a list of columns gave it another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl ViewColumn {
    /// The name of the column in the result of the query.
    pub fn query_name(&self) -> &str {
        self.source.as_deref().unwrap_or(&self.name)
    }
}

/// Whether two names of tables or views are one.
pub(super) fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || (!a.is_ascii() && a.to_lowercase() == b.to_lowercase())
}

impl Catalog {
    /// The views of all accounts, by ascending id.
    pub fn views(&self) -> impl Iterator<Item = &Arc<View>> {
        self.views.values()
    }

    /// The view of an account by its name, whatever the case.
    pub fn view(&self, account: &AccountName, name: &str) -> Option<&Arc<View>> {
        self.views.values().find(|view| view.account == account.as_str() && same_name(&view.name, name))
    }

    /// The view of an id.
    pub fn view_by_id(&self, id: u64) -> Option<&Arc<View>> {
        self.views.get(&id)
    }

    /// The views that read a table or view, straight or through other views: each stands before
    /// those it reads, which is an order they can be dropped in.
    pub fn dependents(&self, id: u64) -> Vec<Arc<View>> {
        let (mut seen, mut found) = (HashSet::from([id]), Vec::new());
        self.add_dependents(id, &mut seen, &mut found);
        found
    }

    fn add_dependents(&self, id: u64, seen: &mut HashSet<u64>, found: &mut Vec<Arc<View>>) {
        for view in self.views.values().filter(|view| view.reads.contains(&id)) {
            if seen.insert(view.id) {
                self.add_dependents(view.id, seen, found);
                found.push(Arc::clone(view));
            }
        }
    }

    /// Whether a table or view of an account has this name, whatever the case.
    pub(super) fn name_is_taken(&self, account: &str, name: &str) -> bool {
        self.tables.values().any(|table| table.account == account && same_name(&table.name, name))
            || self.views.values().any(|view| view.account == account && same_name(&view.name, name))
    }

    pub(super) fn create_view(&mut self, view: View, replaces: bool) -> Result<(), String> {
        for read in &view.reads {
            let account = match (self.tables.get(read), self.views.get(read)) {
                (Some(table), _) => &table.account,
                (_, Some(read)) => &read.account,
                (None, None) => return Err(format!("view {} reads relation {read}, which does not exist", view.name)),
            };
            if *account != view.account {
                return Err(format!("view {} reads relation {read} of another account", view.name));
            }
        }
        if replaces {
            let replaced = self.views.get(&view.id);
            if !replaced.is_some_and(|old| old.account == view.account && same_name(&old.name, &view.name)) {
                return Err(format!("view {} ({}) is replaced and does not exist", view.name, view.id));
            }
            let depends = |read: &u64| *read == view.id || self.dependents(view.id).iter().any(|v| v.id == *read);
            if view.reads.iter().any(depends) {
                return Err(format!("view {} reads itself", view.name));
            }
        } else {
            if view.id < self.next_table_id {
                return Err(format!("view {} has id {}, which was given out before", view.name, view.id));
            }
            if self.name_is_taken(&view.account, &view.name) {
                return Err(format!("relation \"{}\" already exists", view.name));
            }
            self.next_table_id = view.id + 1;
        }
        self.views.insert(view.id, Arc::new(view));
        Ok(())
    }

    pub(super) fn drop_view(&mut self, id: u64) -> Result<(), String> {
        self.refuse_if_read(id)?;
        self.views.remove(&id).ok_or_else(|| format!("view {id} is dropped and does not exist"))?;
        self.comments.forget(id);
        Ok(())
    }

    /// A table or view can go only when no view reads it any more.
    pub(super) fn refuse_if_read(&self, id: u64) -> Result<(), String> {
        match self.views.values().find(|view| view.reads.contains(&id)) {
            Some(view) => Err(format!("relation {id} is dropped, and view {} reads it", view.name)),
            None => Ok(()),
        }
    }
}
