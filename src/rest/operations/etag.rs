//! ETags: a Timestamp in quotes (specification, section 1.7).

use rowkey_base::DateTime;
use rowkey_sql::engine::IfMatch;

use crate::errors::Failure;

/// Reads `If-Match`: `*`, or one weak ETag. A well-formed one that no entity ever had matches none.
pub(super) fn if_match(value: &str) -> Result<IfMatch, Failure> {
    if value == "*" {
        return Ok(IfMatch::Any);
    }
    let not_valid = || {
        Failure::invalid_input(format!(
            "The etag value '{value}' specified in one of the request headers is not valid. Please make sure only one \
             etag value is specified and is valid."
        ))
    };
    let quoted = value.strip_prefix("W/\"").and_then(|rest| rest.strip_suffix('"')).ok_or_else(not_valid)?;
    if quoted.contains('"') {
        return Err(not_valid());
    }
    // Colons that are not escaped are unconfirmed, and mean the same.
    let time = quoted.strip_prefix("datetime'").and_then(|rest| rest.strip_suffix('\''));
    let time = time.map(|time| time.replace("%3A", ":").replace("%3a", ":"));
    let at = time.and_then(|time| DateTime::parse(&time).ok());
    Ok(IfMatch::Timestamp(at.unwrap_or_else(|| DateTime::from_ticks(i64::MIN))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rowkey_model::Entity;

    #[test]
    fn etags_read_back() {
        let at = DateTime::parse("2020-07-24T14:34:24.0550534Z").unwrap();
        assert_eq!(if_match(&Entity::etag_of(at)), Ok(IfMatch::Timestamp(at)));
        assert_eq!(if_match("W/\"datetime'2020-07-24T14:34:24.0550534Z'\""), Ok(IfMatch::Timestamp(at)));
        assert_eq!(if_match("*"), Ok(IfMatch::Any));
        assert!(matches!(if_match("W/\"other\""), Ok(IfMatch::Timestamp(at)) if at < DateTime::MIN));
        for bad in ["", "x", "\"strong\"", "W/\"a\", W/\"b\"", "W/\"open", "**", "*, *"] {
            assert_eq!(if_match(bad).unwrap_err().code(), "InvalidInput", "{bad}");
        }
    }
}
