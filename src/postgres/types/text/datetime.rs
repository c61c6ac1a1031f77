//! Dates and times in the four date styles.

use bytes::BytesMut;

use super::write_digits;
use crate::types::calendar::{Day, MICROS_PER_DAY, MICROS_PER_SECOND, MONTHS, WEEKDAYS, day_of, weekday};
use crate::types::{DateFormat, DateOrder, DateStyle, Zone};

/// A date, in days since 1970.
pub(in crate::types) fn write_date(days: i64, style: DateStyle, out: &mut BytesMut) {
    let day = day_of(days);
    match (style.format, style.order) {
        (DateFormat::Iso, _) => write_year_first(day, out),
        (DateFormat::German, _) => write_parts([day.day, day.month], b'.', day, out),
        (DateFormat::Sql, DateOrder::Dmy) => write_parts([day.day, day.month], b'/', day, out),
        (DateFormat::Sql, _) => write_parts([day.month, day.day], b'/', day, out),
        (DateFormat::Postgres, DateOrder::Dmy) => write_parts([day.day, day.month], b'-', day, out),
        (DateFormat::Postgres, _) => write_parts([day.month, day.day], b'-', day, out),
    }
    write_era(day, out);
}

/// A time of day, in microseconds since midnight.
pub(in crate::types) fn write_time(micros: i64, out: &mut BytesMut) {
    let mut text = *b"00:00:00.000000";
    let seconds = (micros / MICROS_PER_SECOND) as u32;
    put2(&mut text[0..], seconds / 3600);
    put2(&mut text[3..], seconds / 60 % 60);
    put2(&mut text[6..], seconds % 60);
    let mut fraction = (micros % MICROS_PER_SECOND) as u32;
    let mut end = 8;
    if fraction != 0 {
        for digit in text[9..15].iter_mut().rev() {
            *digit = b'0' + (fraction % 10) as u8;
            fraction /= 10;
        }
        end = 15;
        while text[end - 1] == b'0' {
            end -= 1;
        }
    }
    out.extend_from_slice(&text[..end]);
}

/// A local time, in microseconds since 1970.
pub(in crate::types) fn write_timestamp(local_micros: i64, style: DateStyle, out: &mut BytesMut) {
    write_local(local_micros, style, out);
    write_era(day_of(local_micros.div_euclid(MICROS_PER_DAY)), out);
}

/// An instant, in microseconds since 1970, as the local time of a zone.
pub(in crate::types) fn write_timestamptz(utc_micros: i64, style: DateStyle, zone: &Zone, out: &mut BytesMut) {
    let offset = zone.offset_at(utc_micros);
    // Offsets are hours: instants at the very ends of 64 bits are not dates of PostgreSQL in any
    // zone.
    let local_micros = utc_micros.saturating_add(i64::from(offset) * MICROS_PER_SECOND);
    write_local(local_micros, style, out);
    if style.format == DateFormat::Iso {
        write_offset(offset, out);
    } else {
        out.extend_from_slice(b" ");
        out.extend_from_slice(zone.abbreviation_at(utc_micros).as_bytes());
    }
    write_era(day_of(local_micros.div_euclid(MICROS_PER_DAY)), out);
}

fn write_local(local_micros: i64, style: DateStyle, out: &mut BytesMut) {
    let days = local_micros.div_euclid(MICROS_PER_DAY);
    let time = local_micros.rem_euclid(MICROS_PER_DAY);
    let day = day_of(days);
    match style.format {
        DateFormat::Iso => write_year_first(day, out),
        DateFormat::German => write_parts([day.day, day.month], b'.', day, out),
        DateFormat::Sql if style.order == DateOrder::Dmy => write_parts([day.day, day.month], b'/', day, out),
        DateFormat::Sql => write_parts([day.month, day.day], b'/', day, out),
        DateFormat::Postgres => {
            // Wed Dec 17 07:37:16 1997
            out.extend_from_slice(WEEKDAYS[weekday(days)].as_bytes());
            out.extend_from_slice(b" ");
            let month = &MONTHS[day.month as usize - 1].as_bytes()[..3];
            if style.order == DateOrder::Dmy {
                write_digits(day.day.into(), 2, out);
                out.extend_from_slice(b" ");
                out.extend_from_slice(month);
            } else {
                out.extend_from_slice(month);
                out.extend_from_slice(b" ");
                write_digits(day.day.into(), 2, out);
            }
            out.extend_from_slice(b" ");
            write_time(time, out);
            out.extend_from_slice(b" ");
            write_year(day, out);
            return;
        }
    }
    out.extend_from_slice(b" ");
    write_time(time, out);
}

fn put2(text: &mut [u8], value: u32) {
    text[0] = b'0' + (value / 10) as u8;
    text[1] = b'0' + (value % 10) as u8;
}

fn write_year(day: Day, out: &mut BytesMut) {
    let year = if day.year > 0 { day.year } else { 1 - day.year };
    write_digits(year.unsigned_abs(), 4, out);
}

fn write_year_first(day: Day, out: &mut BytesMut) {
    if (0..10_000).contains(&day.year) && day.year != 0 {
        let mut text = *b"0000-00-00";
        put2(&mut text[0..], day.year as u32 / 100);
        put2(&mut text[2..], day.year as u32 % 100);
        put2(&mut text[5..], day.month);
        put2(&mut text[8..], day.day);
        out.extend_from_slice(&text);
        return;
    }
    write_year(day, out);
    for part in [day.month, day.day] {
        out.extend_from_slice(b"-");
        write_digits(part.into(), 2, out);
    }
}

/// Two numbers and the year, with a separator.
fn write_parts(parts: [u32; 2], separator: u8, day: Day, out: &mut BytesMut) {
    for part in parts {
        write_digits(part.into(), 2, out);
        out.extend_from_slice(&[separator]);
    }
    write_year(day, out);
}

fn write_era(day: Day, out: &mut BytesMut) {
    if day.year <= 0 {
        out.extend_from_slice(b" BC");
    }
}

fn write_offset(seconds_east: i32, out: &mut BytesMut) {
    out.extend_from_slice(if seconds_east < 0 { b"-" } else { b"+" });
    let size = u64::from(seconds_east.unsigned_abs());
    write_digits(size / 3600, 2, out);
    if size % 3600 != 0 {
        out.extend_from_slice(b":");
        write_digits(size / 60 % 60, 2, out);
    }
    if size % 60 != 0 {
        out.extend_from_slice(b":");
        write_digits(size % 60, 2, out);
    }
}
