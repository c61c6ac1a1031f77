//! Timestamps as text.

use arrow::array::TimestampSecondArray;
use arrow::datatypes::TimeUnit;
use arrow::error::ArrowError;
use arrow::util::display::ArrayFormatter;

use super::value::OPTIONS;
use rowkey_model::DateTime;

const TICKS_PER_SECOND: i64 = 10_000_000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;
/// 0001-01-01T00:00:00Z, from which on a year has four digits and no era.
const SECONDS_MIN: i64 = -62_135_596_800;
/// 10000-01-01T00:00:00Z.
const SECONDS_END: i64 = 253_402_300_800;

/// How timestamps are written; with a zone they are in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeForm {
    /// `2024-05-01 08:00:00.123457+00`, and no zone if the type has none.
    Sql,
    /// `2024-05-01T08:00:00.123457Z`, and no zone if the type has none.
    Iso,
}

/// Adds a timestamp. Years outside 1..=9999 are written with a sign; those that no calendar
/// function reaches are an error.
pub(super) fn write_timestamp(
    value: i64,
    unit: TimeUnit,
    zoned: bool,
    form: TimeForm,
    out: &mut String,
) -> Result<(), ArrowError> {
    let per_second = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => NANOS_PER_SECOND,
    };
    let (seconds, fraction) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    let begin = out.len();
    if (SECONDS_MIN..SECONDS_END).contains(&seconds) {
        out.push_str(&DateTime::from_ticks(seconds * TICKS_PER_SECOND).to_string());
        out.pop();
    } else {
        // Arrow reads zones other than offsets only with a database of zones, hence none here.
        let far = TimestampSecondArray::from_value(seconds, 1);
        ArrayFormatter::try_new(&far, &OPTIONS)?.value(0).write(out)?;
    }
    if fraction > 0 {
        out.push_str(&format!(".{:09}", fraction * (NANOS_PER_SECOND / per_second)));
        out.truncate(out.trim_end_matches('0').len());
    }
    match form {
        TimeForm::Sql => {
            if let Some(at) = out[begin..].find('T') {
                out.replace_range(begin + at..=begin + at, " ");
            }
            out.push_str(if zoned { "+00" } else { "" });
        }
        TimeForm::Iso => out.push_str(if zoned { "Z" } else { "" }),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: i64, unit: TimeUnit, zoned: bool, form: TimeForm) -> Result<String, String> {
        let mut out = "> T".to_owned();
        let written = write_timestamp(value, unit, zoned, form, &mut out);
        written.map(|()| out.split_off(3)).map_err(|error| error.to_string())
    }

    #[test]
    fn units_and_forms() {
        let micros = 1_714_550_400_123_457;
        let cases = [
            (micros, TimeUnit::Microsecond, true, TimeForm::Sql, "2024-05-01 08:00:00.123457+00"),
            (micros, TimeUnit::Microsecond, false, TimeForm::Sql, "2024-05-01 08:00:00.123457"),
            (micros, TimeUnit::Microsecond, true, TimeForm::Iso, "2024-05-01T08:00:00.123457Z"),
            (micros, TimeUnit::Microsecond, false, TimeForm::Iso, "2024-05-01T08:00:00.123457"),
            (1_714_550_400, TimeUnit::Second, true, TimeForm::Sql, "2024-05-01 08:00:00+00"),
            (1_714_550_400_120, TimeUnit::Millisecond, true, TimeForm::Sql, "2024-05-01 08:00:00.12+00"),
            (-1, TimeUnit::Nanosecond, true, TimeForm::Iso, "1969-12-31T23:59:59.999999999Z"),
        ];
        for (value, unit, zoned, form, expected) in cases {
            assert_eq!(text(value, unit, zoned, form).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn the_ends_of_the_calendar() {
        let sql = |value| text(value, TimeUnit::Microsecond, true, TimeForm::Sql);
        assert_eq!(sql(DateTime::MIN.micros()).as_deref(), Ok("1601-01-01 00:00:00+00"));
        assert_eq!(sql(DateTime::MAX.micros()).as_deref(), Ok("9999-12-31 23:59:59.999999+00"));
        assert_eq!(sql(SECONDS_MIN * 1_000_000).as_deref(), Ok("0001-01-01 00:00:00+00"));
        assert_eq!(sql(SECONDS_MIN * 1_000_000 - 1).as_deref(), Ok("0000-12-31 23:59:59.999999+00"));
        assert_eq!(sql(DateTime::MAX.micros() + 1).as_deref(), Ok("+10000-01-01 00:00:00+00"));
        assert_eq!(
            text(-70_000_000_000, TimeUnit::Second, false, TimeForm::Iso).as_deref(),
            Ok("-0249-10-15T19:33:20")
        );
        assert!(sql(i64::MAX).unwrap_err().contains("9223372036854"));
        assert!(text(i64::MIN, TimeUnit::Second, true, TimeForm::Sql).is_err());
    }
}
