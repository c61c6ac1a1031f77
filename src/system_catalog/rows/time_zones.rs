//! Time zones and their offsets at the time of the statement.

use std::sync::Arc;

use arrow::array::TimestampMicrosecondArray;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::super::cell::{Cell, Rows, rows};
use super::super::contents::Contents;
use super::super::recorded::time_zones;

const MICROS_PER_MINUTE: i64 = 60_000_000;
/// From any day of summer to one of winter.
const HALF_YEAR_MICROS: i64 = 182 * 24 * 60 * MICROS_PER_MINUTE;

/// Zones that are not known here are left out.
pub fn pg_timezone_names(contents: &Arc<Contents>) -> Rows {
    let now = contents.facts.now_micros();
    let known = time_zones().filter_map(move |name| Some((name, at(name, now)?, at(name, now + HALF_YEAR_MICROS)?)));
    rows!(known, |(name, (offset, abbreviation), (other_offset, _))| {
        name: name, abbrev: abbreviation, utc_offset: Cell::Interval(offset), is_dst: offset > other_offset,
    })
}

/// The offset of a zone from UTC at a time, in microseconds, and what the zone is called then.
fn at(zone: &str, micros: i64) -> Option<(i64, String)> {
    let time = TimestampMicrosecondArray::from(vec![micros]).with_timezone(zone);
    let format = FormatOptions::new().with_timestamp_tz_format(Some("%z %Z"));
    let shown = ArrayFormatter::try_new(&time, &format).ok()?.value(0).try_to_string().ok()?;
    let (offset, abbreviation) = shown.split_once(' ')?;
    let digits: i64 = offset.get(1..)?.parse().ok()?;
    let minutes = digits / 100 * 60 + digits % 100;
    let signed = if offset.starts_with('-') { -minutes } else { minutes };
    Some((signed * MICROS_PER_MINUTE, abbreviation.to_owned()))
}

#[test]
fn summer_and_winter_are_told_apart() {
    let hours = |offset: i64| offset / MICROS_PER_MINUTE / 60;
    let (winter, summer) = (1_768_435_200_000_000, 1_784_073_600_000_000);
    let paris = |at_micros| at("Europe/Paris", at_micros).map(|(offset, name)| (hours(offset), name));
    assert_eq!(paris(winter), Some((1, "CET".to_owned())));
    assert_eq!(paris(summer), Some((2, "CEST".to_owned())));
    assert_eq!(at("America/St_Johns", winter).map(|(offset, _)| offset / MICROS_PER_MINUTE), Some(-210));
    assert_eq!(at("No/Where", winter), None);
}
