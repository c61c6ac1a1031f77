//! Repeatable random choices for tests, and fuzzing by them; a failing test prints its seed. A
//! watchdog over futures that keep their thread for long, and folders to write to.

mod fuzz;
mod mutate;
mod poll_watch;
mod scratch;

pub use fuzz::{Fuzz, fuzz};
pub use mutate::Mutator;
pub use poll_watch::{LongPoll, PollWatch, Watched, thread_time};
pub use scratch::Scratch;

/// A SplitMix64 generator (Steele, Lea, Flood 2014) that starts at a seed.
#[derive(Debug, Clone)]
pub struct Dice(pub u64);

impl Dice {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number less than `bound`, which must not be zero.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next_u64() % bound as u64) as usize
    }

    /// True once in so many times.
    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    /// One of the choices, of which there must be some.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}
