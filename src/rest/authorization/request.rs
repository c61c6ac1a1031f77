//! What of a request is signed, and the way from its credentials to an authority.

use std::net::IpAddr;

use rowkey_base::DateTime;
use rowkey_model::{AccessPolicy, TableName};

use super::accounts::AccountKeys;
use super::authority::Authority;
use super::{account_sas, service_sas, shared_key};
use crate::address::QueryOptions;
use crate::errors::Failure;

/// A request as it was received.
#[derive(Clone, Copy)]
pub(crate) struct SignedRequest<'a> {
    pub method: &'a str,
    /// Still percent-encoded.
    pub path: &'a str,
    pub options: &'a QueryOptions,
    /// The value of a header by its name in lower case.
    pub headers: &'a dyn Fn(&str) -> Option<&'a str>,
    /// That of the URL, without `-secondary`.
    pub account: &'a str,
    pub client: IpAddr,
    pub is_https: bool,
}

impl<'a> SignedRequest<'a> {
    pub(super) fn header(&self, name: &str) -> Option<&'a str> {
        (self.headers)(name)
    }
}

/// What a request may do; `policies` are the stored access policies of a table.
///
/// # Errors
/// Those of section 4.5.
pub(crate) fn authenticate(
    request: &SignedRequest<'_>,
    keys: &AccountKeys,
    policies: &dyn Fn(&TableName) -> Vec<AccessPolicy>,
    now: DateTime,
) -> Result<Authority, Failure> {
    if let Some(header) = request.header("authorization") {
        return shared_key::check(request, keys, header, now).map(|()| Authority::Owner);
    }
    let given = |name| request.options.get(name).is_some();
    if given("sig") && (given("ss") || given("srt")) {
        return account_sas::check(request, keys, now);
    }
    if given("sig") {
        return service_sas::check(request, keys, policies, now).map(Authority::Table);
    }
    // Unconfirmed for tables; this is what newer versions of the service say elsewhere.
    let text =
        "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
    Err(Failure::new(401, "NoAuthenticationInformation", text))
}
