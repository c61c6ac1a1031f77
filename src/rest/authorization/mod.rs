//! Whose request it is (specification, section 4).
//!
//! A request is signed with a key of the account, by Shared Key or Shared Key Lite, or carries a
//! shared access signature that was made with one. Keys and shared access signatures are
//! `rowkey_authorization`'s; what a request may do then is its `Authority`.

mod authenticate;
mod shared_key;
mod signed_request;

pub(crate) use authenticate::authenticate;
pub(crate) use signed_request::SignedRequest;

#[cfg(test)]
mod tests;
