//! Times as signatures and access policies write them.

use rowkey_base::DateTime;

/// Reads the forms of section 4.2: a date, or a date and a time in minutes, seconds or fractions of
/// them, with a zone.
pub fn parse_signed_time(text: &str) -> Option<DateTime> {
    let bytes = text.as_bytes();
    if bytes.len() == 10 {
        return DateTime::parse(&format!("{text}T00:00:00Z")).ok();
    }
    // 2024-05-01T08:00Z
    if bytes.get(13) == Some(&b':') && bytes.get(16).is_some_and(|next| *next != b':') && text.is_char_boundary(16) {
        let (minutes, zone) = text.split_at(16);
        return DateTime::parse(&format!("{minutes}:00{zone}")).ok();
    }
    // Without a zone it would depend on where one is.
    let has_zone = bytes.get(19..).is_some_and(|rest| !rest.is_empty());
    if has_zone { DateTime::parse(text).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_signed_times() {
        let at = |text: &str| parse_signed_time(text).map(|at| at.to_string());
        assert_eq!(at("2030-01-02").as_deref(), Some("2030-01-02T00:00:00Z"));
        assert_eq!(at("2030-01-02T03:04Z").as_deref(), Some("2030-01-02T03:04:00Z"));
        assert_eq!(at("2030-01-02T03:04+01:00").as_deref(), Some("2030-01-02T02:04:00Z"));
        assert_eq!(at("2030-01-02T03:04:05Z").as_deref(), Some("2030-01-02T03:04:05Z"));
        assert_eq!(at("2030-01-02T03:04:05.1234567Z").as_deref(), Some("2030-01-02T03:04:05.1234567Z"));
        for bad in ["", "2030", "2030-01-02T03:04:05", "2030-13-02", "2030-01-02T03:04é", "éééééééééééééééé"]
        {
            assert_eq!(at(bad), None, "{bad}");
        }
    }
}
