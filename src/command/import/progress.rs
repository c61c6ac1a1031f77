//! The progress line of an import.

use std::time::Duration;

use super::super::progress::per_second;
use super::super::text::{counted, grouped};

/// How far an import is.
pub(super) struct State {
    pub phase: &'static str,
    pub entities: u64,
    pub bytes: u64,
    pub bytes_total: Option<u64>,
    pub elapsed: Duration,
}

impl State {
    pub(super) fn line(&self) -> String {
        let mut line = format!(
            "{}: {}, {} MB, {} entities/s",
            self.phase,
            counted(self.entities, "entity", "entities"),
            grouped(self.bytes / 1_000_000),
            grouped(per_second(self.entities, self.elapsed)),
        );
        if let Some(total) = self.bytes_total.filter(|total| *total > 0) {
            // More than was there at the beginning may be read: a file may grow.
            let percent = (self.bytes as f64 / total as f64 * 100.0).min(100.0);
            line.push_str(&format!(", {percent:.0} %"));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line() {
        let mut state = State {
            phase: "reading",
            entities: 1_234_567,
            bytes: 250_900_000,
            bytes_total: None,
            elapsed: Duration::from_millis(2_500),
        };
        assert_eq!(state.line(), "reading: 1,234,567 entities, 250 MB, 493,826 entities/s");
        state.bytes_total = Some(1_000_000_000);
        assert!(state.line().ends_with(" entities/s, 25 %"));
        state.bytes_total = Some(1);
        assert!(state.line().ends_with(", 100 %"));
        (state.bytes_total, state.elapsed) = (Some(0), Duration::ZERO);
        assert!(state.line().ends_with(", 0 entities/s"));
    }
}
