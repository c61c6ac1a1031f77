//! One operation as it is asked for, alone or within a batch (specification, section 2.1).

use bytes::Bytes;
use rowkey_formats::entity_json::MetadataLevel;

use crate::address::{QueryOptions, Resource};
use crate::errors::Failure;

/// Headers by their names in lower case, in the order they came in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Headers {
    pairs: Vec<(String, String)>,
}

impl Headers {
    pub(crate) fn add(&mut self, name: &str, value: &str) {
        self.pairs.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// All values of a header, in their order.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.pairs.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    fn count(&self, name: &str) -> usize {
        self.all(name).count()
    }
}

/// What is done with the answer of an insert (section 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prefer {
    Unsaid,
    Content,
    NoContent,
}

impl Prefer {
    /// The header that says what was done.
    pub(crate) fn applied(self) -> Option<&'static str> {
        match self {
            Prefer::Unsaid => None,
            Prefer::Content => Some("return-content"),
            Prefer::NoContent => Some("return-no-content"),
        }
    }
}

/// An operation.
#[derive(Debug, Clone)]
pub(crate) struct OperationRequest {
    /// After tunnelling.
    pub method: String,
    pub resource: Resource,
    pub options: QueryOptions,
    pub headers: Headers,
    pub body: Bytes,
}

impl OperationRequest {
    /// How much metadata the answer has: `$format`, else `Accept` (section 2.5).
    pub(crate) fn level(&self) -> Result<MetadataLevel, Failure> {
        let wanted = self.options.given("$format").or_else(|| self.headers.get("accept"));
        let Some(wanted) = wanted.filter(|wanted| !wanted.trim().is_empty()) else {
            // Unconfirmed; what it was before JSON, Atom, is gone.
            return Ok(MetadataLevel::Minimal);
        };
        let mut failure = Failure::media_type();
        for item in wanted.split(',') {
            let mut parts = item.split(';').map(str::trim);
            match parts.next().unwrap_or_default().to_ascii_lowercase().as_str() {
                "application/json" | "json" => {
                    let level = parts.filter_map(|part| part.split_once('=')).find_map(|(name, value)| {
                        name.trim().eq_ignore_ascii_case("odata").then(|| value.trim().trim_matches('"'))
                    });
                    match level {
                        None => return Ok(MetadataLevel::Minimal),
                        Some(name) if name.eq_ignore_ascii_case("verbose") => {
                            let text = "JSON verbose format is not supported.";
                            failure = Failure::new(415, "JsonVerboseFormatNotSupported", text);
                        }
                        Some(name) => match MetadataLevel::parse(name) {
                            Some(level) => return Ok(level),
                            None => failure = Failure::media_type(),
                        },
                    }
                }
                "*/*" | "application/*" => return Ok(MetadataLevel::Minimal),
                "application/atom+xml" => failure = atom(),
                _ => {}
            }
        }
        Err(failure)
    }

    /// The level for an answer that has no body but in case of an error.
    pub(crate) fn level_or_minimal(&self) -> MetadataLevel {
        self.level().unwrap_or(MetadataLevel::Minimal)
    }

    /// Refuses bodies that are not JSON.
    pub(crate) fn expect_json(&self) -> Result<(), Failure> {
        let Some(given) = self.headers.get("content-type") else { return Ok(()) };
        match given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "application/json" | "" => Ok(()),
            "application/atom+xml" => Err(atom()),
            _ => Err(Failure::media_type()),
        }
    }

    pub(crate) fn prefer(&self) -> Prefer {
        match self.headers.get("prefer").map(str::to_ascii_lowercase).as_deref() {
            Some("return-content") => Prefer::Content,
            Some("return-no-content") => Prefer::NoContent,
            _ => Prefer::Unsaid,
        }
    }
}

fn atom() -> Failure {
    Failure::new(415, "AtomFormatNotSupported", "Atom format is not supported.")
}

/// Whether a verb only reads.
pub(crate) fn is_read(method: &str) -> bool {
    matches!(method, "GET" | "HEAD")
}

/// The verb that is meant: that of the request, or of `X-HTTP-Method` in a POST (section 2.2).
pub(crate) fn tunnelled(method: &str, headers: &Headers) -> Result<String, Failure> {
    let Some(inner) = headers.get("x-http-method") else { return Ok(method.to_owned()) };
    let failure = |code, text| Err(Failure::new(400, code, text));
    if headers.count("x-http-method") > 1 {
        return failure("XMethodIncorrectCount", "The X-HTTP-Method header is given more than once.");
    }
    if method != "POST" {
        return failure("XMethodNotUsingPost", "The X-HTTP-Method header is for POST requests only.");
    }
    match inner {
        "MERGE" | "PUT" | "PATCH" | "DELETE" => Ok(inner.to_owned()),
        _ => failure("XMethodIncorrectValue", "The X-HTTP-Method header names no method that it stands for."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)], query: &str) -> OperationRequest {
        let mut all = Headers::default();
        headers.iter().for_each(|(name, value)| all.add(name, value));
        OperationRequest {
            method: "GET".to_owned(),
            resource: Resource::Tables,
            options: QueryOptions::parse(query).unwrap(),
            headers: all,
            body: Bytes::new(),
        }
    }

    #[test]
    fn levels_of_accept_and_format() {
        use MetadataLevel::{Full, Minimal, None as Nothing};
        for (accept, wanted) in [
            ("application/json;odata=nometadata", Ok(Nothing)),
            ("application/json; odata=fullmetadata", Ok(Full)),
            ("application/json", Ok(Minimal)),
            ("*/*", Ok(Minimal)),
            ("", Ok(Minimal)),
            ("application/atom+xml,application/json;odata=minimalmetadata", Ok(Minimal)),
            ("application/atom+xml,application/xml", Err("AtomFormatNotSupported")),
            ("application/json;odata=verbose", Err("JsonVerboseFormatNotSupported")),
            ("text/html", Err("MediaTypeNotSupported")),
            ("application/json;odata=some", Err("MediaTypeNotSupported")),
        ] {
            let level = request(&[("Accept", accept)], "").level().map_err(|failure| failure.code());
            assert_eq!(level, wanted, "{accept}");
        }
        assert_eq!(request(&[], "").level(), Ok(Minimal));
        let both = request(&[("accept", "text/html")], "$format=application%2Fjson%3Bodata%3Dnometadata");
        assert_eq!(both.level(), Ok(Nothing));
    }

    #[test]
    fn tunnels() {
        let through = |method: &str, inner: &[&str]| {
            let mut headers = Headers::default();
            inner.iter().for_each(|inner| headers.add("X-HTTP-Method", inner));
            tunnelled(method, &headers).map_err(|failure| failure.code())
        };
        assert_eq!(through("GET", &[]).as_deref(), Ok("GET"));
        assert_eq!(through("POST", &["MERGE"]).as_deref(), Ok("MERGE"));
        assert_eq!(through("POST", &["MERGE", "PUT"]), Err("XMethodIncorrectCount"));
        assert_eq!(through("POST", &["GET"]), Err("XMethodIncorrectValue"));
        assert_eq!(through("PUT", &["MERGE"]), Err("XMethodNotUsingPost"));
    }
}
