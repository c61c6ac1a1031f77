//! The time, handed in rather than looked up.

use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::DateTime;

const NANOS_PER_TICK: u128 = 100;

/// Where the time comes from.
pub trait Clock: Debug + Send + Sync + 'static {
    /// The time of day in UTC. It may jump, also backwards.
    fn now(&self) -> DateTime;

    /// The time since some fixed moment. It never goes backwards.
    fn elapsed(&self) -> Duration;
}

/// The moment on the clock that timeouts are measured by: the runtime's.
pub fn timer_now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// The clock of the machine.
#[derive(Debug, Clone)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// The clock of the machine; [`Clock::elapsed`] counts from now.
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> DateTime {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => DateTime::from_ticks(ticks(since)),
            Err(before) => DateTime::from_ticks(-ticks(before.duration())),
        }
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// A clock for tests: it stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock {
    time: Mutex<(DateTime, Duration)>,
}

impl ManualClock {
    /// A clock that shows this time.
    pub fn new(now: DateTime) -> Self {
        Self { time: Mutex::new((now, Duration::ZERO)) }
    }

    /// Lets time pass; less than 100 ns is none for the time of day.
    pub fn advance(&self, by: Duration) {
        let mut time = self.time();
        time.0 = DateTime::from_ticks(time.0.ticks().saturating_add(ticks(by)));
        time.1 = time.1.saturating_add(by);
    }

    /// Sets the time of day, as an administrator might.
    pub fn set(&self, now: DateTime) {
        self.time().0 = now;
    }

    fn time(&self) -> MutexGuard<'_, (DateTime, Duration)> {
        self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> DateTime {
        self.time().0
    }

    fn elapsed(&self) -> Duration {
        self.time().1
    }
}

fn ticks(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos() / NANOS_PER_TICK).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = ManualClock::new(DateTime::from_ticks(5));
        clock.advance(Duration::from_nanos(250));
        assert_eq!((clock.now(), clock.elapsed()), (DateTime::from_ticks(7), Duration::from_nanos(250)));
        clock.set(DateTime::from_ticks(-1));
        assert_eq!((clock.now(), clock.elapsed()), (DateTime::from_ticks(-1), Duration::from_nanos(250)));
        clock.advance(Duration::MAX);
        assert_eq!((clock.now(), clock.elapsed()), (DateTime::from_ticks(i64::MAX - 1), Duration::MAX));
    }

    #[test]
    fn the_system_clock_runs() {
        let clock = SystemClock::new();
        let year_2020 = DateTime::from_ticks(1_577_836_800 * 10_000_000);
        assert!(clock.now() > year_2020 && clock.now() < DateTime::MAX);
        let earlier = clock.elapsed();
        assert!(clock.elapsed() >= earlier);
    }
}
