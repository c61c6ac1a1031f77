//! A store on a failing disk, beside a model of it: seeded steps, in one thread.
//!
//! A run makes one random call after another: single writes with their conditions, entity groups,
//! transactions over tables, writes in flight together, definitions, imports, folds, steps of
//! compactions, checkpoints; and it ends the process or the machine now and then, or a fault of the
//! disk does. The clock is one that the run sets. What the model says must come of each call: its
//! refusal exactly, and without a fault of the disk its success. After every end the store is
//! opened again and must hold what was acknowledged, of a write with an unknown outcome all or
//! nothing, and pass a check of all files.
//!
//! The same seed makes the same run: the log's thread only works while the run waits for it, and
//! writes in flight together are gathered to one group before it gets them. What it does not reach
//! are races of threads, for which the log has tests of its own.
//!
//! How long it runs, and how a failed run is repeated: [`rowkey_base::testing`].

mod choices;
mod damage;
mod disk;
mod model;
mod steps;

use rowkey_base::testing::Fuzz;
use steps::Simulation;

/// Of one run.
const STEPS: u64 = 400;
/// Of all runs in `cargo test`.
const STEPS_OF_TESTS: u64 = 6000;

/// How often runs came to what they are for.
#[derive(Debug, Default)]
struct Reached {
    unknown_outcomes: u64,
    failed_openings: u64,
    torn_tails: u64,
    /// Openings after an end that took what was acknowledged and not synced.
    losses: u64,
    /// Writes that would have been refused for others in flight, which failed.
    refusals_lifted: u64,
}

#[test]
fn a_store_keeps_its_word_on_a_failing_disk() {
    let mut reached = Reached::default();
    let steps = Fuzz::of_environment().for_steps("simulation", STEPS_OF_TESTS, |seed| {
        let mut simulation = Simulation::begin(seed, &mut reached);
        for step in 0..STEPS {
            simulation.step(step);
        }
        simulation.end();
        STEPS
    });
    println!("{reached:?}");
    let Reached { unknown_outcomes, failed_openings, torn_tails, losses, .. } = reached;
    let least = unknown_outcomes.min(failed_openings).min(torn_tails).min(losses);
    assert!(steps < STEPS_OF_TESTS || least > 5, "{least}");
}
