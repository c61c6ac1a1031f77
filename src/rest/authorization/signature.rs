//! HMAC-SHA256 of a string-to-sign, in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::accounts::AccountKeys;

/// Whether a signature was made with one of the keys. How long it takes tells nothing of where the
/// first wrong byte is.
pub(super) fn is_signed(keys: &AccountKeys, string_to_sign: &str, signature: &str) -> bool {
    let Ok(signature) = BASE64.decode(signature) else { return false };
    // Each key is tried, whichever matches.
    keys.iter().fold(false, |found, key| {
        let matches = mac(key, string_to_sign).is_some_and(|mac| mac.verify_slice(&signature).is_ok());
        matches || found
    })
}

fn mac(key: &[u8], text: &str) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(text.as_bytes());
    Some(mac)
}

/// The signature with the first key.
#[cfg(test)]
pub(super) fn sign(keys: &AccountKeys, text: &str) -> String {
    let mac = mac(keys.iter().next().unwrap(), text).unwrap();
    BASE64.encode(mac.finalize().into_bytes())
}
