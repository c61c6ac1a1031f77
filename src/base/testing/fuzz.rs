//! Fuzzing as ordinary tests: one seeded case after another, for as long as is wanted.
//!
//! In `cargo test` each fuzz target runs for a few seconds, always from the same seed. More of it,
//! by hand, here for a quarter of an hour each; `--nocapture` shows how many cases that were:
//!
//! ```sh
//! ROWKEY_FUZZ_SECONDS=900 cargo test fuzz -- --nocapture
//! ```
//!
//! The targets have `fuzz` in their names: damaged folders in `rowkey-storage`, inputs of imports
//! in `rowkey-formats`, messages in `rowkey-wire`, texts of statements in `rowkey-sql`, the algebra
//! of key sets in `rowkey-model`. The simulation of a store on a failing disk, `simulation` in
//! `rowkey-storage`, counts steps instead:
//!
//! ```sh
//! ROWKEY_FUZZ_STEPS=1000000 cargo test -p rowkey-storage --lib simulation -- --nocapture
//! ```
//!
//! A case that fails says how it is run again: `ROWKEY_FUZZ_SEED` is the seed of the first case,
//! and no time at all is enough for that one. A failure that was understood becomes a test of its
//! own, beside what it was found in: a seed means another case as soon as a generator changes.

use std::env;
use std::thread;
use std::time::Duration;

use super::Dice;
use crate::clock::{Clock, SystemClock};

const SEED: &str = "ROWKEY_FUZZ_SEED";
const SECONDS: &str = "ROWKEY_FUZZ_SECONDS";
const STEPS: &str = "ROWKEY_FUZZ_STEPS";

/// The default duration of a target.
const SECONDS_OF_TESTS: u64 = 2;
const SEED_OF_TESTS: u64 = 1;

/// From which seed cases are made, and how many.
#[derive(Debug, Clone)]
pub struct Fuzz {
    seed: u64,
    duration: Duration,
    steps: Option<u64>,
}

impl Fuzz {
    /// As the environment says.
    pub fn of_environment() -> Self {
        Self {
            seed: number(SEED).unwrap_or(SEED_OF_TESTS),
            duration: Duration::from_secs(number(SECONDS).unwrap_or(SECONDS_OF_TESTS)),
            steps: number(STEPS),
        }
    }

    /// Runs one case after another until the time is over, one at least; gives their number.
    pub fn for_time(&self, name: &str, mut case: impl FnMut(&mut Dice)) -> u64 {
        let clock = SystemClock::new();
        let mut cases = 0;
        while cases == 0 || clock.elapsed() < self.duration {
            let seed = self.seed.wrapping_add(cases);
            let _failing = Failing { name, seed, repeat: SECONDS };
            case(&mut Dice(seed));
            cases += 1;
        }
        println!("{name}: {cases} cases from seed {}", self.seed);
        cases
    }

    /// Runs one case after another until they have made so many steps, `default` if that is not
    /// set; each gives the number of its own. Gives all of them.
    pub fn for_steps(&self, name: &str, default: u64, mut case: impl FnMut(u64) -> u64) -> u64 {
        let wanted = self.steps.unwrap_or(default);
        let (mut cases, mut steps) = (0, 0);
        while cases == 0 || steps < wanted {
            let seed = self.seed.wrapping_add(cases);
            let _failing = Failing { name, seed, repeat: STEPS };
            steps += case(seed);
            cases += 1;
        }
        println!("{name}: {steps} steps of {cases} cases from seed {}", self.seed);
        steps
    }
}

/// Runs a target for the time that the environment says, a few seconds if it does not.
pub fn fuzz(name: &str, case: impl FnMut(&mut Dice)) {
    Fuzz::of_environment().for_time(name, case);
}

/// Says how a case is run again if it panics.
struct Failing<'a> {
    name: &'a str,
    seed: u64,
    repeat: &'static str,
}

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("{} failed; again: {SEED}={} {}=0 cargo test", self.name, self.seed, self.repeat);
        }
    }
}

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}
