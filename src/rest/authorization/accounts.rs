//! Accounts and their keys.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::AccountName;
use rowkey_sql::engine::EntityService;

/// The public key of the emulators' account `devstoreaccount1` (specification, section 1.1).
pub const DEVELOPMENT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Bytes of a key.
const KEY_BYTES: usize = 64;

/// The keys of an account: two, so that one can be exchanged while the other one is used.
#[derive(Clone, PartialEq, Eq)]
pub struct AccountKeys {
    keys: Vec<Vec<u8>>,
}

impl AccountKeys {
    /// One or two keys in base64.
    ///
    /// # Errors
    /// `INVALID_PARAMETER_VALUE` for a text that is no key.
    pub fn new(first: &str, second: Option<&str>) -> Result<Self> {
        let decode = |key: &str| BASE64.decode(key).ok().filter(|key| !key.is_empty());
        let keys = std::iter::once(first).chain(second).map(decode).collect::<Option<Vec<_>>>();
        // Without the key, which is a secret even where it is written wrongly.
        let wrong = || Error::new(SqlState::INVALID_PARAMETER_VALUE, "the key of an account is written in base64");
        keys.map(|keys| Self { keys }).ok_or_else(wrong)
    }

    /// All keys of an account, one or two.
    ///
    /// # Errors
    /// As for [`AccountKeys::new`].
    pub(crate) fn of_all(keys: &[String]) -> Result<Self> {
        match keys {
            [first] => Self::new(first, None),
            [first, second] => Self::new(first, Some(second)),
            _ => Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "an account has one key or two")),
        }
    }

    fn shares_one_with(&self, other: &Self) -> bool {
        self.keys.iter().any(|key| other.keys.contains(key))
    }

    /// The key that everybody knows.
    pub fn development() -> Result<Self> {
        Self::new(DEVELOPMENT_KEY, None)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(Vec::as_slice)
    }
}

/// Without the keys.
impl fmt::Debug for AccountKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccountKeys({})", self.keys.len())
    }
}

/// The accounts that are served: those that the server was started with, else those of the data
/// folder that have keys. Where there are neither, it is the default account with the key that
/// everybody knows.
#[derive(Debug, Clone)]
pub(crate) struct Accounts {
    configured: BTreeMap<AccountName, AccountKeys>,
    default: AccountName,
}

impl Accounts {
    pub(crate) fn new(configured: impl IntoIterator<Item = (AccountName, AccountKeys)>, default: AccountName) -> Self {
        Self { configured: configured.into_iter().collect(), default }
    }

    /// An account of this name with its keys; `service` is of any account of the data folder, for
    /// the process itself. Keys that were exchanged count from then on.
    pub(crate) fn find(&self, name: &str, service: &EntityService) -> Option<(AccountName, AccountKeys)> {
        let name = AccountName::parse(name).ok()?;
        if !self.configured.is_empty() {
            return self.configured.get(&name).map(|keys| (name, keys.clone()));
        }
        let stored = service.account_keys().ok()?;
        if stored.is_empty() {
            let development = || AccountKeys::development().ok();
            return (name == self.default).then(development).flatten().map(|keys| (name, keys));
        }
        let (_, keys) = stored.into_iter().find(|(stored, _)| *stored == name.as_str())?;
        Some((name, AccountKeys::of_all(&keys).ok()?))
    }

    /// Whether everybody knows the key of an account.
    pub(crate) fn have_public_key(&self, service: &EntityService) -> bool {
        let is_public =
            |keys: &AccountKeys| AccountKeys::development().is_ok_and(|public| keys.shares_one_with(&public));
        match (self.configured.is_empty(), service.account_keys()) {
            (false, _) => self.configured.values().any(is_public),
            (true, Ok(stored)) if !stored.is_empty() => {
                stored.iter().any(|(_, keys)| AccountKeys::of_all(keys).as_ref().is_ok_and(is_public))
            }
            (true, _) => true,
        }
    }
}

/// Reads accounts as `name:key;name:key1:key2`, the form of Azurite's `AZURITE_ACCOUNTS`.
///
/// # Errors
/// `INVALID_PARAMETER_VALUE` for a text that is not that, or names an account twice.
pub fn parse_accounts(text: &str) -> Result<Vec<(AccountName, AccountKeys)>> {
    let mut accounts: Vec<(AccountName, AccountKeys)> = Vec::new();
    // Without the text, which holds secrets.
    let wrong = |what: &str| Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("a list of accounts {what}"));
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, keys) = part.split_once(':').ok_or_else(|| wrong("has name:key for each, by semicolons"))?;
        let name = AccountName::parse(name)?;
        let (first, second) = keys.split_once(':').map_or((keys, None), |(first, second)| (first, Some(second)));
        if accounts.iter().any(|(other, _)| *other == name) {
            return Err(wrong(&format!("names {name} twice")));
        }
        accounts.push((name, AccountKeys::new(first, second)?));
    }
    if accounts.is_empty() { Err(wrong("names at least one")) } else { Ok(accounts) }
}

/// A new key in base64, as long as the service's.
///
/// # Errors
/// `IO_ERROR` where the system gives no random bytes.
pub fn generate_key() -> Result<String> {
    let mut key = [0_u8; KEY_BYTES];
    getrandom::fill(&mut key)
        .map_err(|error| Error::new(SqlState::IO_ERROR, format!("the system gives no random bytes: {error}")))?;
    Ok(BASE64.encode(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_as_azurite_reads_them() {
        let key = generate_key().unwrap();
        assert_eq!((key.len(), key == generate_key().unwrap()), (88, false));
        let accounts = parse_accounts(&format!("one:{key};two:{key}:{DEVELOPMENT_KEY};")).unwrap();
        let names: Vec<&str> = accounts.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, accounts[1].1.keys.len()), (vec!["one", "two"], 2));
        for bad in ["", ";", "one", "one:", "one:no base64", "Ä:AAAA", "one:AAAA;one:AAAA", "one:AAAA:AAAA:AAAA"] {
            let error = parse_accounts(bad).unwrap_err();
            assert!(!error.to_string().contains("AAAA"), "{bad}: {error}");
        }
    }
}
