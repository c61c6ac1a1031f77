//! The options of a query string.

use rowkey_base::percent::decode_query;

use crate::errors::Failure;

/// Names and values, decoded; of a name that is given twice the first counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct QueryOptions {
    pairs: Vec<(String, String)>,
}

impl QueryOptions {
    pub(crate) fn parse(query: &str) -> Result<Self, Failure> {
        let mut pairs = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = decode_query(name).zip(decode_query(value));
            pairs.push(decoded.ok_or_else(Failure::query_syntax)?);
        }
        Ok(Self { pairs })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The value, if it is not empty.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Whether one of these was given.
    pub(crate) fn any_of(&self, names: &[&str]) -> Option<&str> {
        self.pairs.iter().map(|(name, _)| name.as_str()).find(|name| names.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_decoded() {
        let options = QueryOptions::parse("%24filter=a+eq+%27x%27&$top=5&&comp&$top=6&sig=a%2Bb=").unwrap();
        assert_eq!(options.get("$filter"), Some("a eq 'x'"));
        assert_eq!((options.get("$top"), options.get("comp"), options.given("comp")), (Some("5"), Some(""), None));
        assert_eq!((options.get("sig"), options.get("none")), (Some("a+b="), None));
        assert_eq!(options.any_of(&["$skip", "$top"]), Some("$top"));
        assert!(QueryOptions::parse("a=%zz").is_err());
    }
}
