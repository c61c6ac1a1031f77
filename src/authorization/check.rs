//! The way from a shared access signature to an authority.

use rowkey_base::DateTime;
use rowkey_model::{AccessPolicy, TableName};
use rowkey_sql::engine::EntityService;

use super::account_keys::AccountKeys;
use super::authority::Authority;
use super::parameters::SharedAccessSignature;
use super::place::Place;
use super::refusal::Refusal;
use super::{account_sas, service_sas};

impl SharedAccessSignature {
    /// What its holder may do at this time; `policies` are the stored access policies of a table of
    /// the account, as [`stored_policies`] has them.
    ///
    /// # Errors
    /// A [`Refusal`] for a signature that is wrong, or not for this place or this time.
    pub fn check(
        &self,
        account: &str,
        keys: &AccountKeys,
        policies: &dyn Fn(&TableName) -> Vec<AccessPolicy>,
        place: Place,
        now: DateTime,
    ) -> Result<Authority, Refusal> {
        if self.get("ss").is_some() || self.get("srt").is_some() {
            return account_sas::check(self, account, keys, place, now);
        }
        service_sas::check(self, account, keys, policies, place, now).map(Authority::Table)
    }
}

/// The stored access policies of the tables of an account as they are now, for its owner.
pub fn stored_policies(owner: &EntityService) -> impl Fn(&TableName) -> Vec<AccessPolicy> {
    move |table| owner.table_id(table.as_str()).and_then(|id| owner.access_policies(id)).unwrap_or_default()
}
