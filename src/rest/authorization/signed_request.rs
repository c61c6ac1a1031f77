//! What of a request is signed.

use std::net::IpAddr;

use crate::address::QueryOptions;

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
