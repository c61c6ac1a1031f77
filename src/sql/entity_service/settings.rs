//! What the Table service keeps beside entities: access policies, service properties, and keys of
//! accounts.

use std::sync::Arc;

use super::service::{EntityService, blocking};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::AccessPolicy;
use rowkey_storage::Edit;

/// Stored access policies of a table, and characters of their ids, at most (specification, section
/// 4.4).
const POLICIES_MAX: usize = 5;
const POLICY_ID_CHARS_MAX: usize = 64;
/// What a policy may permit.
const POLICY_LETTERS: &str = "raud";

impl EntityService {
    /// The stored access policies of a table, in their order.
    ///
    /// # Errors
    /// `INSUFFICIENT_PRIVILEGE` for holders of a signature, `UNDEFINED_TABLE` if the table is gone.
    pub fn access_policies(&self, table: u64) -> Result<Vec<AccessPolicy>> {
        self.principal().expect_owner()?;
        self.expect_table(table)?;
        Ok(self.store.snapshot().catalog.access_policies(table).to_vec())
    }

    /// Sets all stored access policies of a table; when this returns they are durable.
    ///
    /// # Errors
    /// As for [`EntityService::access_policies`]; `INVALID_PARAMETER_VALUE` for more than five, an
    /// id that comes twice or is longer than 64 characters, and letters that are none of `raud`.
    pub async fn set_access_policies(&self, table: u64, policies: Vec<AccessPolicy>) -> Result<()> {
        self.principal().expect_owner()?;
        self.expect_table(table)?;
        check_policies(&policies)?;
        let service = self.clone();
        let edit = Edit::SetAccessPolicies { table, policies };
        blocking(move || Ok(service.store.commit(&[edit])?)).await.map(drop)
    }

    /// The properties of the account's Table service as they were set last, if ever.
    /// They are the same text in memory until they are set again.
    pub fn service_properties(&self) -> Option<Arc<str>> {
        self.store.snapshot().catalog.service_properties(&self.account).cloned()
    }

    /// Sets the properties of the account's Table service; when this returns they are durable.
    pub async fn set_service_properties(&self, text: String) -> Result<()> {
        let service = self.clone();
        let edit = Edit::SetServiceProperties { account: self.account.as_str().to_owned(), text };
        blocking(move || Ok(service.store.commit(&[edit])?)).await.map(drop)
    }

    /// The accounts of the data folder that have keys, with these in base64.
    ///
    /// # Errors
    /// `INSUFFICIENT_PRIVILEGE` for holders of a signature.
    pub fn account_keys(&self) -> Result<Vec<(String, Vec<String>)>> {
        self.principal().expect_owner()?;
        let snapshot = self.store.snapshot();
        Ok(snapshot.catalog.account_keys().map(|(name, keys)| (name.to_owned(), keys.to_vec())).collect())
    }

    /// The keys of this account in base64, and none where no account of the data folder has any.
    ///
    /// # Errors
    /// As for [`EntityService::account_keys`].
    pub fn own_keys(&self) -> Result<Option<Vec<String>>> {
        self.principal().expect_owner()?;
        let snapshot = self.store.snapshot();
        let catalog = &snapshot.catalog;
        let has_keys = catalog.account_keys().len() > 0;
        Ok(has_keys.then(|| catalog.keys_of(&self.account).to_vec()))
    }

    /// Sets all keys of the account, in base64; none of them takes the account away from the Table
    /// service, and leaves its tables. When this returns it is durable.
    ///
    /// # Errors
    /// As for [`EntityService::account_keys`].
    pub async fn set_account_keys(&self, keys: Vec<String>) -> Result<()> {
        self.principal().expect_owner()?;
        let service = self.clone();
        let edit = Edit::SetAccountKeys { account: self.account.as_str().to_owned(), keys };
        blocking(move || Ok(service.store.commit(&[edit])?)).await.map(drop)
    }
}

fn check_policies(policies: &[AccessPolicy]) -> Result<()> {
    let refused = |what: String| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, what));
    if policies.len() > POLICIES_MAX {
        return refused(format!("a table has at most {POLICIES_MAX} stored access policies"));
    }
    for (at, AccessPolicy { id, permissions, .. }) in policies.iter().enumerate() {
        if id.chars().count() > POLICY_ID_CHARS_MAX {
            return refused(format!("the id of a stored access policy has at most {POLICY_ID_CHARS_MAX} characters"));
        }
        if policies[..at].iter().any(|other| other.id == *id) {
            return refused(format!("stored access policy \"{id}\" is given twice"));
        }
        if permissions.as_ref().is_some_and(|letters| !letters.chars().all(|letter| POLICY_LETTERS.contains(letter))) {
            return refused(format!("stored access policy \"{id}\" permits what is none of {POLICY_LETTERS}"));
        }
    }
    Ok(())
}
