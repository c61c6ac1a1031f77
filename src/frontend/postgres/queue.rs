//! The reading end of a connection's socket, on a task of its own: it sees that a client leaves while a statement runs.

use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::AsyncReadExt;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::message::{self, Lost, Message};
use crate::session::{Interrupt, Registry};

/// Messages that wait for the session.
const MESSAGES_WAITING_MAX: usize = 1024;
/// What they take together, in KiB; one larger message waits alone.
const KIBIBYTES_WAITING_MAX: u32 = 16 << 10;
/// Least room in the buffer for a read.
const READ_BYTES: usize = 8 << 10;

/// A message, or why there are no more.
#[derive(Debug)]
pub struct Received {
    pub message: Result<Message, Lost>,
    _room: Option<OwnedSemaphorePermit>,
}

/// Reads messages until the client leaves, which ends what runs for it.
pub async fn read(
    mut socket: OwnedReadHalf,
    mut buffer: BytesMut,
    messages: mpsc::Sender<Received>,
    registry: Arc<Registry>,
    pid: i32,
) {
    let room = Arc::new(Semaphore::new(KIBIBYTES_WAITING_MAX as usize));
    loop {
        let before = buffer.len();
        match message::next(&mut buffer) {
            Ok(Some(message)) => {
                let kibibytes = u32::try_from((before - buffer.len()) >> 10).unwrap_or(u32::MAX);
                let kibibytes = kibibytes.clamp(1, KIBIBYTES_WAITING_MAX);
                let Ok(permit) = Arc::clone(&room).acquire_many_owned(kibibytes).await else { return };
                let last = message == Message::Terminate;
                let received = Received { message: Ok(message), _room: Some(permit) };
                if messages.send(received).await.is_err() || last {
                    return;
                }
                continue;
            }
            Ok(None) => {}
            Err(lost) => {
                // The session hears of it or is gone already.
                let _ = messages.send(Received { message: Err(lost), _room: None }).await;
                return;
            }
        }
        buffer.reserve(READ_BYTES);
        match socket.read_buf(&mut buffer).await {
            Ok(bytes) if bytes > 0 => {}
            _ => {
                registry.interrupt(pid, Interrupt::Terminate);
                return;
            }
        }
    }
}

/// The queue from the reader.
pub fn messages() -> (mpsc::Sender<Received>, mpsc::Receiver<Received>) {
    mpsc::channel(MESSAGES_WAITING_MAX)
}
