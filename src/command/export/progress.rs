//! The progress line of an export.

use std::time::Duration;

use super::super::progress::per_second;
use super::super::text::{counted, grouped};

pub(super) fn state(entities: u64, bytes: u64, elapsed: Duration) -> String {
    if entities == 0 {
        return "looking for the properties".to_owned();
    }
    format!(
        "exporting: {}, {} MB, {}/s",
        counted(entities, "entity", "entities"),
        grouped(bytes / 1_000_000),
        grouped(per_second(entities, elapsed))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line() {
        assert_eq!(state(0, 0, Duration::from_secs(9)), "looking for the properties");
        let line = state(1_234_567, 250_900_000, Duration::from_millis(2_500));
        assert_eq!(line, "exporting: 1,234,567 entities, 250 MB, 493,826/s");
        assert!(state(1, 0, Duration::ZERO).ends_with(" 0/s"));
    }
}
