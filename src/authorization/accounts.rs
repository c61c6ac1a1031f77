//! Accounts and whose keys count.

use std::collections::BTreeMap;

use rowkey_base::{Error, Result, SqlState};
use rowkey_model::AccountName;
use rowkey_sql::engine::EntityService;

use super::account_keys::AccountKeys;

/// The accounts that are served: those that the server was started with, else those of the data
/// folder that have keys. Where there are neither, it is the default account with the key that
/// everybody knows.
#[derive(Debug, Clone)]
pub struct Accounts {
    configured: BTreeMap<AccountName, AccountKeys>,
    default: AccountName,
}

impl Accounts {
    /// These, or those of the data folder if there are none; `default` is its default account.
    pub fn new(configured: impl IntoIterator<Item = (AccountName, AccountKeys)>, default: AccountName) -> Self {
        Self { configured: configured.into_iter().collect(), default }
    }

    /// The keys of an account as its owner may use it, if it is served. Keys that were exchanged
    /// count from then on.
    pub fn keys_of(&self, owner: &EntityService) -> Option<AccountKeys> {
        if !self.configured.is_empty() {
            return self.configured.get(owner.account()).cloned();
        }
        match owner.own_keys().ok()? {
            Some(stored) => AccountKeys::of_all(&stored).ok(),
            None if *owner.account() == self.default => AccountKeys::development().ok(),
            None => None,
        }
    }

    /// Whether everybody knows the key of an account.
    pub fn have_public_key(&self, service: &EntityService) -> bool {
        match (self.configured.is_empty(), service.account_keys()) {
            (false, _) => self.configured.values().any(AccountKeys::is_public),
            (true, Ok(stored)) if !stored.is_empty() => {
                stored.iter().any(|(_, keys)| AccountKeys::of_all(keys).as_ref().is_ok_and(|keys| keys.is_public()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account_keys::{DEVELOPMENT_KEY, generate_key};

    #[test]
    fn accounts_are_read_as_azurite_reads_them() {
        let key = generate_key().unwrap();
        let accounts = parse_accounts(&format!("one:{key};two:{key}:{DEVELOPMENT_KEY};")).unwrap();
        let names: Vec<&str> = accounts.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["one", "two"]);
        assert_eq!(accounts[1].1, AccountKeys::new(&key, Some(DEVELOPMENT_KEY)).unwrap());
        for bad in ["", ";", "one", "one:", "one:no base64", "Ä:AAAA", "one:AAAA;one:AAAA", "one:AAAA:AAAA:AAAA"] {
            let error = parse_accounts(bad).unwrap_err();
            assert!(!error.to_string().contains("AAAA"), "{bad}: {error}");
        }
    }
}
