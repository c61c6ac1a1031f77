//! Keys of an account, and what is signed with them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use rowkey_base::{Error, Result, SqlState};
use sha2::Sha256;

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
    pub(super) fn of_all(keys: &[String]) -> Result<Self> {
        match keys {
            [first] => Self::new(first, None),
            [first, second] => Self::new(first, Some(second)),
            _ => Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "an account has one key or two")),
        }
    }

    /// The key that everybody knows.
    ///
    /// # Errors
    /// None, since it is one.
    pub fn development() -> Result<Self> {
        Self::new(DEVELOPMENT_KEY, None)
    }

    pub(super) fn is_public(&self) -> bool {
        Self::development().is_ok_and(|public| self.keys.iter().any(|key| public.keys.contains(key)))
    }

    /// Signs a string-to-sign with the first key: HMAC-SHA256, in base64.
    pub fn sign(&self, text: &str) -> String {
        let mac = self.keys.first().and_then(|key| mac(key, text));
        mac.map(|mac| BASE64.encode(mac.finalize().into_bytes())).unwrap_or_default()
    }

    /// Whether a signature was made with one of the keys. How long it takes tells nothing of where
    /// the first wrong byte is.
    pub fn have_signed(&self, text: &str, signature: &str) -> bool {
        let Ok(signature) = BASE64.decode(signature) else { return false };
        // Each key is tried, whichever matches.
        self.keys.iter().fold(false, |found, key| {
            let matches = mac(key, text).is_some_and(|mac| mac.verify_slice(&signature).is_ok());
            matches || found
        })
    }
}

/// Without the keys.
impl fmt::Debug for AccountKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccountKeys({})", self.keys.len())
    }
}

fn mac(key: &[u8], text: &str) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(text.as_bytes());
    Some(mac)
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
    fn either_key_counts() {
        let (key, other) = (generate_key().unwrap(), generate_key().unwrap());
        assert_eq!((key.len(), key == other), (88, false));
        let two = AccountKeys::new(&key, Some(DEVELOPMENT_KEY)).unwrap();
        let development = AccountKeys::development().unwrap();
        assert!(two.is_public() && development.is_public());
        assert!(!AccountKeys::new(&key, Some(&other)).unwrap().is_public());
        for keys in [&two, &development] {
            assert!(two.have_signed("text", &keys.sign("text")) && !two.have_signed("other", &keys.sign("text")));
        }
        assert!(!development.have_signed("text", &two.sign("text")) && !development.have_signed("text", "no base64"));
        assert!(AccountKeys::new("no base64", None).is_err() && AccountKeys::of_all(&[]).is_err());
        assert_eq!(format!("{two:?}"), "AccountKeys(2)");
    }
}
