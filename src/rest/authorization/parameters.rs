//! What both kinds of shared access signatures have in common.

use std::net::{IpAddr, Ipv4Addr};

use rowkey_base::DateTime;

use super::signed_request::SignedRequest;
use crate::errors::Failure;
use crate::time::parse_signed_time;

/// The value of a parameter, or the empty text that stands for it in a string-to-sign.
pub(super) fn text<'a>(request: &SignedRequest<'a>, name: &str) -> &'a str {
    request.options.get(name).unwrap_or_default()
}

/// The signature; a `+` that was not escaped came as a blank.
pub(super) fn signature(request: &SignedRequest<'_>) -> String {
    text(request, "sig").replace(' ', "+")
}

/// A version of the service, which is a date and so in order as a text.
pub(super) fn version<'a>(request: &SignedRequest<'a>) -> Result<&'a str, Failure> {
    let version = text(request, "sv");
    if crate::version::is_version(version) { Ok(version) } else { Err(Failure::authentication()) }
}

/// Refuses a token before its start and from its expiry on.
pub(super) fn expect_valid(start: Option<DateTime>, expiry: DateTime, now: DateTime) -> Result<(), Failure> {
    if start.is_some_and(|start| now < start) || now > expiry { Err(Failure::authentication()) } else { Ok(()) }
}

/// A time of a token; it was signed as text.
pub(super) fn time(text: &str) -> Result<Option<DateTime>, Failure> {
    match text {
        "" => Ok(None),
        text => parse_signed_time(text).map(Some).ok_or_else(Failure::authentication),
    }
}

/// Refuses other protocols and addresses than the token is for.
pub(super) fn expect_place(request: &SignedRequest<'_>) -> Result<(), Failure> {
    match text(request, "spr") {
        "" | "https,http" | "http,https" => {}
        "https" if request.is_https => {}
        "https" => {
            let text = "This request is not authorized to perform this operation using this protocol.";
            return Err(Failure::new(403, "AuthorizationProtocolMismatch", text));
        }
        _ => return Err(Failure::authentication()),
    }
    let range = text(request, "sip");
    if range.is_empty() {
        return Ok(());
    }
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let address = |text: &str| text.trim().parse::<Ipv4Addr>().map_err(|_| Failure::authentication());
    let (first, last) = (address(first)?, address(last)?);
    let client = match request.client {
        IpAddr::V4(client) => Some(client),
        IpAddr::V6(client) => client.to_ipv4_mapped(),
    };
    if client.is_some_and(|client| (first..=last).contains(&client)) {
        return Ok(());
    }
    let text = "This request is not authorized to perform this operation using this source IP.";
    Err(Failure::new(403, "AuthorizationSourceIPMismatch", text))
}

/// Refuses letters that are none, or come twice.
pub(super) fn expect_letters(letters: &str, known: &str) -> Result<(), Failure> {
    let is_right = letters
        .char_indices()
        .all(|(at, letter)| known.contains(letter) && !letters[at + letter.len_utf8()..].contains(letter));
    if is_right && !letters.is_empty() { Ok(()) } else { Err(Failure::authentication()) }
}
