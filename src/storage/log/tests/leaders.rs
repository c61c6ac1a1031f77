//! Who leads a group commit: the log's thread, or the caller that has the store to itself.

use tokio::runtime;

use super::*;

#[test]
fn a_caller_that_is_alone_writes_itself_and_loses_nothing_if_it_does_not() {
    let store = memory(BTreeMap::new());
    let log = open(Arc::clone(&store) as _, 0).expect("opens").log;
    let mut written = Vec::new();
    let mut led = 0;
    // More rounds where the thread is slow to end its lead, as on a busy machine.
    for round in 0..4000 {
        if round >= 40 && led > 0 {
            break;
        }
        let appended = log.append(KIND, payload(round));
        led += usize::from(appended.is_led());
        written.push(payload(round));
        match round % 8 {
            // Waited for, dropped, and behind another one that was dropped or has no leader yet.
            0..=5 => drop(appended.wait().expect("durable")),
            6 => drop(appended),
            _ => {
                let behind = log.append(KIND, payload(round + 100));
                written.push(payload(round + 100));
                let waiting = thread::spawn(move || behind.wait());
                if round % 16 == 7 {
                    drop(appended);
                } else {
                    appended.wait().expect("durable");
                }
                waiting.join().expect("no panic").expect("durable");
            }
        }
    }
    assert!(led > 0, "none was written by its caller");
    // One that is not awaited is written before the log closes.
    let last = log.append(KIND, payload(1000));
    written.push(payload(1000));
    log.close().expect("closes");
    last.wait().expect("durable");
    let opened = open(store as _, 0).expect("opens");
    assert_eq!(opened.payloads(), written);
}

#[test]
fn a_caller_that_goes_on_leading_yields_its_thread_now_and_then() {
    let log = open(memory(BTreeMap::new()), 0).expect("opens").log;
    let (mut led, mut yields) = (0, Vec::new());
    while led < 60 {
        let mut appended = pin!(log.append(KIND, payload(led)));
        if appended.is_led() {
            led += 1;
            match appended.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(_) => continue,
                Poll::Pending => yields.push(led),
            }
        }
        block_on(appended).expect("durable");
    }
    assert_eq!(yields, [17, 33, 49]);
}

#[test]
fn a_caller_in_company_leaves_its_appends_to_the_thread() {
    let runtime = runtime::Builder::new_current_thread().build().expect("a runtime");
    let callers: Arc<Callers> = Arc::default();
    let mut apply = |_| Ok(());
    let opening = Log::open_with(
        memory(BTreeMap::new()),
        SegmentBytes::each(1 << 16),
        Durability::Sync,
        Arc::clone(&callers),
        Covered::default(),
        &mut apply,
    );
    let (log, _) = block_on(opening).expect("opens");
    let note_of_a_task = || {
        let callers = Arc::clone(&callers);
        runtime.block_on(runtime.spawn(async move { callers.note() })).expect("no panic");
    };
    let append = |round| {
        // Outside of tasks.
        callers.note();
        let appended = log.append(KIND, payload(round));
        let is_led = appended.is_led();
        appended.wait().expect("durable");
        is_led
    };
    let goes_alone = |mut rounds: std::ops::Range<u64>| rounds.any(append);

    assert!(goes_alone(0..4000), "alone it has never written its append");
    for round in 4000..4040 {
        note_of_a_task();
        assert!(!append(round), "round {round}: another caller came just before");
    }
    assert!(goes_alone(5000..9000), "alone again it has never written its append");
}
