use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{Error, run};
use crate::Place;

fn numbers(to: u64) -> impl FnMut() -> Result<Option<u64>, Error> {
    let mut next = 0;
    move || {
        next += 1;
        Ok((next <= to).then_some(next - 1))
    }
}

fn failure(line: u64) -> Error {
    Error::Syntax { input: "x".into(), place: Place::Line(line), reason: "bad".into() }
}

#[test]
fn results_come_in_order_and_never_run_far_ahead() {
    for threads in [0, 1, 2, 5] {
        let started = AtomicU64::new(0);
        let mut taken = Vec::new();
        let work = |_: &mut (), n: u64| {
            started.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_micros((n * 7919) % 300));
            Ok(n)
        };
        let mut sink = |n: u64| {
            let ahead = started.load(Ordering::SeqCst) - n;
            assert!(ahead <= 2 * threads.max(1) as u64 + 1, "{ahead} ahead with {threads} threads");
            taken.push(n);
            Ok::<(), Error>(())
        };
        run(threads, numbers(200), || (), work, &mut sink).unwrap();
        assert_eq!(taken, (0..200).collect::<Vec<_>>());
    }
}

#[test]
fn the_first_error_in_order_wins_wherever_it_arises() {
    for place in ["produce", "work", "sink"] {
        let mut made = numbers(1000);
        let produce = || match made()? {
            Some(50) if place == "produce" => Err(failure(50)),
            job => Ok(job),
        };
        let work = |_: &mut (), n: u64| if place == "work" && n >= 50 { Err(failure(n)) } else { Ok(n) };
        let mut taken = 0;
        let mut sink = |n: u64| {
            if place == "sink" && n == 50 {
                return Err(failure(n));
            }
            taken += 1;
            Ok(())
        };
        let error: Error = run(3, produce, || (), work, &mut sink).unwrap_err();
        assert!(matches!(error, Error::Syntax { place: Place::Line(50), .. }), "{place}: {error}");
        assert_eq!(taken, 50, "{place}");
    }
}

#[test]
#[should_panic]
fn a_panic_in_a_worker_does_not_hang() {
    let work = |_: &mut (), n: u64| if n == 5 { panic!("on purpose") } else { Ok(n) };
    let _ = run(2, numbers(1000), || (), work, &mut |_| Ok::<(), Error>(()));
}
