//! Where a signature may be used.

use std::net::{IpAddr, Ipv4Addr};

use super::refusal::Refusal;

/// Where a signature is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// By a client on the network.
    Network { client: IpAddr, is_https: bool },
    /// In the process that has the data folder open.
    Process,
}

impl Place {
    /// Refuses other protocols and addresses than those a signature is for (`spr` and `sip`).
    ///
    /// In process there is no transport, which satisfies `https`, and no client address, which
    /// satisfies no `sip`.
    pub(super) fn expect(&self, protocols: &str, addresses: &str) -> Result<(), Refusal> {
        match (protocols, self) {
            ("" | "https,http" | "http,https", _) => {}
            ("https", Place::Network { is_https: true, .. } | Place::Process) => {}
            ("https", Place::Network { .. }) => return Err(Refusal::Protocol),
            _ => return Err(Refusal::Malformed("spr")),
        }
        if addresses.is_empty() {
            return Ok(());
        }
        let (first, last) = addresses.split_once('-').unwrap_or((addresses, addresses));
        let address = |text: &str| text.trim().parse::<Ipv4Addr>().map_err(|_| Refusal::Malformed("sip"));
        let (first, last) = (address(first)?, address(last)?);
        let client = match self {
            Place::Network { client: IpAddr::V4(client), .. } => Some(*client),
            Place::Network { client: IpAddr::V6(client), .. } => client.to_ipv4_mapped(),
            Place::Process => None,
        };
        if client.is_some_and(|client| (first..=last).contains(&client)) { Ok(()) } else { Err(Refusal::Address) }
    }
}
