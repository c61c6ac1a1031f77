//! Addresses to listen on, as options name them.

use std::net::{SocketAddr, ToSocketAddrs};

use super::failure::Failure;

/// The address of an option; a port alone is one of this machine's.
pub(super) fn resolve(option: &str, text: &str) -> Result<SocketAddr, Failure> {
    let with_host = if text.parse::<u16>().is_ok() { format!("127.0.0.1:{text}") } else { text.to_owned() };
    let found = with_host.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    found.ok_or_else(|| {
        Failure::usage(
            format!("{option} {text} is no address to listen on"),
            format!("for example {option} 127.0.0.1:{}", if option == "--pg" { 5433 } else { 10002 }),
        )
    })
}
