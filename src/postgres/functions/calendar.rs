//! The proleptic Gregorian calendar, in days and microseconds since 1970-01-01.

pub(super) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(super) const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
pub(super) const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
pub(super) const MICROS_PER_DAY: i64 = 24 * MICROS_PER_HOUR;
/// Day zero in Julian days.
pub(super) const JULIAN_EPOCH: i64 = 2_440_588;

/// A moment taken apart; the year is astronomical (0 is 1 BC).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Civil {
    pub year: i64,
    /// 1 to 12.
    pub month: i64,
    /// 1 to 31.
    pub day: i64,
    /// Microseconds since midnight.
    pub micros: i64,
}

impl Civil {
    pub(super) fn of(micros: i64) -> Self {
        let (year, month, day) = civil_of_days(micros.div_euclid(MICROS_PER_DAY));
        Self { year, month, day, micros: micros.rem_euclid(MICROS_PER_DAY) }
    }

    pub(super) fn days(self) -> i64 {
        days_of_civil(self.year, self.month, self.day)
    }

    /// `None`: beyond 64 bits.
    pub(super) fn to_micros(self) -> Option<i64> {
        self.days().checked_mul(MICROS_PER_DAY)?.checked_add(self.micros)
    }

    /// 1 to 366.
    pub(super) fn day_of_year(self) -> i64 {
        self.days() - days_of_civil(self.year, 1, 1) + 1
    }

    /// The ISO year and its week, 1 to 53.
    pub(super) fn iso_week(self) -> (i64, i64) {
        let days = self.days();
        // The Thursday of a week decides its year.
        let thursday = days - (iso_weekday(days) - 1) + 3;
        let (year, _, _) = civil_of_days(thursday);
        (year, (thursday - days_of_civil(year, 1, 1)) / 7 + 1)
    }
}

/// 1 is Monday, 7 Sunday.
pub(super) fn iso_weekday(days: i64) -> i64 {
    (days + 3).rem_euclid(7) + 1
}

pub(super) fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

pub(super) fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01, counting years from March so that the leap day is the last.
pub(super) fn days_of_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

pub(super) fn civil_of_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// Adds months; a day that the month does not have becomes its last.
pub(super) fn add_months(micros: i64, months: i64) -> Option<i64> {
    let civil = Civil::of(micros);
    let month = civil.year.checked_mul(12)?.checked_add(civil.month - 1)?.checked_add(months)?;
    let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
    Civil { year, month, day: civil.day.min(days_in_month(year, month)), micros: civil.micros }.to_micros()
}
