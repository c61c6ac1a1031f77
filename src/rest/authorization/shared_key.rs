//! Shared Key and Shared Key Lite (specification, section 4.1).

use super::signed_request::SignedRequest;
use crate::errors::Failure;
use crate::time::parse_http_date;
use rowkey_authorization::AccountKeys;
use rowkey_base::DateTime;

/// How far the date of a request may be from ours, in either direction.
const SKEW_TICKS_MAX: u64 = 15 * 60 * 10_000_000;

/// Checks the header `Authorization`.
pub(super) fn check(
    request: &SignedRequest<'_>,
    keys: &AccountKeys,
    header: &str,
    now: DateTime,
) -> Result<(), Failure> {
    let malformed = || {
        let text = "The authentication information was not provided in the correct format. Verify the value of \
                    Authorization header.";
        Failure::new(400, "InvalidAuthenticationInfo", text)
    };
    let (scheme, credential) = header.trim().split_once(' ').ok_or_else(malformed)?;
    if scheme.eq_ignore_ascii_case("Bearer") {
        // There is no directory to ask.
        let text = "Server failed to authenticate the request. Bearer tokens are not accepted here.";
        return Err(Failure::new(401, "InvalidAuthenticationInfo", text));
    }
    let is_lite = match scheme {
        "SharedKey" => false,
        "SharedKeyLite" => true,
        _ => return Err(malformed()),
    };
    let (account, signature) = credential.trim().split_once(':').ok_or_else(malformed)?;
    // Of a secondary, the account is the primary's.
    if account != request.account {
        return Err(Failure::authentication());
    }
    let date = request.header("x-ms-date").or_else(|| request.header("date")).ok_or_else(Failure::authentication)?;
    let at = parse_http_date(date).ok_or_else(Failure::authentication)?;
    if at.ticks().abs_diff(now.ticks()) > SKEW_TICKS_MAX {
        return Err(Failure::authentication());
    }
    let header = |name| request.header(name).unwrap_or_default();
    let is_right = resources(request).iter().any(|resource| {
        let string_to_sign = if is_lite {
            format!("{date}\n{resource}")
        } else {
            let verb = request.method;
            format!("{verb}\n{}\n{}\n{date}\n{resource}", header("content-md5"), header("content-type"))
        };
        keys.have_signed(&string_to_sign, signature)
    });
    if is_right { Ok(()) } else { Err(Failure::authentication()) }
}

/// The canonicalized resource: the path as it was received, byte for byte. Of a path with
/// `{account}-secondary` it is unconfirmed whether clients sign the suffix, so both are tried; the
/// SDK for Python signs the path before which it puts that.
fn resources(request: &SignedRequest<'_>) -> Vec<String> {
    let comp = request.options.get("comp").map(|comp| format!("?comp={comp}")).unwrap_or_default();
    let account = request.account;
    let resource = |path: &str| format!("/{account}{path}{comp}");
    let mut resources = vec![resource(request.path)];
    let secondary = format!("/{account}-secondary");
    if let Some(rest) = request.path.strip_prefix(&secondary) {
        resources.push(resource(&format!("/{account}{rest}")));
    }
    let is_secondary = |segment: &str| segment.ends_with("-secondary");
    let path = request.path.strip_prefix('/').unwrap_or(request.path);
    if let Some((first, behind)) = path.split_once('/')
        && is_secondary(first)
        && behind.split('/').next().is_some_and(|second| second == account || is_secondary(second))
    {
        resources.push(resource(&format!("/{behind}")));
    }
    resources
}
