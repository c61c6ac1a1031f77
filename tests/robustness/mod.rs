//! The server under clients that are many, slow, gone, wrong or hostile: raw sockets against the
//! real program.
//!
//! Every case ends with [`Server::assert_well`]: others are answered at once, memory is bounded,
//! and nothing panicked. Longer variants run with `ROWKEY_TEST_ROBUSTNESS=long`.

mod accounts;
mod cancel;
mod constants;
mod crowd;
mod damage;
mod errors;
mod expanding;
mod expensive;
mod garbage;
mod growing_plans;
mod large_parameters;
mod limits;
mod long_steps;
mod many_statements;
mod multiplying;
mod nested;
mod pipeline;
mod places;
mod polls;
mod read_only;
mod server;
mod shutdown;
mod slow;
mod spilled;
mod table_service;
mod unfinished;
mod unread;
mod wide_rows;
mod wire;

use std::time::{Duration, Instant};

/// Whether the longer variants are wanted.
fn is_long() -> bool {
    std::env::var("ROWKEY_TEST_ROBUSTNESS").is_ok_and(|wanted| wanted == "long")
}

/// Waits until something is so; fails where it is not within the time.
#[track_caller]
fn wait_for(what: &str, patience: Duration, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < patience, "not so after {patience:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
