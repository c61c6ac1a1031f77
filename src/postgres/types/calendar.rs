//! The proleptic Gregorian calendar in days and microseconds of the Unix epoch.

pub(super) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(super) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL counts from.
pub(super) const POSTGRES_EPOCH_DAYS: i32 = 10_957;
pub(super) const POSTGRES_EPOCH_MICROS: i64 = POSTGRES_EPOCH_DAYS as i64 * MICROS_PER_DAY;

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
    // Counted in 400-year eras from 0000-03-01, so that the leap day ends a year.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u32;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 } as u32;
    Day { year: year_of_era + era * 400 + i64::from(month <= 2), month, day }
}

/// Days from 1970-01-01 to a day that is known to exist.
pub(super) fn days_of(Day { year, month, day }: Day) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted_month = i64::from(if month > 2 { month - 3 } else { month + 9 });
    let day_of_year = (153 * shifted_month + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

pub(super) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub(super) fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        2 => 28 + u32::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// 0 for Sunday.
pub(super) fn weekday(days: i64) -> usize {
    (days + 4).rem_euclid(7) as usize
}

pub(super) const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
pub(super) const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// 1 to 12 for a month's name or its abbreviation, in lower case.
pub(super) fn month_of_name(name: &str) -> Option<i64> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let at = NAMES.iter().position(|month| *month == name || (name.len() == 3 && month.starts_with(name)));
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
        assert_eq!(day_of(0), Day { year: 1970, month: 1, day: 1 });
        assert_eq!(day_of(POSTGRES_EPOCH_DAYS.into()), Day { year: 2000, month: 1, day: 1 });
        assert_eq!(weekday(0), 4, "1970-01-01 was a Thursday");
        let mut expected = Day { year: 1599, month: 12, day: 31 };
        for days in days_of(expected)..days_of(Day { year: 2405, month: 1, day: 1 }) {
            assert_eq!(day_of(days), expected);
            assert_eq!(days_of(expected), days);
            expected.day += 1;
            if expected.day > days_in_month(expected.year, expected.month) {
                expected = Day { year: expected.year, month: expected.month + 1, day: 1 };
                if expected.month > 12 {
                    expected = Day { year: expected.year + 1, month: 1, day: 1 };
                }
            }
        }
        for days in [MIN_DAYS, MAX_DAYS] {
            assert_eq!(days_of(day_of(days)), days);
        }
        assert_eq!(day_of(MIN_DAYS), Day { year: -4713, month: 11, day: 24 });
        assert_eq!(day_of(MAX_DAYS), Day { year: 5_874_897, month: 12, day: 31 });
    }
}
