//! What the Table service keeps beside entities: stored access policies of tables, and properties
//! and keys of accounts.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Catalog;
use rowkey_model::{AccessPolicy, AccountName};

/// All of them in a data folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServiceSettings {
    /// By the id of the table; a table without policies has no entry.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    access_policies: BTreeMap<u64, Vec<AccessPolicy>>,
    /// By account, in the form of the door that sets them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    properties: BTreeMap<String, Arc<str>>,
    /// By account, in base64; an account without keys has no entry.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    keys: BTreeMap<String, Vec<String>>,
}

impl ServiceSettings {
    pub(super) fn is_empty(&self) -> bool {
        self.access_policies.is_empty() && self.properties.is_empty() && self.keys.is_empty()
    }

    /// Takes out what is kept for a table.
    pub(super) fn forget(&mut self, table: u64) {
        self.access_policies.remove(&table);
    }
}

impl Catalog {
    /// The stored access policies of a table, in their order.
    pub fn access_policies(&self, table: u64) -> &[AccessPolicy] {
        self.service_settings.access_policies.get(&table).map(Vec::as_slice).unwrap_or_default()
    }

    /// The properties of the Table service that were set for an account, as they were written;
    /// the same text in memory until they are set again.
    pub fn service_properties(&self, account: &AccountName) -> Option<&Arc<str>> {
        self.service_settings.properties.get(account.as_str())
    }

    /// The accounts that have keys, with these in base64, in the order of their names.
    pub fn account_keys(&self) -> impl ExactSizeIterator<Item = (&str, &[String])> {
        self.service_settings.keys.iter().map(|(account, keys)| (account.as_str(), keys.as_slice()))
    }

    /// The keys of one account in base64, none where it has none.
    pub fn keys_of(&self, account: &AccountName) -> &[String] {
        self.service_settings.keys.get(account.as_str()).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn set_account_keys(&mut self, account: &str, keys: &[String]) {
        match keys {
            [] => self.service_settings.keys.remove(account),
            keys => self.service_settings.keys.insert(account.to_owned(), keys.to_vec()),
        };
    }

    pub(super) fn set_access_policies(&mut self, table: u64, policies: &[AccessPolicy]) -> Result<(), String> {
        if !self.tables.contains_key(&table) {
            return Err(format!("access policies are set for table {table}, which does not exist"));
        }
        match policies {
            [] => self.service_settings.access_policies.remove(&table),
            policies => self.service_settings.access_policies.insert(table, policies.to_vec()),
        };
        Ok(())
    }

    pub(super) fn set_service_properties(&mut self, account: &str, text: &str) {
        self.service_settings.properties.insert(account.to_owned(), text.into());
    }
}
