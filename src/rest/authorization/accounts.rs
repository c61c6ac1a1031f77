//! Accounts and their keys.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::AccountName;

/// The public key of the emulators' account `devstoreaccount1` (specification, section 1.1).
pub const DEVELOPMENT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

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

/// The accounts that are served.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accounts {
    by_name: BTreeMap<AccountName, AccountKeys>,
}

impl Accounts {
    pub(crate) fn new(accounts: impl IntoIterator<Item = (AccountName, AccountKeys)>) -> Self {
        Self { by_name: accounts.into_iter().collect() }
    }

    pub(crate) fn find(&self, name: &str) -> Option<(&AccountName, &AccountKeys)> {
        self.by_name.get_key_value(&AccountName::parse(name).ok()?)
    }
}
