//! Work in parallel, results in order.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};

use super::error::Error;

/// Jobs from `produce` are worked on by `threads` threads and their results go to `sink`, on the
/// calling thread, in the order of the jobs. At most a few jobs for each thread are under way, so
/// memory is bounded however slow the sink is. The first error in that order ends everything.
pub(super) fn run<J: Send, R: Send, W, E: From<Error>>(
    threads: usize,
    produce: impl FnMut() -> Result<Option<J>, Error> + Send,
    worker: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, J) -> Result<R, Error> + Sync,
    sink: &mut dyn FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let threads = threads.max(1);
    let window = Window { limit: 2 * threads as u64 + 1, state: Mutex::default(), moved: Condvar::new() };
    let producer = Mutex::new(Producer { produce, next: 0, done: false });
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, producer, window, worker, work) = (sender.clone(), &producer, &window, &worker, &work);
            scope.spawn(move || {
                let _stop = StopOnPanic(window);
                let mut state = worker();
                while let Some((number, job)) = next_job(producer, window) {
                    let result = job.and_then(|job| work(&mut state, job));
                    if sender.send((number, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let _stop = StopAtEnd(&window);
        let mut early = BTreeMap::new();
        let mut next = 0;
        for (number, result) in receiver {
            early.insert(number, result);
            while let Some(result) = early.remove(&next) {
                sink(result?)?;
                next += 1;
                window.move_to(next);
            }
        }
        Ok(())
    })
}

struct Producer<P> {
    produce: P,
    next: u64,
    done: bool,
}

type Numbered<J> = (u64, Result<J, Error>);

fn next_job<J, P>(producer: &Mutex<Producer<P>>, window: &Window) -> Option<Numbered<J>>
where
    P: FnMut() -> Result<Option<J>, Error>,
{
    let mut producer = producer.lock().unwrap_or_else(PoisonError::into_inner);
    if producer.done || !window.wait_for(producer.next) {
        return None;
    }
    let job = (producer.produce)().transpose();
    producer.done = !matches!(job, Some(Ok(_)));
    let number = producer.next;
    producer.next += 1;
    job.map(|job| (number, job))
}

/// How far jobs may run ahead of the sink.
struct Window {
    limit: u64,
    state: Mutex<WindowState>,
    moved: Condvar,
}

#[derive(Default)]
struct WindowState {
    /// Results that the sink has taken.
    taken: u64,
    stopped: bool,
}

impl Window {
    /// Waits until the job of this number may start; false if nothing may start any more.
    fn wait_for(&self, number: u64) -> bool {
        let mut state = self.lock();
        while !state.stopped && number >= state.taken + self.limit {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.stopped
    }

    fn move_to(&self, taken: u64) {
        self.lock().taken = taken;
        self.moved.notify_all();
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.moved.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, WindowState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets waiting threads go when the sink is through, or has failed.
struct StopAtEnd<'a>(&'a Window);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Lets waiting threads go when the result they wait for will never come.
struct StopOnPanic<'a>(&'a Window);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

#[cfg(test)]
mod tests;
