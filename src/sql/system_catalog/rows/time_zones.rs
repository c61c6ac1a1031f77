//! Time zones and their offsets at the time of the statement.

use std::sync::Arc;

use super::super::cell::{Cell, Rows, rows};
use super::super::contents::Contents;
use super::super::recorded::time_zones;
use rowkey_postgres::types::Zone;

const MICROS_PER_SECOND: i64 = 1_000_000;
/// From any day of summer to one of winter.
const HALF_YEAR_MICROS: i64 = 182 * 24 * 3600 * MICROS_PER_SECOND;

/// Zones that are not known here are left out.
pub(super) fn pg_timezone_names(contents: &Arc<Contents>) -> Rows {
    let now = contents.session.now_micros();
    let known = time_zones().filter_map(move |name| {
        let zone = Zone::parse(name).ok()?;
        Some((name, at(&zone, now), at(&zone, now + HALF_YEAR_MICROS)))
    });
    rows!(known, |(name, (offset, abbreviation), (other_offset, _))| {
        name: name, abbrev: abbreviation, utc_offset: Cell::Interval(offset), is_dst: offset > other_offset,
    })
}

/// The offset of a zone from UTC at a time, in microseconds, and what the zone is called then.
fn at(zone: &Zone, micros: i64) -> (i64, String) {
    (i64::from(zone.offset_at(micros)) * MICROS_PER_SECOND, zone.abbreviation_at(micros))
}

#[test]
fn summer_and_winter_are_told_apart() {
    let (winter, summer) = (1_768_435_200_000_000, 1_784_073_600_000_000);
    let of = |name: &str, micros| {
        let (offset, abbreviation) = at(&Zone::parse(name).unwrap(), micros);
        (offset / MICROS_PER_SECOND / 60, abbreviation)
    };
    assert_eq!(of("Europe/Paris", winter), (60, "CET".to_owned()));
    assert_eq!(of("Europe/Paris", summer), (120, "CEST".to_owned()));
    assert_eq!(of("America/St_Johns", winter).0, -210);
}
