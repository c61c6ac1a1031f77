//! From the raw path of a request to an account and a resource.

use rowkey_base::percent::decode_path;
use rowkey_model::Key;

use super::keys::{self, Keys};
use crate::errors::Failure;

/// What the name of the secondary ends with.
const SECONDARY: &str = "-secondary";

/// Where a request says its account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// In the first label of the host's name.
    Host,
    /// In the first segment of the path.
    Path,
}

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resource {
    /// The account: its properties and statistics.
    Service,
    Tables,
    Table(String),
    Entities(String),
    Entity(String, Key),
    Batch,
}

/// An account, and what of it is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub account: String,
    pub is_secondary: bool,
    pub style: Style,
    pub resource: Resource,
}

impl Address {
    /// Reads the raw path of a request to a host (without its port).
    pub(crate) fn parse(host: &str, path: &str) -> Result<Self, Failure> {
        let (account, style, rest) = match account_of_host(host) {
            Some(account) => (account.to_ascii_lowercase(), Style::Host, path.strip_prefix('/').unwrap_or(path)),
            None => {
                let path = path.strip_prefix('/').unwrap_or(path);
                let (first, rest) = path.split_once('/').unwrap_or((path, ""));
                (decode_path(first).ok_or_else(Failure::query_syntax)?, Style::Path, rest)
            }
        };
        let Some(primary) = account.strip_suffix(SECONDARY) else {
            return Ok(Self { account, is_secondary: false, style, resource: Resource::parse(rest)? });
        };
        let (primary, rest) = match style {
            Style::Host => (primary, rest),
            Style::Path => without_second_account(&account, primary, rest),
        };
        Ok(Self { account: primary.to_owned(), is_secondary: true, style, resource: Resource::parse(rest)? })
    }

    /// What a URL within a batch names: scheme and host do not count, since they may be a proxy's,
    /// and in path style the account's segment is passed over (section 3.2), but for what it says
    /// of the secondary.
    pub(crate) fn parse_inner(&self, path: &str) -> Result<Self, Failure> {
        let path = path.strip_prefix('/').unwrap_or(path);
        let (is_secondary, rest) = match (self.style, path.split_once('/')) {
            (Style::Path, Some((first, rest))) if first == self.account => (self.is_secondary, rest),
            (Style::Path, Some((first, rest))) if first.strip_suffix(SECONDARY) == Some(self.account.as_str()) => {
                (true, rest)
            }
            _ => (self.is_secondary, path),
        };
        Ok(Self { account: self.account.clone(), is_secondary, style: self.style, resource: Resource::parse(rest)? })
    }
}

/// The account and the path behind it, of a path with `{account}-secondary`. The SDK for Python
/// puts the secondary before the path that it has, which begins with an account: the primary's, or
/// the secondary's where its client is one of the secondary.
fn without_second_account<'a>(account: &'a str, primary: &'a str, rest: &'a str) -> (&'a str, &'a str) {
    match rest.split_once('/') {
        Some((second, behind)) if second == primary => (primary.strip_suffix(SECONDARY).unwrap_or(primary), behind),
        Some((second, behind)) if second == account => (primary, behind),
        _ => (primary, rest),
    }
}

/// `{account}.table.…`: the service's own hosts, and the emulators' `{account}.table.localhost`.
fn account_of_host(host: &str) -> Option<&str> {
    let (account, rest) = host.split_once('.')?;
    let is_table = rest.get(.."table.".len()).is_some_and(|label| label.eq_ignore_ascii_case("table."));
    is_table.then_some(account)
}

impl Resource {
    /// Reads what is behind the account, without the slash.
    fn parse(path: &str) -> Result<Self, Failure> {
        if path.is_empty() {
            return Ok(Resource::Service);
        }
        // A slash in a key is no part of it, whether escaped or not.
        if let Some((name, behind)) = path.split_once('/') {
            return Err(match behind {
                _ if name.contains('(') => Failure::query_syntax(),
                "$batch" => Failure::media_type(),
                _ => Failure::invalid_uri(),
            });
        }
        let text = decode_path(path).ok_or_else(Failure::query_syntax)?;
        // Before the service sees them (section 1.2). C1 controls come through: no entity has them.
        if text.chars().any(|character| character.is_ascii_control()) {
            return Err(Failure::query_syntax());
        }
        if text == "$batch" {
            return Ok(Resource::Batch);
        }
        let (name, keys) = match text.split_once('(') {
            None => (text.as_str(), Keys::None),
            Some((name, behind)) => {
                let inside = behind.strip_suffix(')').ok_or_else(Failure::query_syntax)?;
                (name, keys::parse(inside).ok_or_else(Failure::query_syntax)?)
            }
        };
        let is_tables = name.eq_ignore_ascii_case("Tables");
        match keys {
            Keys::None if is_tables => Ok(Resource::Tables),
            Keys::None => Ok(Resource::Entities(name.to_owned())),
            Keys::Other(mut values) if is_tables && values.len() == 1 => Ok(Resource::Table(values.remove(0))),
            Keys::Entity(key) if !is_tables => {
                let forbidden = |text: &str| text.contains(['/', '\\']);
                if forbidden(&key.partition) || forbidden(&key.row) {
                    return Err(Failure::query_syntax());
                }
                Ok(Resource::Entity(name.to_owned(), key))
            }
            Keys::Other(_) | Keys::Entity(_) => Err(Failure::invalid_input(
                "The number of keys specified in the URI does not match number of key properties for the resource.",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(path: &str) -> Resource {
        Address::parse("127.0.0.1", &format!("/acct{path}"))
            .unwrap_or_else(|error| panic!("{path}: {error:?}"))
            .resource
    }

    #[test]
    fn accounts_of_hosts_and_paths() {
        let found = |host: &str, path: &str| {
            let address = Address::parse(host, path).unwrap();
            (address.account, address.is_secondary, address.style, address.resource)
        };
        let orders = || Resource::Entities("Orders".to_owned());
        assert_eq!(found("127.0.0.1", "/acct/Orders()"), ("acct".to_owned(), false, Style::Path, orders()));
        assert_eq!(found("acct.table.core.windows.net", "/Orders"), ("acct".to_owned(), false, Style::Host, orders()));
        assert_eq!(found("Acct.Table.localhost", "/Orders"), ("acct".to_owned(), false, Style::Host, orders()));
        assert_eq!(
            found("acct-secondary.table.localhost", "/"),
            ("acct".to_owned(), true, Style::Host, Resource::Service)
        );
        assert_eq!(found("localhost", "/acct-secondary"), ("acct".to_owned(), true, Style::Path, Resource::Service));
        for path in [
            "/acct-secondary/acct/Orders",
            "/acct-secondary/acct-secondary/Orders",
            "/acct-secondary-secondary/acct-secondary/Orders",
        ] {
            assert_eq!(found("127.0.0.1", path), ("acct".to_owned(), true, Style::Path, orders()), "{path}");
        }
        let own = found("127.0.0.1", "/acct-secondary/acct").3;
        assert_eq!(own, Resource::Entities("acct".to_owned()));
        assert!(Address::parse("127.0.0.1", "/acct/acct/Orders").is_err());
        let address = Address::parse("127.0.0.1", "/acct/$batch").unwrap();
        for (path, is_secondary) in
            [("/acct/Orders", false), ("/Orders", false), ("Orders", false), ("/acct-secondary/Orders", true)]
        {
            let inner = address.parse_inner(path).unwrap();
            assert_eq!((inner.is_secondary, inner.resource), (is_secondary, orders()), "{path}");
        }
        assert!(address.parse_inner("/acct-secondary-secondary/Orders").is_err());
        let secondary = Address::parse("127.0.0.1", "/acct-secondary/$batch").unwrap();
        assert!(["/acct/Orders", "/Orders"].iter().all(|path| secondary.parse_inner(path).unwrap().is_secondary));
    }

    #[test]
    fn resources() {
        assert_eq!(resource("/"), Resource::Service);
        assert_eq!((resource("/Tables"), resource("/Tables()")), (Resource::Tables, Resource::Tables));
        assert_eq!(resource("/Tables('Orders')"), Resource::Table("Orders".to_owned()));
        assert_eq!(resource("/Tables(%27Orders%27)"), Resource::Table("Orders".to_owned()));
        assert_eq!(resource("/Orders"), Resource::Entities("Orders".to_owned()));
        assert_eq!((resource("/$batch"), resource("/%24batch")), (Resource::Batch, Resource::Batch));
        let entity = |partition: &str, row: &str| Resource::Entity("Orders".to_owned(), Key::new(partition, row));
        assert_eq!(resource("/Orders(PartitionKey='p',RowKey='r')"), entity("p", "r"));
        assert_eq!(resource("/Orders(PartitionKey='p', RowKey='')"), entity("p", ""));
        assert_eq!(
            resource("/Orders(PartitionKey=%27O%27%27B%2525%27,RowKey='a+(b),%E2%82%AC')"),
            entity("O'B%25", "a+(b),€")
        );
    }

    #[test]
    fn what_names_nothing() {
        let code = |path: &str| Address::parse("127.0.0.1", &format!("/acct{path}")).unwrap_err().code();
        for path in [
            "/Orders(PartitionKey='a/b',RowKey='r')",
            "/Orders(PartitionKey='a%2Fb',RowKey='r')",
            "/Orders(PartitionKey='a%5Cb',RowKey='r')",
            "/Orders(PartitionKey='a%0Ab',RowKey='r')",
            "/Orders(PartitionKey='a',RowKey='%00')",
            "/Orders(PartitionKey='a',RowKey='%7F')",
            "/Orders%1F",
            "/Tables('a%09b')",
            "/Orders(",
            "/Orders('x",
        ] {
            assert_eq!(code(path), "InvalidInput", "{path}");
        }
        for path in ["/Orders(PartitionKey='%C2%80',RowKey='%3F%23')", "/Orders(PartitionKey='%C2%9F',RowKey='')"] {
            assert!(matches!(resource(path), Resource::Entity(..)), "{path}");
        }
        assert_eq!(
            (code("/Orders('x')"), code("/Tables(PartitionKey='p',RowKey='r')")),
            ("InvalidInput", "InvalidInput")
        );
        assert_eq!((code("/Orders/$batch"), code("/a/b")), ("MediaTypeNotSupported", "InvalidUri"));
    }
}
