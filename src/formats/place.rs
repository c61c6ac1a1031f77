//! Where in an input something stands.

use std::fmt;

/// Where in an input an entity stands; all count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Line(u64),
    Row(u64),
    /// For text that may be all on one line.
    Byte(u64),
}

impl Place {
    /// The place behind `text`, which begins here. (Rows are no matter of text, and stay.)
    pub(super) fn after(self, text: &[u8]) -> Place {
        self.after_lines(text, b'\n')
    }

    /// The same where lines end in another byte.
    pub(super) fn after_lines(self, text: &[u8], line_end: u8) -> Place {
        match self {
            Place::Line(line) => Place::Line(line + occurrences(text, line_end)),
            Place::Byte(byte) => Place::Byte(byte + text.len() as u64),
            Place::Row(row) => Place::Row(row),
        }
    }

    /// As a number, with that of the source it is in: what [`Rows`](rowkey_model::rows::Rows) note
    /// as the origin of a row. A source or a place beyond the bounds becomes the greatest within
    /// them.
    pub(super) fn to_origin(self, source: u32) -> u64 {
        let (form, number) = match self {
            Place::Line(line) => (0, line),
            Place::Row(row) => (1, row),
            Place::Byte(byte) => (2, byte),
        };
        u64::from(source.min(SOURCE_MAX)) << (NUMBER_BITS + FORM_BITS) | form << NUMBER_BITS | number.min(NUMBER_MAX)
    }

    /// The source and the place of such a number.
    pub fn of_origin(origin: u64) -> (u32, Place) {
        let number = origin & NUMBER_MAX;
        let place = match origin >> NUMBER_BITS & ((1 << FORM_BITS) - 1) {
            0 => Place::Line(number),
            1 => Place::Row(number),
            _ => Place::Byte(number),
        };
        ((origin >> (NUMBER_BITS + FORM_BITS)) as u32, place)
    }

    /// The place and the input it is in, for messages.
    pub fn of(self, input: &str) -> impl fmt::Display {
        PlaceOf { place: self, input }
    }
}

/// How an origin is divided: 22 bits for the source, 2 for the form of the place, 40 for its
/// number.
const NUMBER_BITS: u32 = 40;
const FORM_BITS: u32 = 2;
const NUMBER_MAX: u64 = (1 << NUMBER_BITS) - 1;
const SOURCE_MAX: u32 = (1 << (64 - NUMBER_BITS - FORM_BITS)) - 1;

struct PlaceOf<'a> {
    place: Place,
    input: &'a str,
}

impl fmt::Display for PlaceOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Line(line) => write!(f, "{}:{line}", self.input),
            Place::Row(row) => write!(f, "{}: row {row}", self.input),
            Place::Byte(byte) => write!(f, "{}: byte {byte}", self.input),
        }
    }
}

fn occurrences(text: &[u8], byte: u8) -> u64 {
    // Sums of bytes over pieces short enough not to overflow, which compilers turn into vector
    // instructions.
    let count = |piece: &[u8]| piece.iter().map(|&b| u8::from(b == byte)).sum::<u8>();
    text.chunks(255).map(|piece| u64::from(count(piece))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_read_back() {
        for (source, place) in [
            (0, Place::Line(1)),
            (7, Place::Row(1 << 33)),
            (SOURCE_MAX, Place::Byte(NUMBER_MAX)),
            (3, Place::Line(NUMBER_MAX)),
        ] {
            assert_eq!(Place::of_origin(place.to_origin(source)), (source, place));
        }
        let beyond = Place::Row(u64::MAX).to_origin(u32::MAX);
        assert_eq!(Place::of_origin(beyond), (SOURCE_MAX, Place::Row(NUMBER_MAX)));
    }

    #[test]
    fn places_move_with_the_text() {
        let text = "a\nb\r\n".repeat(300);
        assert_eq!(Place::Line(3).after(text.as_bytes()), Place::Line(603));
        assert_eq!(Place::Byte(3).after(text.as_bytes()), Place::Byte(1503));
        let shown = [Place::Line(2), Place::Row(2), Place::Byte(2)].map(|place| place.of("in").to_string());
        assert_eq!(shown, ["in:2", "in: row 2", "in: byte 2"]);
    }
}
