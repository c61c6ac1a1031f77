//! The header `Host`: to which name a client believes to talk.

use std::net::{IpAddr, SocketAddr};

use crate::errors::Failure;

/// Refuses hosts that are not this machine's, for a server that listens on loopback.
///
/// A page of any site can have its own name resolved to 127.0.0.1 (DNS rebinding), and the
/// development key is public; but the browser still sends the name of the site.
pub(super) fn expect_own(host: &str, bound: SocketAddr) -> Result<(), Failure> {
    let name = without_port(host);
    let is_local = name.eq_ignore_ascii_case("localhost")
        || ends_with_ignoring_case(name, ".localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback() || ip == bound.ip());
    if is_local || !bound.ip().is_loopback() {
        return Ok(());
    }
    Err(Failure::header_value("Host"))
}

/// Refuses what is no host at all; it becomes a part of URLs in answers.
pub(super) fn expect_plain(host: &str) -> Result<(), Failure> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]%~".contains(&byte);
    if !host.is_empty() && host.len() <= 255 && host.bytes().all(is_plain) {
        return Ok(());
    }
    let text = "The required host information is not present in the request. You must send a non-empty Host header.";
    Err(Failure::new(400, "HostInformationNotPresent", text))
}

/// The name or address, without brackets.
pub(super) fn without_port(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

fn ends_with_ignoring_case(text: &str, end: &str) -> bool {
    let from = text.len().checked_sub(end.len());
    from.and_then(|from| text.get(from..)).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_a_host_of_loopback() {
        let bound: SocketAddr = "127.0.0.1:10002".parse().unwrap();
        for host in
            ["127.0.0.1:10002", "localhost", "LocalHost:1", "[::1]:10002", "127.0.0.2", "acct.table.localhost:10002"]
        {
            assert!(expect_own(host, bound).is_ok(), "{host}");
        }
        for host in
            ["evil.example", "evil.example:10002", "localhost.evil.example", "10.0.0.1", "127.0.0.1.evil.example"]
        {
            assert_eq!(expect_own(host, bound).unwrap_err().status(), 400, "{host}");
            assert!(expect_own(host, "0.0.0.0:10002".parse().unwrap()).is_ok());
        }
        for bad in ["", "a b", "a\"b", "a/b", "é"] {
            assert_eq!(expect_plain(bad).unwrap_err().code(), "HostInformationNotPresent");
        }
        assert!(expect_plain("[::1]:10002").is_ok() && expect_plain("acct-secondary.table.localhost:1").is_ok());
    }
}
