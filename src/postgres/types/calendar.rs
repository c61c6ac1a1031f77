//! The proleptic Gregorian calendar in days and microseconds of the Unix epoch.

use rowkey_base::calendar::civil_of_days;
pub(super) use rowkey_base::calendar::{days_in_month, days_of_civil, is_leap};

pub(super) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(super) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL counts from.
pub(super) const POSTGRES_EPOCH_DAYS: i32 = 10_957;
pub(crate) const POSTGRES_EPOCH_MICROS: i64 = POSTGRES_EPOCH_DAYS as i64 * MICROS_PER_DAY;

/// The earliest timestamp of PostgreSQL, 4713-11-24 BC. The latest here is that of 64 bits since
/// 1970, in year 294247.
pub(super) const MIN_MICROS: i64 = -211_813_488_000_000_000 + POSTGRES_EPOCH_MICROS;
/// PostgreSQL's range of dates: from 4713-11-24 BC to 5874897-12-31.
pub(super) const MIN_DAYS: i64 = -2_451_545 + POSTGRES_EPOCH_DAYS as i64;
pub(super) const MAX_DAYS: i64 = 2_145_031_948 + POSTGRES_EPOCH_DAYS as i64;

/// A day of the calendar. Year 0 is 1 BC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Day {
    pub year: i64,
    pub month: u32,
    pub day: u32,
}

/// The day `days` after 1970-01-01.
pub(super) fn day_of(days: i64) -> Day {
    let (year, month, day) = civil_of_days(days);
    Day { year, month: month as u32, day: day as u32 }
}

/// 0 for Sunday.
pub(super) fn weekday(days: i64) -> usize {
    (days + 4).rem_euclid(7) as usize
}

pub(super) const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// 1 to 12 for a month's name or its abbreviation, in lower case.
pub(super) fn month_of_name(name: &str) -> Option<i64> {
    let is_short = name.len() == 3;
    let is_named = |month: &&str| name.eq_ignore_ascii_case(if is_short { &month[..3] } else { month });
    let at = MONTHS.iter().position(is_named);
    at.map(|at| at as i64 + 1).or(if name == "sept" { Some(9) } else { None })
}

/// Whether this is a weekday's name or its abbreviation, in lower case.
pub(super) fn weekday_of_name(name: &str) -> bool {
    const NAMES: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
    NAMES.iter().any(|day| *day == name || (name.len() == 3 && day.starts_with(name)))
        || matches!(name, "tues" | "weds" | "thur" | "thurs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_agree() {
        assert_eq!(weekday(0), 4, "1970-01-01 was a Thursday");
        for (days, year, month, day) in [
            (0, 1970, 1, 1),
            (POSTGRES_EPOCH_DAYS.into(), 2000, 1, 1),
            (MIN_DAYS, -4713, 11, 24),
            (MAX_DAYS, 5_874_897, 12, 31),
        ] {
            assert_eq!(day_of(days), Day { year, month, day });
            assert_eq!(days_of_civil(year, month.into(), day.into()), days);
        }
    }
}
