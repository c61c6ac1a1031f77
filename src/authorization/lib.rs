//! Who a caller is, and what that one may do (Table service specification, section 4): below all
//! doors, so that each lets the same callers do the same.
//!
//! An account has [`AccountKeys`], and [`Accounts`] says whose count. The owner signs with one of
//! them, and so are shared access signatures signed: a [`SharedAccessSignature`] that is checked
//! comes to an [`Authority`]. What it permits becomes a principal of the entity service, which
//! enforces it for entities and tables; what is no matter of these, [`Authority::expect`] decides.
//! [`SharedAccess`] is for those who keep a signature longer than for one request: it checks it at
//! every use.

mod access;
mod account_keys;
mod account_sas;
mod accounts;
mod authority;
mod check;
mod parameters;
mod place;
mod refusal;
mod service_sas;
mod service_version;
mod signed_time;

pub use access::SharedAccess;
pub use account_keys::{AccountKeys, DEVELOPMENT_KEY, generate_key};
pub use accounts::{Accounts, parse_accounts};
pub use authority::{Action, Authority};
pub use check::stored_policies;
pub use parameters::SharedAccessSignature;
pub use place::Place;
pub use refusal::Refusal;
pub use service_version::is_service_version;
pub use signed_time::parse_signed_time;

#[cfg(test)]
mod tests;
