//! Moments of the proleptic Gregorian calendar, in microseconds since 1970-01-01.

pub(super) use rowkey_base::calendar::{civil_of_days, days_in_month, days_of_civil, is_leap};

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

/// Adds months; a day that the month does not have becomes its last.
pub(super) fn add_months(micros: i64, months: i64) -> Option<i64> {
    let civil = Civil::of(micros);
    let month = civil.year.checked_mul(12)?.checked_add(civil.month - 1)?.checked_add(months)?;
    let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
    Civil { year, month, day: civil.day.min(days_in_month(year, month)), micros: civil.micros }.to_micros()
}
