//! A watchdog over futures: how long each of their polls keeps its thread from others.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The processor time that the calling thread has taken so far. Unlike the time of day, it stands
/// still while other threads and programs run.
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or_default());
    seconds + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or_default())
}

/// A poll above the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongPoll {
    /// What was under way, as [`PollWatch::begin`] was told.
    pub during: String,
    pub took: Duration,
}

/// Measures the polls of futures, and keeps those above a limit.
pub struct PollWatch {
    limit: Duration,
    clock: Box<dyn Fn() -> Duration + Send + Sync>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    during: String,
    /// Polls that have begun, and those of them that have ended.
    polls: u64,
    ended: u64,
    /// Polls before the last [`PollWatch::begin`].
    earlier: u64,
    longest: Duration,
    long: Vec<LongPoll>,
}

impl PollWatch {
    /// A watchdog for polls above `limit`, by a clock that is asked at the begin and the end of
    /// each poll, by the same thread.
    pub fn new(limit: Duration, clock: impl Fn() -> Duration + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { limit, clock: Box::new(clock), seen: Mutex::default() })
    }

    /// Tells what the polls from here on are for, and forgets how many there were and the longest.
    /// A poll that is under way counts as one before, and its length as one from here on.
    pub fn begin(&self, what: &str) {
        let mut seen = self.seen();
        what.clone_into(&mut seen.during);
        (seen.earlier, seen.longest) = (seen.polls, Duration::ZERO);
    }

    /// How many polls there were since [`Self::begin`], and how long the longest of them took; none
    /// while one is under way. What it has sent may be read before it ends.
    pub fn polls(&self) -> Option<(u64, Duration)> {
        let seen = self.seen();
        (seen.polls == seen.ended).then(|| (seen.polls - seen.earlier, seen.longest))
    }

    /// All polls above the limit so far.
    pub fn long(&self) -> Vec<LongPoll> {
        self.seen().long.clone()
    }

    /// The same future, with its polls measured.
    pub fn watch<F: Future>(self: &Arc<Self>, future: F) -> Watched<F> {
        Watched { future: Box::pin(future), watch: Arc::clone(self) }
    }

    fn add(&self, took: Duration) {
        let mut seen = self.seen();
        seen.ended += 1;
        seen.longest = seen.longest.max(took);
        if took > self.limit {
            let during = seen.during.clone();
            seen.long.push(LongPoll { during, took });
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for PollWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollWatch").field("limit", &self.limit).field("seen", &self.seen).finish_non_exhaustive()
    }
}

/// A future whose polls are measured; see [`PollWatch::watch`].
#[derive(Debug)]
pub struct Watched<F> {
    future: Pin<Box<F>>,
    watch: Arc<PollWatch>,
}

impl<F: Future> Future for Watched<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.watch.seen().polls += 1;
        let began = (self.watch.clock)();
        let polled = self.future.as_mut().poll(context);
        let took = (self.watch.clock)().saturating_sub(began);
        self.watch.add(took);
        polled
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;
    use crate::DateTime;
    use crate::clock::{Clock, ManualClock};

    const LIMIT: Duration = Duration::from_millis(5);

    fn block_on(work: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(work);
    }

    #[test]
    fn each_poll_is_measured_and_those_above_the_limit_are_kept() {
        let clock = Arc::new(ManualClock::new(DateTime::from_ticks(0)));
        let shown = Arc::clone(&clock);
        let watch = PollWatch::new(LIMIT, move || shown.elapsed());
        watch.begin("short steps");
        block_on(watch.watch(async {
            for _ in 0..3 {
                clock.advance(LIMIT);
                tokio::task::yield_now().await;
            }
        }));
        assert_eq!((watch.polls(), watch.long()), (Some((4, LIMIT)), Vec::new()));
        watch.begin("a long step");
        let above = LIMIT + Duration::from_nanos(1);
        block_on(watch.watch(async { clock.advance(above) }));
        assert_eq!(watch.polls(), Some((1, above)));
        assert_eq!(watch.long(), [LongPoll { during: "a long step".to_owned(), took: above }]);
    }

    #[test]
    fn a_future_that_computes_too_long_is_found_by_the_time_of_its_thread() {
        let watch = PollWatch::new(LIMIT, thread_time);
        watch.begin("computes");
        block_on(watch.watch(async {
            let began = thread_time();
            while thread_time() - began <= LIMIT {
                black_box((0..1000u64).sum::<u64>());
            }
        }));
        assert_eq!(watch.long().len(), 1);
        // A thread that waits takes no time of its processor.
        watch.begin("waits");
        block_on(watch.watch(async { std::thread::sleep(2 * LIMIT) }));
        assert_eq!(watch.long().len(), 1, "{:?}", watch.long());
    }
}
