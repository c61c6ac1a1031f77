//! The way from the credentials of a request to an authority.

use rowkey_authorization::{AccountKeys, Authority, Place, SharedAccessSignature};
use rowkey_base::DateTime;
use rowkey_model::{AccessPolicy, TableName};

use super::shared_key;
use super::signed_request::SignedRequest;
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
    if let Some(signature) = SharedAccessSignature::of_query(|name| request.options.get(name)) {
        let place = Place::Network { client: request.client, is_https: request.is_https };
        return Ok(signature.check(request.account, keys, policies, place, now)?);
    }
    // Unconfirmed for tables; this is what newer versions of the service say elsewhere.
    let text =
        "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
    Err(Failure::new(401, "NoAuthenticationInformation", text))
}
