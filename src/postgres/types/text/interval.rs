//! Intervals in the four interval styles.

use bytes::BytesMut;

use super::{write_digits, write_integer};
use crate::types::IntervalStyle;
use crate::types::calendar::MICROS_PER_SECOND;
use crate::types::value::Interval;

/// An interval by its parts, each with a sign of its own.
struct Parts {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    seconds: i64,
    micros: i64,
}

impl Parts {
    fn of(interval: Interval) -> Self {
        let seconds = interval.micros / MICROS_PER_SECOND;
        Self {
            years: i64::from(interval.months / 12),
            months: i64::from(interval.months % 12),
            days: interval.days.into(),
            hours: seconds / 3600,
            minutes: seconds / 60 % 60,
            seconds: seconds % 60,
            micros: interval.micros % MICROS_PER_SECOND,
        }
    }

    fn all(&self) -> [i64; 7] {
        [self.years, self.months, self.days, self.hours, self.minutes, self.seconds, self.micros]
    }

    fn time_is_negative(&self) -> bool {
        self.all()[3..].iter().any(|part| *part < 0)
    }

    fn has_time(&self) -> bool {
        self.all()[3..].iter().any(|part| *part != 0)
    }
}

pub(in crate::types) fn write_interval(interval: Interval, style: IntervalStyle, out: &mut BytesMut) {
    let parts = Parts::of(interval);
    match style {
        IntervalStyle::Postgres => write_postgres(&parts, out),
        IntervalStyle::PostgresVerbose => write_verbose(&parts, out),
        IntervalStyle::SqlStandard => write_sql_standard(parts, out),
        IntervalStyle::Iso8601 => write_iso_8601(&parts, out),
    }
}

/// `1 year 2 mons -3 days +04:05:06.7`
fn write_postgres(parts: &Parts, out: &mut BytesMut) {
    let start = out.len();
    // A positive part after a negative one gets its sign, so that the minus is not read as that of
    // all.
    let mut after_negative = false;
    for (value, unit) in [(parts.years, "year"), (parts.months, "mon"), (parts.days, "day")] {
        if value == 0 {
            continue;
        }
        if out.len() > start {
            out.extend_from_slice(b" ");
        }
        if after_negative && value > 0 {
            out.extend_from_slice(b"+");
        }
        write_integer(value, out);
        out.extend_from_slice(b" ");
        out.extend_from_slice(unit.as_bytes());
        if value != 1 {
            out.extend_from_slice(b"s");
        }
        after_negative = value < 0;
    }
    if parts.has_time() || out.len() == start {
        if out.len() > start {
            out.extend_from_slice(b" ");
        }
        if parts.time_is_negative() {
            out.extend_from_slice(b"-");
        } else if after_negative {
            out.extend_from_slice(b"+");
        }
        write_clock(parts, 2, out);
    }
}

/// `@ 1 year 2 mons 3 days 4 hours 5 mins 6.7 secs ago`
fn write_verbose(parts: &Parts, out: &mut BytesMut) {
    out.extend_from_slice(b"@");
    // The first part decides: `ago` turns the signs of all.
    let mut ago = None;
    for (value, unit) in [
        (parts.years, " year"),
        (parts.months, " mon"),
        (parts.days, " day"),
        (parts.hours, " hour"),
        (parts.minutes, " min"),
    ] {
        if value == 0 {
            continue;
        }
        let value = if *ago.get_or_insert(value < 0) { -value } else { value };
        out.extend_from_slice(b" ");
        write_integer(value, out);
        out.extend_from_slice(unit.as_bytes());
        if value != 1 {
            out.extend_from_slice(b"s");
        }
    }
    if parts.seconds != 0 || parts.micros != 0 {
        let negative = parts.seconds < 0 || parts.micros < 0;
        out.extend_from_slice(b" ");
        if *ago.get_or_insert(negative) != negative {
            out.extend_from_slice(b"-");
        }
        write_seconds(parts, 1, out);
        out.extend_from_slice(if parts.seconds.abs() != 1 || parts.micros != 0 { b" secs" } else { b" sec" });
    }
    match ago {
        None => out.extend_from_slice(b" 0"),
        Some(true) => out.extend_from_slice(b" ago"),
        Some(false) => {}
    }
}

/// `1-2`, `3 4:05:06.7`, or `+1-2 -3 +4:05:06.7` where the standard has no form.
fn write_sql_standard(mut parts: Parts, out: &mut BytesMut) {
    let negative = parts.all().iter().any(|part| *part < 0);
    let positive = parts.all().iter().any(|part| *part > 0);
    let has_months = parts.years != 0 || parts.months != 0;
    let has_days = parts.days != 0;
    if !negative && !positive {
        out.extend_from_slice(b"0");
        return;
    }
    if (negative && positive) || (has_months && (has_days || parts.has_time())) {
        let sign = |negative| if negative { b"-" } else { b"+" };
        out.extend_from_slice(sign(parts.years < 0 || parts.months < 0));
        write_digits(parts.years.unsigned_abs(), 1, out);
        out.extend_from_slice(b"-");
        write_digits(parts.months.unsigned_abs(), 1, out);
        out.extend_from_slice(b" ");
        out.extend_from_slice(sign(parts.days < 0));
        write_digits(parts.days.unsigned_abs(), 1, out);
        out.extend_from_slice(b" ");
        out.extend_from_slice(sign(parts.time_is_negative()));
        write_clock(&parts, 1, out);
        return;
    }
    if negative {
        out.extend_from_slice(b"-");
        (parts.years, parts.months, parts.days) = (-parts.years, -parts.months, -parts.days);
    }
    if has_months {
        write_integer(parts.years, out);
        out.extend_from_slice(b"-");
        write_integer(parts.months, out);
    } else {
        if has_days {
            write_integer(parts.days, out);
            out.extend_from_slice(b" ");
        }
        write_clock(&parts, 1, out);
    }
}

/// `P1Y2M3DT4H5M6.7S`
fn write_iso_8601(parts: &Parts, out: &mut BytesMut) {
    if parts.all().iter().all(|part| *part == 0) {
        out.extend_from_slice(b"PT0S");
        return;
    }
    out.extend_from_slice(b"P");
    let write_part = |value: i64, unit: &[u8], out: &mut BytesMut| {
        if value != 0 {
            write_integer(value, out);
            out.extend_from_slice(unit);
        }
    };
    write_part(parts.years, b"Y", out);
    write_part(parts.months, b"M", out);
    write_part(parts.days, b"D", out);
    if !parts.has_time() {
        return;
    }
    out.extend_from_slice(b"T");
    write_part(parts.hours, b"H", out);
    write_part(parts.minutes, b"M", out);
    if parts.seconds != 0 || parts.micros != 0 {
        if parts.seconds < 0 || parts.micros < 0 {
            out.extend_from_slice(b"-");
        }
        write_seconds(parts, 1, out);
        out.extend_from_slice(b"S");
    }
}

/// Hours, minutes and seconds without their sign.
fn write_clock(parts: &Parts, hour_width: usize, out: &mut BytesMut) {
    write_digits(parts.hours.unsigned_abs(), hour_width, out);
    out.extend_from_slice(b":");
    write_digits(parts.minutes.unsigned_abs(), 2, out);
    out.extend_from_slice(b":");
    write_seconds(parts, 2, out);
}

fn write_seconds(parts: &Parts, width: usize, out: &mut BytesMut) {
    write_digits(parts.seconds.unsigned_abs(), width, out);
    if parts.micros != 0 {
        out.extend_from_slice(b".");
        write_digits(parts.micros.unsigned_abs(), 6, out);
        let trimmed = out.iter().rev().take_while(|digit| **digit == b'0').count();
        out.truncate(out.len() - trimmed);
    }
}
