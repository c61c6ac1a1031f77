//! The client's socket, and whether the client has disconnected.
//!
//! While a statement runs its session does not read, so the end of the input goes unseen. All
//! sockets are polled for it at an interval, without a system call where nothing has come.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt;
use tokio::io::Interest;
use tokio::net::TcpStream;

use rowkey_sql::session::{Interrupt, Registry};

/// How often sockets are polled.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The message Terminate.
const TERMINATE: [u8; 5] = *b"X\0\0\0\x04";
/// With more than this still unread, the next poll decides.
const PEEK_BYTES: usize = 64 << 10;

/// A client's socket.
#[derive(Debug)]
pub(crate) struct Peer {
    pub socket: TcpStream,
    /// What was read ends with Terminate.
    has_terminated: AtomicBool,
}

impl Peer {
    pub(crate) fn new(socket: TcpStream) -> Self {
        Self { socket, has_terminated: AtomicBool::new(false) }
    }

    /// Takes note of the end of what has been read.
    pub(crate) fn has_read(&self, buffer: &[u8]) {
        self.has_terminated.store(buffer.ends_with(&TERMINATE), Ordering::Relaxed);
    }

    /// Whether the client has disconnected without Terminate. After Terminate, what it has sent is
    /// executed to the end.
    fn is_gone(&self) -> bool {
        let ready = self.socket.ready(Interest::READABLE).now_or_never();
        if !ready.is_some_and(|ready| ready.is_ok_and(|ready| ready.is_read_closed())) {
            return false;
        }
        let mut unread = vec![0; PEEK_BYTES];
        match self.socket.peek(&mut unread).now_or_never() {
            None => false,
            Some(Ok(0)) => !self.has_terminated.load(Ordering::Relaxed),
            Some(Ok(PEEK_BYTES)) => false,
            Some(Ok(bytes)) => !unread[..bytes].ends_with(&TERMINATE),
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

    /// Ends the sessions of clients that have disconnected.
    pub(crate) fn poll(&self, registry: &Registry) {
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
