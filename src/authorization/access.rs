//! A signature that is kept, and checked at every use.

use std::sync::Arc;

use rowkey_base::Result;
use rowkey_base::clock::Clock;
use rowkey_model::AccountName;
use rowkey_sql::engine::EntityService;

use super::accounts::Accounts;
use super::authority::{Action, Authority};
use super::check::stored_policies;
use super::parameters::SharedAccessSignature;
use super::place::Place;
use super::refusal::Refusal;

/// The account of a data folder as the holder of a shared access signature may use it. The
/// signature is checked at every use, as that of a request is: keys that are exchanged and stored
/// access policies that are changed count from then on.
#[derive(Debug)]
pub struct SharedAccess {
    owner: EntityService,
    accounts: Accounts,
    clock: Arc<dyn Clock>,
    signature: SharedAccessSignature,
}

impl SharedAccess {
    /// Takes a signature as [`SharedAccessSignature::parse`] reads it and checks it; `owner` may do
    /// everything with the account.
    ///
    /// # Errors
    /// `INVALID_AUTHORIZATION_SPECIFICATION` for a signature that is wrong, not valid yet or
    /// expired, `INSUFFICIENT_PRIVILEGE` for one that is not for tables or not for this process
    /// (`sip`); each with a [`Refusal`] as its source, but for an escape that is wrong.
    pub fn open(owner: EntityService, accounts: Accounts, clock: Arc<dyn Clock>, signature: &str) -> Result<Self> {
        let signature = SharedAccessSignature::parse(signature)?;
        let access = Self { owner, accounts, clock, signature };
        access.authority()?;
        Ok(access)
    }

    /// The account that the signature is of.
    pub fn account(&self) -> &AccountName {
        self.owner.account()
    }

    /// The account's entities for the holder, who is known to have a signature that is right, and
    /// no more than that.
    ///
    /// # Errors
    /// As for [`SharedAccess::open`].
    pub fn entities(&self) -> Result<EntityService> {
        Ok(self.entities_as(&self.authority()?))
    }

    /// The account's entities for the holder, whose signature is made for such an action. What of
    /// tables and entities it permits, the service says.
    ///
    /// # Errors
    /// As for [`SharedAccess::open`]; `INSUFFICIENT_PRIVILEGE` for another action.
    pub fn entities_for(&self, action: Action) -> Result<EntityService> {
        let authority = self.authority()?;
        authority.expect(action)?;
        Ok(self.entities_as(&authority))
    }

    fn entities_as(&self, authority: &Authority) -> EntityService {
        self.owner.for_principal(authority.principal(self.owner.account().as_str()))
    }

    fn authority(&self) -> Result<Authority, Refusal> {
        let keys = self.accounts.keys_of(&self.owner).ok_or(Refusal::Account)?;
        let (account, policies) = (self.owner.account().as_str(), stored_policies(&self.owner));
        self.signature.check(account, &keys, &policies, Place::Process, self.clock.now())
    }
}
