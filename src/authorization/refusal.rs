//! Why a signature is of no use.

use rowkey_base::{Error, SqlState};

/// Why a shared access signature is not accepted, or not for what is asked; the source of an error
/// of `INVALID_AUTHORIZATION_SPECIFICATION` or `INSUFFICIENT_PRIVILEGE`. That one may not do
/// something with a table or an entity is [`Denied`](rowkey_sql::engine::Denied).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A parameter, which is named, is missing or means nothing.
    #[error("{0} of the shared access signature is missing or wrong")]
    Malformed(&'static str),
    /// A parameter and the stored access policy say the same thing.
    #[error("{0} is said by the shared access signature and by its stored access policy")]
    Twice(&'static str),
    /// The text was changed, or it was signed with another key.
    #[error("the shared access signature was not made with a key of the account")]
    Signature,
    /// The account is not served, or there is none.
    #[error("the account has no key")]
    Account,
    /// The stored access policy that it names is not there, or no longer.
    #[error("the stored access policy of the shared access signature does not exist")]
    Policy,
    /// Its start lies in the future.
    #[error("the shared access signature is not valid yet")]
    NotYetValid,
    /// Its expiry has passed.
    #[error("the shared access signature has expired")]
    Expired,
    /// It is for HTTPS.
    #[error("the shared access signature is not for this protocol")]
    Protocol,
    /// It is for clients elsewhere.
    #[error("the shared access signature is not for this address")]
    Address,
    /// It is for blobs, queues or files.
    #[error("the shared access signature is not for tables")]
    Service,
    /// It is for others of service, tables and entities.
    #[error("the shared access signature is not for this type of resource")]
    ResourceType,
    /// It lacks a letter.
    #[error("the shared access signature does not permit this operation")]
    Permission,
    /// No signature is for that.
    #[error("this is not for holders of such a signature")]
    Action,
}

impl Refusal {
    fn sqlstate(self) -> SqlState {
        match self {
            Self::Malformed(_)
            | Self::Twice(_)
            | Self::Signature
            | Self::Account
            | Self::Policy
            | Self::NotYetValid
            | Self::Expired => SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            Self::Protocol | Self::Address | Self::Service | Self::ResourceType | Self::Permission | Self::Action => {
                SqlState::INSUFFICIENT_PRIVILEGE
            }
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.sqlstate(), refusal.to_string()).with_source(refusal)
    }
}
