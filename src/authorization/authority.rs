//! What a caller may do.

use rowkey_sql::engine::{Grant, Principal};

use super::refusal::Refusal;

/// What a caller may do whose signature is right.
#[derive(Debug, Clone, PartialEq)]
pub enum Authority {
    /// The account's own: everything.
    Owner,
    /// A service SAS of one table.
    Table(Grant),
    /// An account SAS, with its letters.
    Account { grant: Grant, resource_types: String, permissions: String },
}

/// What needs more than the permissions of entities and tables, which the entity service looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Reading properties and statistics of the account's service.
    ReadService,
    /// Setting its properties.
    WriteService,
    /// Listing, creating and deleting tables.
    Tables,
    /// Reading and writing entities.
    Entities,
    /// Reading and setting the stored access policies of a table.
    AccessPolicies,
}

impl Authority {
    /// What the entity service enforces of it.
    pub fn principal(&self, account: &str) -> Principal {
        match self {
            Authority::Owner => Principal::new(account),
            Authority::Table(grant) | Authority::Account { grant, .. } => Principal::granted(account, grant.clone()),
        }
    }

    /// Refuses what a signature is not made for (the tables of sections 4.2 and 4.3).
    ///
    /// # Errors
    /// [`Refusal::Action`], [`Refusal::ResourceType`] or [`Refusal::Permission`].
    pub fn expect(&self, action: Action) -> Result<(), Refusal> {
        match self {
            Authority::Owner => Ok(()),
            Authority::Table(_) if action == Action::Entities => Ok(()),
            Authority::Table(_) => Err(Refusal::Action),
            Authority::Account { resource_types, permissions, .. } => {
                let resource_type = match action {
                    Action::ReadService | Action::WriteService => 's',
                    Action::Tables => 'c',
                    Action::Entities => 'o',
                    Action::AccessPolicies => return Err(Refusal::Action),
                };
                if !resource_types.contains(resource_type) {
                    return Err(Refusal::ResourceType);
                }
                let letter = match action {
                    Action::ReadService => 'r',
                    Action::WriteService => 'w',
                    Action::Tables | Action::Entities | Action::AccessPolicies => return Ok(()),
                };
                if permissions.contains(letter) { Ok(()) } else { Err(Refusal::Permission) }
            }
        }
    }
}
