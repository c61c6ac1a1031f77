//! Times as headers, signatures and documents write them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rowkey_base::DateTime;

const TICKS_PER_SECOND: i64 = 10_000_000;

/// Reads the date of a header (RFC 1123), in whole seconds.
pub(crate) fn parse_http_date(text: &str) -> Option<DateTime> {
    let at = httpdate::parse_http_date(text.trim()).ok()?;
    let since = at.duration_since(UNIX_EPOCH).ok()?;
    Some(DateTime::from_ticks(i64::try_from(since.as_secs()).ok()?.checked_mul(TICKS_PER_SECOND)?))
}

/// The date of a header.
pub(crate) fn http_date(at: DateTime) -> String {
    let seconds = u64::try_from(at.ticks() / TICKS_PER_SECOND).unwrap_or(0);
    let since: SystemTime = UNIX_EPOCH + Duration::from_secs(seconds);
    httpdate::fmt_http_date(since)
}

/// Reads the forms that signatures and access policies have (specification, section 4.2): a date,
/// or a date and a time in minutes, seconds or fractions of them, with a zone.
pub(crate) fn parse_signed_time(text: &str) -> Option<DateTime> {
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

/// The text with all seven digits of a second.
pub(crate) fn with_seven_digits(at: DateTime) -> String {
    let text = at.to_string();
    let text = text.trim_end_matches('Z');
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{seconds}.{fraction:0<7}Z")
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

    #[test]
    fn dates_of_headers_and_digits() {
        let at = DateTime::parse("2026-01-01T00:00:00Z").unwrap();
        assert_eq!(parse_http_date("Thu, 01 Jan 2026 00:00:00 GMT"), Some(at));
        assert_eq!((http_date(at).as_str(), parse_http_date("today")), ("Thu, 01 Jan 2026 00:00:00 GMT", None));
        assert_eq!(with_seven_digits(at), "2026-01-01T00:00:00.0000000Z");
        assert_eq!(with_seven_digits(DateTime::from_ticks(1)), "1970-01-01T00:00:00.0000001Z");
    }
}
