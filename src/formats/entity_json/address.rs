//! How metadata names a table and its entities.

use rowkey_model::KeyRef;

/// A table as metadata names it (Table service specification, sections 1.1 and 2.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableAddress {
    account: String,
    /// With a slash at the end.
    account_url: String,
    table: String,
}

impl TableAddress {
    /// A table of the account that has this URL, with or without a slash at its end:
    /// `https://acct.table.core.windows.net`, or `http://127.0.0.1:10002/acct`. Nothing is checked.
    pub fn new(account: &str, account_url: &str, table: &str) -> Self {
        let account_url = format!("{}/", account_url.trim_end_matches('/'));
        Self { account: account.to_owned(), account_url, table: table.to_owned() }
    }

    /// A table of an account of Azure's public cloud.
    pub fn in_azure(account: &str, table: &str) -> Self {
        Self::new(account, &format!("https://{account}.table.core.windows.net"), table)
    }

    /// `odata.metadata` of a feed: `https://acct.table.core.windows.net/$metadata#Orders`.
    pub fn feed_context(&self) -> String {
        format!("{}$metadata#{}", self.account_url, self.table)
    }

    /// `odata.metadata` of a single entity: that of the feed and `/@Element`.
    pub fn entity_context(&self) -> String {
        format!("{}/@Element", self.feed_context())
    }

    /// `odata.type`: `acct.Orders`.
    pub fn entity_type(&self) -> String {
        format!("{}.{}", self.account, self.table)
    }

    /// `odata.id`, and the header `Location` of an insert (section 2.3): the account's URL and
    /// `Orders(PartitionKey='eu',RowKey='0001')`, quotes doubled, and other bytes that a URL does
    /// not take percent-encoded.
    pub fn entity_url(&self, key: KeyRef<'_>) -> String {
        let mut url = format!("{}{}(PartitionKey='", self.account_url, self.table);
        push_encoded(&mut url, key.partition);
        url.push_str("',RowKey='");
        push_encoded(&mut url, key.row);
        url.push_str("')");
        url
    }

    /// A URL of the account, relative to the account's.
    pub(super) fn relative<'u>(&self, url: &'u str) -> &'u str {
        url.strip_prefix(&self.account_url).unwrap_or(url)
    }
}

fn push_encoded(to: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => to.push(char::from(byte)),
            b'\'' => to.push_str("''"),
            byte => to.push_str(&format!("%{byte:02X}")),
        }
    }
}
