//! The text of a shared access signature, and what both kinds of it have in common.

use std::fmt;

use rowkey_base::percent::decode_query;
use rowkey_base::{DateTime, Error, Result, SqlState};

use super::refusal::Refusal;
use super::service_version::is_service_version;
use super::signed_time::parse_signed_time;

/// The parameters that are signed, and the signature.
const NAMES: [&str; 16] =
    ["sv", "tn", "sp", "st", "se", "si", "sip", "spr", "spk", "srk", "epk", "erk", "ss", "srt", "ses", "sig"];

/// A shared access signature as its holder sends it, not yet checked: of one table (a service SAS)
/// or of an account.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedAccessSignature {
    /// Those that are there, be they empty, decoded.
    parameters: Vec<(&'static str, String)>,
}

impl SharedAccessSignature {
    /// Takes the parameters from a query, whose value of a name is asked for; `None` where there is
    /// no signature.
    pub fn of_query<'q>(value: impl Fn(&str) -> Option<&'q str>) -> Option<Self> {
        value("sig")?;
        let given = NAMES.into_iter().filter_map(|name| Some((name, value(name)?.to_owned())));
        Some(Self { parameters: given.collect() })
    }

    /// Reads a query string, perhaps with the `?` that it begins with, or as part of an `http` or
    /// `https` URL. Other parameters are passed over; of one that comes twice the first counts.
    ///
    /// # Errors
    /// `INVALID_AUTHORIZATION_SPECIFICATION` for a text without a signature (`sig`), or in which
    /// an escape is wrong.
    pub fn parse(text: &str) -> Result<Self> {
        let mut pairs = Vec::new();
        for pair in query_of(text).split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            // Without the text, which is a secret.
            let wrong = || {
                let message = "the shared access signature is not a query string: an escape is wrong in it";
                Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message)
            };
            pairs.push(decode_query(name).zip(decode_query(value)).ok_or_else(wrong)?);
        }
        let value = |name: &str| pairs.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
        Ok(Self::of_query(value).ok_or(Refusal::Malformed("sig"))?)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_str())
    }

    /// The value of a parameter, or the empty text that stands for it in a string-to-sign.
    pub(super) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// The signature; a `+` that was not escaped came as a blank.
    pub(super) fn signature(&self) -> String {
        self.text("sig").replace(' ', "+")
    }

    /// The version of the service that it is written for.
    pub(super) fn version(&self) -> Result<&str, Refusal> {
        let version = self.text("sv");
        if is_service_version(version) { Ok(version) } else { Err(Refusal::Malformed("sv")) }
    }

    /// A time, if it is there; it was signed as text.
    pub(super) fn time(&self, name: &'static str) -> Result<Option<DateTime>, Refusal> {
        match self.text(name) {
            "" => Ok(None),
            text => parse_signed_time(text).map(Some).ok_or(Refusal::Malformed(name)),
        }
    }
}

/// Without the values, which are credentials.
impl fmt::Debug for SharedAccessSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.parameters.iter().map(|(name, _)| name);
        f.write_str("SharedAccessSignature")?;
        f.debug_list().entries(names).finish()
    }
}

/// What of a token, a query or a URL is the query. A `?` within a query is part of a value.
fn query_of(text: &str) -> &str {
    let text = text.trim();
    let is_url = ["http://", "https://"]
        .iter()
        .any(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let query = if is_url { text.split_once('?').map_or("", |(_, query)| query) } else { text };
    let query = query.split_once('#').map_or(query, |(query, _)| query);
    if is_url { query } else { query.strip_prefix('?').unwrap_or(query) }
}

/// Refuses a signature before its start and after its expiry.
pub(super) fn expect_valid(start: Option<DateTime>, expiry: DateTime, now: DateTime) -> Result<(), Refusal> {
    if start.is_some_and(|start| now < start) {
        return Err(Refusal::NotYetValid);
    }
    if now > expiry { Err(Refusal::Expired) } else { Ok(()) }
}

/// Refuses letters that are none, or come twice.
pub(super) fn expect_letters(name: &'static str, letters: &str, known: &str) -> Result<(), Refusal> {
    let is_right = letters
        .char_indices()
        .all(|(at, letter)| known.contains(letter) && !letters[at + letter.len_utf8()..].contains(letter));
    if is_right && !letters.is_empty() { Ok(()) } else { Err(Refusal::Malformed(name)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_however_it_is_given() {
        let token = "sv=2019-02-02&tn=Orders&spk=a%26b?c&sig=A%2BB%3D&tn=Others&api-version=x";
        let parsed = SharedAccessSignature::parse(token).unwrap();
        assert_eq!((parsed.text("tn"), parsed.text("spk"), parsed.get("srk")), ("Orders", "a&b?c", None));
        assert_eq!(parsed.signature(), "A+B=");
        for text in [
            format!("?{token}"),
            format!("  {token}\n"),
            format!("https://acct.table.core.windows.net/Orders?{token}"),
            format!("HTTP://127.0.0.1:10002/devstoreaccount1/Orders(PartitionKey='a',RowKey='b')?{token}#top"),
        ] {
            assert_eq!(SharedAccessSignature::parse(&text).unwrap(), parsed, "{text}");
        }
        let debug = format!("{parsed:?}");
        assert!(debug.contains("sig") && !debug.contains("A+B") && !debug.contains("Orders"), "{debug}");
        for bad in ["", "?", "https://host/Orders", "sv=2019-02-02&tn=Orders", "sig=%zz", "?sig=%4"] {
            let error = SharedAccessSignature::parse(bad).unwrap_err();
            assert_eq!(error.sqlstate(), SqlState::INVALID_AUTHORIZATION_SPECIFICATION, "{bad}");
            assert!(!error.to_string().contains('%'), "{error}");
        }
    }
}
