//! The other end of a connection, and whether it is still there.
//!
//! While a statement runs its session does not read, so that the end of the input goes unseen. It
//! is looked for now and then from outside, at no cost to those who stay.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt;
use tokio::io::Interest;
use tokio::net::TcpStream;

use rowkey_sql::session::{Interrupt, Registry};

/// How often it is looked.
pub(crate) const LOOKS_EVERY: Duration = Duration::from_millis(100);
/// The message Terminate.
const GOODBYE: [u8; 5] = *b"X\0\0\0\x04";
/// With more than this still to be read, it is looked again later.
const PEEK_BYTES: usize = 64 << 10;

/// A client's socket.
#[derive(Debug)]
pub(crate) struct Peer {
    pub socket: TcpStream,
    /// What was read ends with its goodbye.
    has_said_goodbye: AtomicBool,
}

impl Peer {
    pub(crate) fn new(socket: TcpStream) -> Self {
        Self { socket, has_said_goodbye: AtomicBool::new(false) }
    }

    /// Takes note of the end of what has been read.
    pub(crate) fn has_read(&self, buffer: &[u8]) {
        self.has_said_goodbye.store(buffer.ends_with(&GOODBYE), Ordering::Relaxed);
    }

    /// Whether it went without a goodbye. After one, what it has sent is done to the end.
    fn is_gone(&self) -> bool {
        let ready = self.socket.ready(Interest::READABLE).now_or_never();
        if !ready.is_some_and(|ready| ready.is_ok_and(|ready| ready.is_read_closed())) {
            return false;
        }
        let mut unread = vec![0; PEEK_BYTES];
        match self.socket.peek(&mut unread).now_or_never() {
            None => false,
            Some(Ok(0)) => !self.has_said_goodbye.load(Ordering::Relaxed),
            Some(Ok(PEEK_BYTES)) => false,
            Some(Ok(bytes)) => !unread[..bytes].ends_with(&GOODBYE),
            Some(Err(_)) => true,
        }
    }
}

/// All peers, by the number of their session.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    by_pid: Mutex<BTreeMap<i32, Weak<Peer>>>,
}

impl Peers {
    pub(crate) fn add(&self, pid: i32, peer: &Arc<Peer>) {
        self.by_pid().insert(pid, Arc::downgrade(peer));
    }

    /// Ends the sessions of those who are gone.
    pub(crate) fn look(&self, registry: &Registry) {
        self.by_pid().retain(|pid, peer| {
            let Some(peer) = peer.upgrade() else { return false };
            let is_gone = peer.is_gone();
            if is_gone {
                registry.interrupt(*pid, Interrupt::Terminate);
            }
            !is_gone
        });
    }

    fn by_pid(&self) -> MutexGuard<'_, BTreeMap<i32, Weak<Peer>>> {
        self.by_pid.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
