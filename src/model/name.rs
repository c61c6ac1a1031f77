//! Names of accounts, tables and properties.

mod marks;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::limits::{
    ACCOUNT_NAME_CHARS_MAX, ACCOUNT_NAME_CHARS_MIN, PROPERTY_NAME_CHARS_MAX, TABLE_NAME_CHARS_MAX,
    TABLE_NAME_CHARS_MIN, VIEW_NAME_BYTES_MAX,
};
use marks::is_mark;
use rowkey_base::{Rejected, Rule};

/// The account of the service's emulator.
const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";

/// A storage account's name: 3 to 24 lower-case letters and digits. By default it is the account of
/// the service's emulator, `devstoreaccount1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountName(String);

impl AccountName {
    /// # Errors
    /// [`Rule::AccountName`].
    pub fn parse(text: &str) -> Result<Self, Rejected> {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let length = ACCOUNT_NAME_CHARS_MIN..=ACCOUNT_NAME_CHARS_MAX;
        if text.bytes().all(allowed) && length.contains(&text.len()) {
            return Ok(Self(text.to_owned()));
        }
        let limit = format!("{ACCOUNT_NAME_CHARS_MIN} to {ACCOUNT_NAME_CHARS_MAX} lower-case letters a-z and digits");
        Err(Rejected::new("account name", text, Rule::AccountName, limit))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for AccountName {
    fn default() -> Self {
        Self(DEVELOPMENT_ACCOUNT.to_owned())
    }
}

impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A table's name: a letter and 2 to 62 letters and digits, shown as it was given and compared
/// without regard to case.
#[derive(Debug, Clone)]
pub struct TableName {
    given: String,
    folded: String,
}

impl TableName {
    /// # Errors
    /// [`Rule::TableName`]; [`Rule::TableNameReserved`] for `Tables`.
    pub fn parse(text: &str) -> Result<Self, Rejected> {
        let letter_first = text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
        let length = TABLE_NAME_CHARS_MIN..=TABLE_NAME_CHARS_MAX;
        if !letter_first || !text.bytes().all(|b| b.is_ascii_alphanumeric()) || !length.contains(&text.len()) {
            let limit = format!(
                "a letter a-z first, then letters and digits, \
                 {TABLE_NAME_CHARS_MIN} to {TABLE_NAME_CHARS_MAX} together, this has {}",
                text.chars().count()
            );
            return Err(Rejected::new("table name", text, Rule::TableName, limit));
        }
        let folded = text.to_ascii_lowercase();
        if folded == "tables" {
            let limit = "the service keeps Tables, in any case, for its list of tables";
            return Err(Rejected::new("table name", text, Rule::TableNameReserved, limit));
        }
        Ok(Self { given: text.to_owned(), folded })
    }

    /// The name as it was given.
    pub fn as_str(&self) -> &str {
        &self.given
    }

    /// The name in lower case: equal for equal names.
    pub fn folded(&self) -> &str {
        &self.folded
    }
}

impl PartialEq for TableName {
    fn eq(&self, other: &Self) -> bool {
        self.folded == other.folded
    }
}

impl Eq for TableName {}

impl PartialOrd for TableName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TableName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.folded.cmp(&other.folded)
    }
}

impl Hash for TableName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.folded.hash(state);
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.given)
    }
}

/// A view's name: an identifier of PostgreSQL, shown as it was given. The service knows no views,
/// so its rule for tables does not hold for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewName(String);

impl ViewName {
    /// # Errors
    /// [`Rule::ViewName`] if it is empty, too long, or has a zero byte.
    pub fn parse(text: &str) -> Result<Self, Rejected> {
        if text.is_empty() || text.len() > VIEW_NAME_BYTES_MAX || text.contains('\0') {
            let limit =
                format!("1 to {VIEW_NAME_BYTES_MAX} bytes of UTF-8, none of them zero; this has {}", text.len());
            return Err(Rejected::new("view name", text, Rule::ViewName, limit));
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ViewName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Refuses what is not the name of a custom property: a C# identifier of at most 255
/// characters, case-sensitive, other than PartitionKey, RowKey and Timestamp.
///
/// Beyond ASCII the rule is the lenient reading of "identifier": letters and numbers of any script,
/// combining marks, connectors and joiners.
pub fn validate_property_name(name: &str) -> Result<(), Rejected> {
    let rejected = |rule, limit: String| Err(Rejected::new("property name", name, rule, limit));
    if matches!(name, "PartitionKey" | "RowKey" | "Timestamp") {
        return rejected(
            Rule::PropertyNameReserved,
            "every entity has PartitionKey, RowKey and Timestamp already".to_owned(),
        );
    }
    // A name of ASCII, the usual case, is decided by its bytes alone.
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let begins_well = name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    if begins_well && name.len() <= PROPERTY_NAME_CHARS_MAX && name.bytes().all(is_plain) {
        return Ok(());
    }
    let mut chars = name.chars();
    match chars.next() {
        None => return rejected(Rule::PropertyName, "a property name has at least one character".to_owned()),
        Some(first) if first != '_' && !first.is_alphabetic() => {
            return rejected(
                Rule::PropertyName,
                format!("a property name begins with a letter or _, this with {first:?}"),
            );
        }
        Some(_) => {}
    }
    if let Some(bad) = chars.find(|c| !c.is_alphanumeric() && *c != '_' && !is_mark(*c)) {
        return rejected(
            Rule::PropertyName,
            format!("a property name holds letters, digits and _ only, this has {bad:?}"),
        );
    }
    // Bytes are never fewer than characters, so short names need no count.
    if name.len() > PROPERTY_NAME_CHARS_MAX {
        let count = name.chars().count();
        if count > PROPERTY_NAME_CHARS_MAX {
            let limit = format!("at most {PROPERTY_NAME_CHARS_MAX} characters, this has {count}");
            return rejected(Rule::PropertyNameLength, limit);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
