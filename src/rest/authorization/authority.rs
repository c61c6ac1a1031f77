//! What a request may do.

use rowkey_sql::engine::{Grant, Principal};

use crate::errors::Failure;

/// Of a request whose signature is right.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Authority {
    /// It was signed with a key of the account.
    Owner,
    /// A service SAS of one table.
    Table(Grant),
    /// An account SAS, with its letters.
    Account { grant: Grant, resource_types: String, permissions: String },
}

/// What needs more than the permissions of entities and tables, which the entity service looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    ReadService,
    WriteService,
    /// Listing, creating and deleting tables.
    Tables,
    Entities,
    AccessPolicies,
}

impl Authority {
    pub(crate) fn principal(&self, account: &str) -> Principal {
        match self {
            Authority::Owner => Principal::new(account),
            Authority::Table(grant) | Authority::Account { grant, .. } => Principal::granted(account, grant.clone()),
        }
    }

    /// Refuses what a signature is not made for (the tables of sections 4.2 and 4.3).
    pub(crate) fn expect(&self, action: Action) -> Result<(), Failure> {
        match self {
            Authority::Owner => Ok(()),
            Authority::Table(_) if action == Action::Entities => Ok(()),
            Authority::Table(_) => Err(Failure::authorization()),
            Authority::Account { resource_types, permissions, .. } => {
                let resource_type = match action {
                    Action::ReadService | Action::WriteService => 's',
                    Action::Tables => 'c',
                    Action::Entities => 'o',
                    Action::AccessPolicies => return Err(Failure::authorization()),
                };
                if !resource_types.contains(resource_type) {
                    let text = "This request is not authorized to perform this operation using this resource type.";
                    return Err(Failure::new(403, "AuthorizationResourceTypeMismatch", text));
                }
                let letter = match action {
                    Action::ReadService => 'r',
                    Action::WriteService => 'w',
                    Action::Tables | Action::Entities | Action::AccessPolicies => return Ok(()),
                };
                if permissions.contains(letter) { Ok(()) } else { Err(Failure::permission()) }
            }
        }
    }
}
