//! The way from the credentials of a request to an authority.

use rowkey_base::DateTime;
use rowkey_model::{AccessPolicy, TableName};

use super::accounts::AccountKeys;
use super::authority::Authority;
use super::signed_request::SignedRequest;
use super::{account_sas, service_sas, shared_key};
use crate::errors::Failure;

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
