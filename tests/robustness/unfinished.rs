//! Large messages that never end, of many clients at a time.

use std::thread;
use std::time::Duration;

use crate::robustness::server::Server;
use crate::robustness::wait_for;
use crate::robustness::wire::Client;

const MESSAGE_BYTES: usize = 62 << 20;
const LEFT_OUT_BYTES: usize = 1 << 20;
const CALL_REFUSED: &str = "0A000";
/// Most of a message.
const FIRST_MIBIBYTES: u64 = 58;
const CLIENTS: usize = 40;
const SOON: Duration = Duration::from_secs(30);
/// Sending at a time.
const SENDERS: usize = 4;
/// What the server may have: queries 64, messages as much as one of the greatest length, and the
/// program itself. All of the messages would be 2,480.
const MIBIBYTES_MAX: u64 = 300;

/// A function call but for its end: such calls are refused unread, once they are complete.
fn send_begun(client: &mut Client) {
    let mut head = vec![b'F'];
    head.extend_from_slice(&(4 + MESSAGE_BYTES as u32).to_be_bytes());
    client.send(&head).expect("sent");
    let blanks = vec![b' '; 1 << 20];
    let mut left = MESSAGE_BYTES - LEFT_OUT_BYTES;
    while left > 0 {
        let some = left.min(blanks.len());
        client.send(&blanks[..some]).expect("sent");
        left -= some;
    }
}

fn send_end(client: &mut Client) {
    client.send(&vec![b' '; LEFT_OUT_BYTES]).expect("sent");
}

#[test]
fn unfinished_messages_share_a_bound() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "64"]);
    let mut first = server.connect();
    let without = server.resident_mibibytes();
    send_begun(&mut first);
    wait_for("the first message has its share", SOON, || server.resident_mibibytes() >= without + FIRST_MIBIBYTES);
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| server.connect()).collect();
    let share = CLIENTS.div_ceil(SENDERS);
    thread::scope(|scope| {
        for some in clients.chunks_mut(share) {
            scope.spawn(|| some.iter_mut().for_each(send_begun));
        }
    });
    server.assert_well_within(MIBIBYTES_MAX);
    // Small messages come in, also of those who have sent large ones before.
    let mut other = server.connect();
    assert_eq!(other.value(&format!("select {} + 1", " ".repeat(60 << 10))), "1");
    // Who came first is answered, the others are told and go on.
    send_end(&mut first);
    assert_eq!(first.answer().code(), CALL_REFUSED);
    for client in &mut clients[..4] {
        send_end(client);
        let refused = client.answer();
        assert_eq!((refused.code(), refused.status), ("53200", 'I'), "{refused:?}");
        assert!(refused.text().starts_with("out of memory for a message of"), "{refused:?}");
        assert_eq!(client.value("select 1"), "1");
    }
    // There is room again, for one after the other.
    for client in &mut clients[..2] {
        send_begun(client);
        send_end(client);
        assert_eq!(client.answer().code(), CALL_REFUSED);
    }
    drop(clients);
    // The allocator gives memory back a while after it is freed, as its threads come by.
    wait_for("memory is given back", SOON, || {
        assert_eq!(first.value("select 1"), "1");
        server.resident_mibibytes() < MIBIBYTES_MAX
    });
    server.assert_well_within(MIBIBYTES_MAX);
}
