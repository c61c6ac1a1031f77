//! Times as headers and documents write them.

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

/// The text with all seven digits of a second.
pub(crate) fn with_seven_digits(at: DateTime) -> String {
    let text = at.to_string();
    let text = text.trim_end_matches('Z');
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{seconds}.{fraction:0<7}Z")
}

/// As .NET writes a time where no culture is wanted: `12/31/1600 23:59:59`.
pub(crate) fn month_day_year(at: DateTime) -> String {
    let text = at.to_string();
    let (date, time) = text.split_once('T').unwrap_or((&text, ""));
    let time = time.split(['.', 'Z']).next().unwrap_or_default();
    let mut parts = date.rsplitn(3, '-');
    let (day, month, year) = (parts.next(), parts.next(), parts.next());
    format!("{}/{}/{} {time}", month.unwrap_or_default(), day.unwrap_or_default(), year.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_headers_and_digits() {
        let at = DateTime::parse("2026-01-01T00:00:00Z").unwrap();
        assert_eq!(parse_http_date("Thu, 01 Jan 2026 00:00:00 GMT"), Some(at));
        assert_eq!((http_date(at).as_str(), parse_http_date("today")), ("Thu, 01 Jan 2026 00:00:00 GMT", None));
        assert_eq!(with_seven_digits(at), "2026-01-01T00:00:00.0000000Z");
        assert_eq!(month_day_year(at), "01/01/2026 00:00:00");
        assert_eq!(with_seven_digits(DateTime::from_ticks(1)), "1970-01-01T00:00:00.0000001Z");
    }
}
