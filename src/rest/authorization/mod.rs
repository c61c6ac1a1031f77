//! Whose request it is, and what that one may do (specification, section 4).
//!
//! A request is signed with a key of the account, by Shared Key or Shared Key Lite, or carries a
//! signature that was made with one: a service SAS for one table, or an account SAS. What a
//! signature permits becomes the principal of the entity service, which enforces it for entities
//! and tables; what is no matter of entities, [`Authority::expect`] decides.

mod account_sas;
mod accounts;
mod authenticate;
mod authority;
mod parameters;
mod service_sas;
mod shared_key;
mod signature;
mod signed_request;

pub(crate) use accounts::Accounts;
pub use accounts::{AccountKeys, DEVELOPMENT_KEY, generate_key, parse_accounts};
pub(crate) use authenticate::authenticate;
pub(crate) use authority::{Action, Authority};
pub(crate) use signed_request::SignedRequest;

/// A signature with the development key.
#[cfg(test)]
pub(crate) fn sign(text: &str) -> String {
    signature::sign(&AccountKeys::development().unwrap_or_else(|error| panic!("{error}")), text)
}

#[cfg(test)]
mod tests;
